from __future__ import annotations

import json
import re
import sqlite3
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from talm_sim.cli import report_page as page_module
from talm_sim.cli.blocks import ChoiceBlock
from talm_sim.cli.report_page import report_page
from talm_sim.cli.report_picture import picture
from talm_sim.cli.table import Block
from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError
from talm_sim.judges.choices import summarize_choices
from talm_sim.judges.metrics import METRICS, GroupSummary
from talm_sim.judges.stats import wilson
from talm_sim.runs.manifest import create_run
from talm_sim.runs.store import write_episode
from talm_sim.types import Behaviour
from tests.cli.choice_runs import COUNTS, block, choice_episode, choice_scenario, counted

pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra report)")
Talm = Callable[..., tuple[int, str, str]]
HOSTILE = "</h2><script>alert(1)</script><img src=x onerror=alert(1)> {{ 7 * 7 }} ' \" & \x1b[31mred\x00\u202e $x^2$"


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


def talm_block(title: str = "openai/x, standalone", group: str = "perfect") -> Block:
    rates = {name: wilson(3, 4) for name in METRICS} | {"skip": None}
    return Block(title, [GroupSummary(group=group, total=5, n=4, rates=rates)], ["a note"])


def test_nothing_on_the_page_runs_or_is_loaded() -> None:
    page = report_page([block(HOSTILE, HOSTILE), block(HOSTILE, judged=True), talm_block(HOSTILE, HOSTILE)])
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
    assert seen.text.count("</h2><script>alert(1)</script>") == 6, "in the page's title, three headings, a group and a note, as text"
    assert "{{ 7 * 7 }}" in seen.text and "\x1b" not in page and "\x00" not in page and "\u202e" not in page


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(title=st.text(max_size=30), group=st.text(max_size=20), note=st.text(max_size=30))
def test_any_text_of_a_run_is_shown_as_text(title: str, group: str, note: str) -> None:
    rates = dict.fromkeys(METRICS)
    page = report_page([Block(title, [GroupSummary(group=group, total=1, n=1, rates=dict(rates))], [note])])
    page.encode("utf-8")
    plain = report_page([Block("t", [GroupSummary(group="g", total=1, n=1, rates=dict(rates))], ["n"])])
    assert [tag for tag, _ in Seen(page).tags] == [tag for tag, _ in Seen(plain).tags]


def test_the_figures_stand_in_tables_beside_the_pictures() -> None:
    seen = Seen(report_page([block("hf/tiny", "template: default")]))
    assert len(seen.cells("cell")) == 16
    assert "tool_ call 2 30 5 1 38 .59 .79 .67" in seen.text
    assert "parameter tool call where information is missing .34 .21–.51 12/35" in seen.text
    assert "all 104 .59 .49–.68" in seen.text
    assert "template: default" in seen.text and "mode logprob" in seen.text
    assert len(Seen(report_page([block(judged=True)])).cells("cell")) == 20


