"""An episode as the result of a notebook's cell: whole, escaped, redacted, and without anything that acts or is loaded."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

import talm_sim
from talm_sim.cli.pages.notebook_cell import notebook_html
from talm_sim.store.transcripts import Transcript, make_transcript
from talm_sim.types import FrozenModel
from tests.cli.report.test_transcript import EPISODE, SCENARIO, VERDICTS
from tests.runs.recorded_world import make_world

TRANSCRIPT = make_transcript(EPISODE, SCENARIO, VERDICTS)


class Parsed(HTMLParser):
    """The tags, attributes and words of an element."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.styles: set[str] = set()
        self.words = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert {name for name, _ in attrs} <= {"style"}
        self.styles |= {value or "" for _, value in attrs}
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def hostile(value: Any, text: str) -> Any:
    """Return a value with `text` in place of every word that is free."""
    if isinstance(value, FrozenModel):
        kept = {"termination", "kind", "outcome", "style"}
        return value.model_copy(update={name: hostile(one, text) for name, one in value if name not in kept})
    if isinstance(value, tuple | list):
        return tuple(hostile(one, text) for one in value)
    if isinstance(value, dict):
        return {hostile(key, text): hostile(one, text) for key, one in value.items()}
    return text if isinstance(value, str) else value


def check(page: str) -> Parsed:
    found = Parsed(page)
    assert found.open == [] and found.tags <= {"div", "p", "b", "i", "br", "code", "pre", "span", "details", "summary"}
    assert not any("url(" in style or "expression" in style for style in found.styles)
    return found


def test_it_says_what_happened_and_what_it_was_worth() -> None:
    words = check(notebook_html(TRANSCRIPT)).words
    for part in (
        "How many people live there?",
        "Turn 1",
        'population(country="FR", year=2020)',
        "failed, 500, http_500",
        "http-500: fired",
        "not a valid call",
        "Which country?",
        "a person (at the terminal): France",
        "does not know",
        "Turn 2, the answer",
        "reference: fail",
    ):
        assert part in words, part
    assert words.count("68 million.") == 1
    assert "\x1b" not in words and "\x07" not in words


@given(text=st.text(max_size=40))
def test_any_text_leaves_the_element_whole(text: str) -> None:
    check(notebook_html(hostile(TRANSCRIPT, text)))


def test_credentials_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-very-secret-key-0123456789")
    page = notebook_html(hostile(TRANSCRIPT, "it is sk-a-very-secret-key-0123456789"))
    assert "very-secret" not in page and "it is" in page


def test_run_show_and_an_episode_render_and_print(tmp_path: Path) -> None:
    stored = talm_sim.run(**make_world(tmp_path))
    first = next(stored.episodes())
    shown = stored.show(first.id)
    assert isinstance(shown, Transcript) and shown.query and shown.verdicts
    whole, alone = check(shown._repr_html_() or "").words, check(first._repr_html_() or "").words
    assert "Query" in whole and "reference: pass" in whole and "Turn 1" in alone and "Verdicts" not in alone
    assert repr(shown).startswith(f"Transcript('{first.id}', 'answered', model='sim/oracle', ") and "reference=True" in repr(shown)
    assert repr(first).startswith(f"Episode('{first.id}', 'answered', model='sim/oracle', ") and len(repr(first)) < 200
    with pytest.raises(talm_sim.PrerequisiteError, match="no-such"):
        stored.show("no-such")


def test_a_notebook_takes_them(tmp_path: Path) -> None:
    formatter = pytest.importorskip("IPython.core.formatters").DisplayFormatter()
    stored = talm_sim.run(**make_world(tmp_path))
    for value in (stored.show(stored.episode_ids()[0]), next(stored.episodes()), talm_sim.compare(stored, stored)):
        data, _ = formatter.format(value)
        assert data["text/html"].startswith("<") and data["text/plain"].count("\n") <= 4
