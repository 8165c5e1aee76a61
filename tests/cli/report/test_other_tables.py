"""`report --by-model` and `--by-tool`: on the screen, as data, in Markdown and as a page."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from talm_sim.types import Calls, Episode, GoldCall, Scenario, Termination, ToolEvent, Turn
from tests.cli.pages.written import Seen
from tests.cli.summaries import HOSTILE
from tests.cli.wrong import Talm
from tests.runs.stored import store
from tests.tasks.refusal.crafted import answered, calls, case, said


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent's run whose tools have odd names, and two runs of another task."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    gold = GoldCall(name="height", arguments={"of": "K2"})
    turn = Turn(messages=({"role": "user", "content": "How high?"},), gold_calls=(gold,))
    items = [Scenario(id=f"{place}", group="perfect", turns=(turn,), tools=("height", HOSTILE)) for place in range(3)]
    names = ("height", HOSTILE, "=cmd()")
    events = [ToolEvent(turn=0, call_id="1", name=name, arguments={"of": "K2"}, ok=True) for name in names]
    episodes = [
        Episode(id=one.id, scenario_id=one.id, group="perfect", model="m/m", termination=Termination.ANSWERED, events=(event,))
        for one, event in zip(items, events, strict=True)
    ]
    store(Path("runs"), "acted", items, episodes, model="hf/a")
    rows = [case("live_simple_1", "live_simple", calls(city="Hue")), case("live_irrelevance_1", "live_irrelevance", Calls(expected="none"))]
    for name, model in (("asked", "hf/a"), ("other", "sim/oracle")):
        verdicts = [said(one, judge, True) for one in rows for judge in ("calls", "intent")]
        store(Path("runs"), name, rows, [answered(one) for one in rows], verdicts, task="refusal", model=model)


@pytest.mark.usefixtures("runs")
def test_the_table_by_tool_is_clean_and_the_same_as_data(talm: Talm) -> None:
    code, out, _ = talm("report", "acted", "--by-tool")
    lines = out.splitlines()
    assert code == 0 and max(map(len, lines)) <= 80
    assert "\x1b" not in out and "\u202e" not in out and "\x00" not in out
    assert lines[1].split() == ["n", "Wanted", "Called", "Arguments", "Other", "Calls", "Failed"]
    height = next(line for line in lines if line.startswith("  height "))
    assert height.split() == ["height", "3", "3", ".33", "1.00", ".67", "1", ".00"]
    assert "  in place of height: " in out and "=cmd() 1 time" in out
    records = json.loads(talm("report", "acted", "--by-tool", "--json")[1])
    found = {one["tool"]: one for one in records}
    assert set(found) == {"height", HOSTILE, "=cmd()"}
    assert (found["height"]["called_k"], found["height"]["called_n"]) == (1, 3)
    assert found["height"]["instead"] == {HOSTILE: 1, "=cmd()": 1}
    rows = {row["tool"]: row for row in csv.DictReader(io.StringIO(talm("report", "acted", "--by-tool", "--csv")[1]))}
    assert rows["'=cmd()"]["calls"] == "1", "no cell is a formula"
    assert rows["height"]["instead"].endswith("=cmd() 1")
    markdown = talm("report", "acted", "--by-tool", "--markdown")[1]
    assert "| tool | n | Wanted |" in markdown and "<script>" not in markdown


@pytest.mark.usefixtures("runs")
def test_the_table_by_model_joins_what_one_model_did(talm: Talm) -> None:
    code, out, _ = talm("report", "asked", "acted", "other", "--by-model")
    lines = out.splitlines()
    assert code == 0 and max(map(len, lines)) <= 80
    assert "2 models, 3 runs" in lines
    assert next(line for line in lines if line.startswith("  hf/a ")).split()[1:4] == ["5", "1.00", "1.00"]
    assert "  hf/a: AST 1.00, BFCL Irr 1.00; run asked (task refusal, split all)" in lines
    assert "control: sim/oracle: AST 1.00, BFCL Irr 1.00; run other (task refusal, split all)" in " ".join(out.split())
    records = json.loads(talm("report", "asked", "acted", "other", "--by-model", "--json")[1])
    assert [(one["row"], one["refusal_run"], one.get("talm_run")) for one in records] == [
        ("hf/a", "asked", "acted"),
        ("control: sim/oracle", "other", None),
    ]
    rows = list(csv.DictReader(io.StringIO(talm("report", "asked", "other", "--by-model", "--csv")[1])))
    assert [(row["row"], row["refusal_ast_k"], row["refusal_ast_n"]) for row in rows] == [("hf/a", "1", "1"), ("control: sim/oracle", "1", "1")]
    assert "| model | n | AST | BFCL Irr |" in talm("report", "asked", "--by-model", "--markdown")[1]


@pytest.mark.usefixtures("runs")
def test_published_rows_follow_if_they_are_asked_for(talm: Talm) -> None:
    out = talm("report", "asked", "--by-model", "--against", "paper")[1]
    assert "against paper: no published row is about these tasks and settings" in " ".join(out.split())
    records = json.loads(talm("report", "asked", "--by-model", "--against", "paper", "--json")[1])
    assert [one["source"] for one in records] == ["run"]


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("by", ["--by-model", "--by-tool"])
def test_a_page_has_the_same_table(by: str, talm: Talm) -> None:
    code, _, err = talm("report", "acted", "asked", by, "--html", "page.html")
    page = Path("page.html").read_text(encoding="utf-8")
    assert (code, "written: page.html" in err) == (0, True)
    index = Seen(page).index
    assert {block["rows_are"] for block in index["blocks"]} == {by.removeprefix("--by-")} and len(index["runs"]) == 2
    assert "<script>alert" not in page


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--by-model", "--by-tool"), "--by-model and --by-tool exclude each other."),
        (("--by-tool", "--rows", "--csv"), "--by-tool prints a table of its own; leave out --rows."),
        (("--by-model", "--rows"), "--by-model prints a table of its own; leave out --rows."),
        (("--by-tool", "--against", "paper"), "--by-tool: no paper publishes figures per tool; leave out --against."),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments: tuple[str, ...], message: str, talm: Talm) -> None:
    code, out, err = talm("report", "acted", *arguments)
    assert (code, out) == (2, "")
    assert message in err
