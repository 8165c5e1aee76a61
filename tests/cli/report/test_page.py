from __future__ import annotations

import json
import re
import sqlite3
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from talm_sim.cli.report import page as page_module
from talm_sim.cli.report.layout import Block
from talm_sim.cli.report.page import report_page
from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError, pip_install
from talm_sim.runs.files.manifest import describe_run
from talm_sim.runs.files.records import write_episode
from talm_sim.runs.files.sealing import insert_row
from talm_sim.runs.files.store import create_run
from talm_sim.types import Behaviour
from tests.cli.choice_runs import choice_episode, choice_scenario
from tests.cli.summaries import HOSTILE, agents, choices, choices_block, many_classes, struck, wide

pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra report)")
Talm = Callable[..., tuple[int, str, str]]


class Seen(HTMLParser):
    """What stands on a page: tags with their attributes, and the text outside `<style>`."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def cells(self, kind: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == "td" and attributes.get("class") == kind]


def agents_block(title: str = "openai/x, standalone", group: str = "perfect") -> Block:
    return Block(title, [agents(group)], ["a note"])


def hostile_block() -> Block:
    """A run whose every word is hostile, those in its pictures as well."""
    one = choices()
    named = tuple(HOSTILE + str(place) for place in range(4))
    measures = tuple(measure.model_copy(update={"head": HOSTILE, "note": HOSTILE, "under": HOSTILE}) for measure in one.measures)
    (matrix,) = one.matrices
    matrix = matrix.model_copy(update={"name": HOSTILE, "rows": named, "columns": named, "heads": named})
    return Block(HOSTILE, [one.model_copy(update={"group": HOSTILE, "measures": measures, "matrices": (matrix,)})] * 2, [HOSTILE])


def test_nothing_on_the_page_runs_or_is_loaded() -> None:
    page = report_page([choices_block(HOSTILE, HOSTILE), choices_block(HOSTILE, judged=True), agents_block(HOSTILE, HOSTILE), hostile_block()])
    seen = Seen(page)
    assert not {tag for tag, _ in seen.tags} & {"script", "img", "link", "iframe", "object", "embed", "form", "base", "image", "foreignobject"}
    for _, attributes in seen.tags:
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("src", "href", "xlink:href", "action", "srcset"):
            assert str(attributes.get(name, "#")).startswith("#")
    assert not re.search(r"@import|url\((?!#)", page)
    policies = [attributes.get("content") or "" for tag, attributes in seen.tags if attributes.get("http-equiv") == "Content-Security-Policy"]
    assert len(policies) == 1 and policies[0].startswith("default-src 'none'")
    assert "unsafe-inline" not in policies[0].replace("style-src 'unsafe-inline'", "")
    assert seen.text.count("</h2><script>alert(1)</script>") > 30, "in titles, headings, groups, notes, tables and pictures, as text"
    assert seen.text.count('$x^2$ id="a" #010203') > 20, "no word is changed by what is done to the pictures"
    assert "{{ 7 * 7 }}" in seen.text and "\x1b" not in page and "\x00" not in page and "\u202e" not in page


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(title=st.text(max_size=30), group=st.text(max_size=20), note=st.text(max_size=30))
def test_any_text_of_a_run_is_shown_as_text(title: str, group: str, note: str) -> None:
    page = report_page([Block(title, [agents(group)], [note])])
    page.encode("utf-8")
    plain = report_page([Block("t", [agents("g")], ["n"])])
    assert [tag for tag, _ in Seen(page).tags] == [tag for tag, _ in Seen(plain).tags]


def test_the_figures_stand_in_tables_beside_the_pictures() -> None:
    seen = Seen(report_page([choices_block("hf/tiny", "template: default")]))
    assert len(seen.cells("cell")) == 16
    assert "tool_ call 2 30 5 1 38 .59 .79 .67" in seen.text
    assert "parameter tool call where information is missing .34 .21–.51 12/35" in seen.text
    assert "all 104 of 105 .59 .49–.68" in seen.text
    assert "template: default" in seen.text
    assert len(Seen(report_page([choices_block(judged=True)])).cells("cell")) == 20


def test_columns_of_part_of_the_episodes_have_a_table_of_their_own() -> None:
    page = report_page([Block("t", [struck("struck"), struck("spared", n=0)])])
    first, below = re.findall(r"<table>.*?</table>", page, re.DOTALL)
    assert "went_on" not in first and "spared" in first
    assert "a tool failed" in below and "3 of 4" in below and "spared" not in below


def test_each_picture_says_what_it_shows_and_no_id_is_used_twice() -> None:
    seen = Seen(report_page([choices_block(), choices_block(judged=True)]))
    pictures = [attributes for tag, attributes in seen.tags if tag == "svg"]
    assert len(pictures) == 4
    ids = [attributes["id"] for _, attributes in seen.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for attributes in pictures:
        assert attributes["role"] == "img" and "width" not in attributes and attributes["viewbox"]
        assert set(str(attributes["aria-labelledby"]).split()) <= set(ids)
    assert "gold tool_call: direct 2, tool_call 30, request_for_info 5, cannot_answer 1" in seen.text
    assert "currentColor" in report_page([choices_block()])


def test_a_run_without_rows_has_no_picture() -> None:
    seen = Seen(report_page([Block("hf/tiny", [choices(((0,) * 4,) * 4)])]))
    assert "svg" not in {tag for tag, _ in seen.tags} and "hf/tiny" in seen.text


def test_a_run_without_a_matrix_needs_no_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    text = Seen(report_page([agents_block()])).text
    assert "perfect 4 of 5 .75 .30–.95 .75 .30–.95 .75 .30–.95 – .75 .30–.95" in text and "a note" in text
    with pytest.raises(PrerequisiteError, match=r"^matplotlib is not installed: pip install '.*\[report\]'\.$"):
        report_page([choices_block()])


def test_a_run_of_any_task_has_its_own_columns_and_matrices() -> None:
    seen = Seen(report_page([Block("w", [wide(8), agents()]), Block("m", [many_classes()])]))
    assert "group n Own0 Own1 Own2 Own3 Own4 Own5 F1 of Yes tokens PR" in seen.text
    assert "first 96 1.00 .96–1.00" in seen.text and ".50 .40–.60 1,234,567 – – – – –" in seen.text
    assert len(seen.cells("cell")) == 12 * 13
    assert "class_ number_ 11 unparsed n F1" in seen.text


def test_the_parts_of_several_groups_say_whose_they_are() -> None:
    seen = Seen(report_page([Block("t", [choices(), choices().model_copy(update={"group": "other"})])]))
    assert "Hallucinations of all" in seen.text and "Confusion matrix of other" in seen.text


@pytest.fixture
def choice_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The run `c-run` of task `when2call` in `runs/` of the working directory."""
    monkeypatch.chdir(tmp_path)
    rows = [choice_scenario(f"row-{n}", gold) for n, gold in enumerate((Behaviour.TOOL_CALL, Behaviour.REQUEST_FOR_INFO))]

    def fill(conn: sqlite3.Connection) -> None:
        for position, row in enumerate(rows):
            write_episode(conn, choice_episode(row.id, Behaviour.TOOL_CALL), position)
        insert_row(conn, "meta", "judges", json.dumps([]))

    return create_run(Path("runs"), "c-run", describe_run(RunConfig(task="when2call", model="sim/<i>me</i>"), rows), rows, fill=fill)