def test_each_picture_says_what_it_shows_and_no_id_is_used_twice() -> None:
    seen = Seen(report_page([block(), block(judged=True)]))
    pictures = [attributes for tag, attributes in seen.tags if tag == "svg"]
    assert len(pictures) == 4
    ids = [attributes["id"] for _, attributes in seen.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for attributes in pictures:
        assert attributes["role"] == "img" and "width" not in attributes and attributes["viewbox"]
        assert set(str(attributes["aria-labelledby"]).split()) <= set(ids)
    assert "gold tool_call: direct 2, tool_call 30, request_for_info 5, cannot_answer 1" in seen.text
    assert "currentColor" in report_page([block()])


def test_a_run_without_rows_has_no_picture() -> None:
    empty = summarize_choices([], [choice_scenario("a", Behaviour.DIRECT)], [])
    seen = Seen(report_page([ChoiceBlock("hf/tiny", empty)]))
    assert "svg" not in {tag for tag, _ in seen.tags} and "hf/tiny" in seen.text


def test_task_talm_has_its_table_and_needs_no_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    text = Seen(report_page([talm_block()])).text
    assert "perfect 4 of 5 .75 .30–.95 .75 .30–.95 .75 .30–.95 – .75 .30–.95" in text and "a note" in text
    with pytest.raises(PrerequisiteError, match=r"^matplotlib is not installed: pip install 'talm-sim\[report\]'\.$"):
        report_page([block()])


def test_a_picture_holds_the_figures_and_is_the_same_every_time(tmp_path: Path) -> None:
    runs = [(HOSTILE + "\ufffe", counted()[0]), ("hf/tiny", counted(judged=True)[0])]
    drawn = picture(Path("a.svg"), runs)
    assert drawn == picture(tmp_path / "b.SVG", runs)
    root = ElementTree.fromstring(drawn)
    texts = ["".join(element.itertext()).strip() for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "$x^2$" in "".join(texts) and "hf/tiny" in texts
    assert [str(cell) for cell in COUNTS[1]] == [text for text in texts if text in {"2", "30", "5", "1"}][:4]
    assert not any(element.tag.endswith("script") for element in root.iter())
    assert picture(Path("a.png"), runs).startswith(b"\x89PNG")


def test_what_cannot_be_drawn_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PrerequisiteError, match=r"a\.gif: the name must end in \.png or \.svg"):
        picture(Path("a.gif"), [("t", counted()[0])])
    with pytest.raises(PrerequisiteError, match="none of these is one"):
        picture(Path("a.png"), [])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PrerequisiteError, match=r"pip install 'talm-sim\[report\]'"):
        picture(Path("a.png"), [("t", counted()[0])])


@pytest.fixture
def choice_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The run `c-run` of task `when2call` in `runs/` of the working directory."""
    monkeypatch.chdir(tmp_path)
    rows = [choice_scenario(f"row-{n}", gold) for n, gold in enumerate((Behaviour.TOOL_CALL, Behaviour.REQUEST_FOR_INFO))]

    def fill(conn: sqlite3.Connection) -> None:
        for position, row in enumerate(rows):
            write_episode(conn, choice_episode(row.id, Behaviour.TOOL_CALL), position)
        conn.execute("INSERT INTO meta VALUES ('judges', ?)", [json.dumps([])])

    return create_run(Path("runs"), "c-run", RunConfig(task="when2call", model="sim/<i>me</i>"), rows, fill=fill)


def test_report_writes_page_and_picture_of_runs_of_any_task(choice_run: Path, stored: Path, talm: Talm) -> None:
    code, out, err = talm("report", "a-run", "c-run", "--html", "page.html", "--picture", "new/matrix.svg")
    assert (code, out, err) == (0, "", "written: page.html\nwritten: new/matrix.svg\n")
    text = Seen(Path("page.html").read_text(encoding="utf-8")).text
    assert "control: sim/<i>me</i> a script, no language model" in text and "openai/some" in text and "underspecified" in text
    assert "sim/&lt;i&gt;me" in Path("new/matrix.svg").read_text(encoding="utf-8")
    assert sorted(path.name for path in Path().iterdir()) == ["new", "page.html", "runs"], "no half-written file is left"
    code, out, _ = talm("report", "c-run", "--json", "--html", "page.html")
    assert code == 0 and json.loads(out)[0]["accuracy"] == 0.5


def test_report_leaves_the_old_page_where_the_new_one_fails(
    choice_run: Path, stored: Path, talm: Talm, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("page.html").write_text("old", encoding="utf-8")
    code, out, err = talm("report", "a-run", "--html", "page.html", "--picture", "matrix.png")
    assert (code, out) == (2, "") and "none of these is one" in err and err.count("\n") == 1
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert (
        talm("report", "c-run", "--html", "page.html")[2] == "talm-sim: error: matplotlib is not installed: pip install 'talm-sim[report]'.\n"
    )
    assert Path("page.html").read_text(encoding="utf-8") == "old"
    assert talm("report", "a-run", "--html", "page.html")[0] == 0, "runs of task talm need no matplotlib"


def test_report_says_where_it_cannot_write(choice_run: Path, talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("file").write_text("", encoding="utf-8")
    code, _, err = talm("report", "c-run", "--html", "file/page.html")
    assert code == 2 and "cannot be written" in err and err.count("\n") == 1
    assert talm("report", "c-run", "--html", "runs")[0] == 2
    assert page_module.report_page([]).startswith("<!doctype html>")
