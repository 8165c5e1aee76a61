"""`scenarios generate` and `scenarios review` as they are typed."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console

from talm_sim.cli.making.reviewing import review_entries, summary_lines
from talm_sim.cli.person.typed_lines import LineReader
from talm_sim.scenarios.making.review import open_review
from talm_sim.tasks import find_task
from talm_sim.tasks.when2call.making.review import ItemReviewer
from talm_sim.tasks.when2call.making.writers import GenerateOptions
from talm_sim.types import Behaviour, Choice
from tests.cli.wrong import Talm

pytestmark = pytest.mark.usefixtures("nothing_given")
GENERATE = ("scenarios", "generate", "--out", "made")


def test_generate_prints_what_was_made_and_what_was_not(talm: Talm) -> None:
    code, out, err = talm(*GENERATE, "--limit", "12")
    assert code == 0
    assert "tool_call" in out and "Given up" in out and "written" in out
    assert "[12/12]" in err and "s left" in err and "written to made" in err
    assert {path.name for path in Path("made").iterdir()} == {"items.jsonl", "rejected.jsonl", "report.json", "state.jsonl"}
    rows = find_task("when2call").read(("tool_call", "request_for_info", "cannot_answer"), Path("made/items.jsonl"))
    assert rows and all(isinstance(row.target, Choice) and len(row.target.options) == 4 for row in rows)


def test_every_field_of_the_options_is_on_the_help_page(talm: Talm) -> None:
    code, page, _ = talm("scenarios", "generate", "--help")
    assert code == 0
    for name in GenerateOptions.model_fields:
        flags = {"file": ("--from ",), "traffic": ("--live ", "--replay ", "--record ")}.get(name, (f"--{name.replace('_', '-')} ",))
        assert all(page.count(flag) == 1 for flag in flags if flag != "--model "), name
    assert "[required]" in page and "0<=x<=2]" in page


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--model", "sim/oracle"), "sim/writer"),
        (("--model", "openai-api/none-such/m"), "NONE_SUCH_BASE_URL"),
        (("--model", "openai-api/none-such/m", "--replay"), "not recorded"),
        (("--model", "hf/nowhere", "--record"), "no traffic"),
        (("-M", "api_key=x"), "api_key"),
        (("--limit", "900-901"), "no source question"),
        (("--prompts", "none.toml", "--model", "openai-api/none-such/m"), "none.toml"),
        (("--from", "none.jsonl"), "none.jsonl"),
        (("--prompts", "none.toml"), "no prompts to replace"),
        (("--temperature", "3"), "'--temperature': 3.0 is not in the range 0<=x<=2"),
        (("--variants", "two"), "'all', 'one'"),
        (("--file", "x"), "--file"),
    ],
)
def test_what_the_user_must_mend_is_one_line(talm: Talm, arguments: tuple[str, ...], named: str) -> None:
    code, out, err = talm(*GENERATE, *arguments)
    assert (code, out) == (2, "")
    lines = [line for line in err.splitlines() if line.startswith("talm-sim: error")]
    assert len(lines) == 1 and named in lines[0]
    assert "live:" not in err


def reading(*lines: str) -> Callable[[], str | None]:
    left: Iterator[str] = iter(lines)
    return lambda: next(left, None)


def reviewed(folder: Path, *lines: str, rejected: bool = False) -> tuple[str, list[str]]:
    review = open_review(folder, ItemReviewer(), rejected=rejected)
    screen = io.StringIO()
    review_entries(review, Console(file=screen, width=100, markup=False, emoji=False, highlight=False), reading(*lines))
    return screen.getvalue(), list(summary_lines(review.summary()))


def test_a_person_keeps_drops_goes_back_and_quits(talm: Talm) -> None:
    talm(*GENERATE, "--limit", "3")
    screen, summary = reviewed(Path("made"), "k", "u", "d", "too odd", "d", "b", "?", "s", "q")
    assert "right" in screen and "1 kept, 0 dropped, " in screen and "Type k, d, e, s, u or q" in screen
    assert ": 0 kept, 2 dropped, " in summary[0] and summary[0].endswith(" to go; 0% kept")
    assert {"dropped 1: too odd", "dropped 1: the right answer is wrong"} <= set(summary)
    assert "agreement with the automatic checks: 0 of 2 (0%)" in summary
    assert "decided" in reviewed(Path("made"))[1][0], "the end of input ends the review, and the decisions stay"


def test_review_needs_a_person(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    talm(*GENERATE, "--limit", "1")
    monkeypatch.setattr("sys.stdin", io.StringIO("k\n"))
    code, out, err = talm("scenarios", "review", "made")
    assert (code, out) == (2, "") and err.count("\n") == 1 and "terminal" in err
    code, out, _ = talm("scenarios", "review", "made", "--json")
    assert code == 0 and json.loads(out)["kept"] == 0
    said = "talm-sim: error: empty: contains no items.jsonl; make items first: talm-sim scenarios generate --out FOLDER\n"
    Path("empty").mkdir()
    assert talm("scenarios", "review", "empty") == (2, "", said)


def test_review_at_a_terminal_writes_what_was_kept(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    talm(*GENERATE, "--limit", "1")
    typed, keys = os.pipe()
    os.write(keys, b"k\nd\nbad\n")
    os.close(keys)
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("talm_sim.cli.person.by_key.open_lines", lambda console, plain: LineReader(console, typed))
    code, out, err = talm("scenarios", "review", "made")
    os.close(typed)
    assert code == 0 and "kept rows: made/kept.jsonl" in err.replace("\n", " ")
    assert out.startswith("2 of 2 decided: 1 kept, 1 dropped, 0 to go; 50% kept")
    assert {json.loads(line)["correct_answer"] for line in Path("made/kept.jsonl").read_text().splitlines()} == {Behaviour.TOOL_CALL.value}


def test_why_is_offered_only_where_the_checks_rejected(talm: Talm) -> None:
    talm(*GENERATE, "--limit", "33-36")
    assert "w why rejected" not in " ".join(reviewed(Path("made"), "q")[0].split())
    rejected = " ".join(reviewed(Path("made"), *["s"] * 400, rejected=True)[0].split())
    assert "w why rejected" in rejected