def test_report_writes_page_and_picture_of_runs_of_any_task(choice_run: Path, stored: Path, talm: Talm) -> None:
    code, out, err = talm("report", "a-run", "c-run", "--html", "page.html", "--picture", "new/matrix.svg")
    assert (code, out, err) == (0, "", "written: page.html\nmade: new\nwritten: new/matrix.svg\n")
    text = Seen(Path("page.html").read_text(encoding="utf-8")).text
    assert "control: sim/<i>me</i> a script, not a language model" in text and "openai/some" in text and "underspecified" in text
    assert "sim/&lt;i&gt;me" in Path("new/matrix.svg").read_text(encoding="utf-8")
    assert sorted(path.name for path in Path().iterdir()) == ["new", "page.html", "runs"], "no half-written file is left"
    code, out, _ = talm("report", "c-run", "--json", "--html", "page.html")
    assert code == 0 and json.loads(out)[0]["accuracy"] == 0.5


def test_report_leaves_the_old_page_where_the_new_one_fails(
    choice_run: Path, stored: Path, talm: Talm, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("page.html").write_text("old", encoding="utf-8")
    code, out, err = talm("report", "a-run", "--html", "page.html", "--picture", "matrix.gif")
    assert (code, out) == (2, "") and "must end in .png or .svg" in err and err.count("\n") == 1
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert talm("report", "c-run", "--picture", "matrix.svg")[0] == 2
    assert Path("page.html").read_text(encoding="utf-8") == "old"


def test_the_page_of_any_task_is_written_without_what_draws(
    choice_run: Path, stored: Path, talm: Talm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, out, err = talm("report", "c-run", "--html", "page.html")
    assert (code, out) == (0, "")
    assert err == f"tables without pictures: matplotlib is not installed: {pip_install('report')}.\nwritten: page.html\n"
    seen = Seen(Path("page.html").read_text(encoding="utf-8"))
    assert "Confusion matrix" in seen.text and "Hallucinations" in seen.text and "<svg" not in Path("page.html").read_text(encoding="utf-8")
    assert talm("report", "a-run", "--html", "page.html") == (0, "", "written: page.html\n"), "runs without a matrix need no matplotlib"


def test_the_page_says_how_a_run_was_made_and_what_its_columns_count(stored: Path, talm: Talm) -> None:
    assert talm("report", "a-run", "--html", "page.html", "--against", "paper")[0] == 0
    text = Seen(Path("page.html").read_text(encoding="utf-8")).text
    for part in (
        "run a-run made 20",
        "task talm, split all",
        "settings model openai/some, human recorded, perturb http-500:p=0.5",
        "versions python 3.",
        "What the columns count PR passed Aware noticed what is missing",
        "Ask-and-Help the agent may ask a person",
        "published: Fail-TaLMs Table 2 (Ask-and-Help)",
        "GPT4o, underspecified .61 .21 .47 .58",
        "NAACL 2025",
    ):
        assert part in text
    assert talm("report", "a-run", "--html", "page.html")[0] == 0
    assert "Fail-TaLMs" not in Path("page.html").read_text(encoding="utf-8"), "only where it is asked for"


def test_report_says_where_it_cannot_write(choice_run: Path, talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("file").write_text("", encoding="utf-8")
    code, _, err = talm("report", "c-run", "--html", "file/page.html")
    assert code == 2 and "cannot be written" in err and err.count("\n") == 1
    assert talm("report", "c-run", "--html", "runs")[0] == 2
    assert page_module.report_page([]).startswith("<!doctype html>")
