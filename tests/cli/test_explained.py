"""What stands below a table: the legend of its columns, the paper's rows, and the command that has it judged by a model."""

from __future__ import annotations

import csv
import io
import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from talm_sim.cli.report.against_paper import against_lines
from talm_sim.cli.report.layout import Block, legend
from talm_sim.cli.report.markdown import markdown
from talm_sim.cli.report.result_table import table_lines
from talm_sim.tasks import Beside, PaperRows, find_task
from talm_sim.types import Measure, Summary
from tests.cli.summaries import agents, choices
from tests.cli.wrong import Talm
from tests.models.loopback import chat_answer, loopback
from tests.tables import labelled
from tests.tasks.views import View, job

TALM_PAPER = ("pass_rate", "awareness", "unexpected", "interaction")


def plain(*blocks: Block) -> str:
    lines = [line.plain for line in table_lines(blocks, explained=True)]
    assert max(map(len, lines)) <= 80
    return " ".join(" ".join(lines).split())


def against(block: Block) -> str:
    lines = [line.plain for line in against_lines(block)]
    assert max(map(len, lines)) <= 80
    return " ".join(" ".join(lines).split())


def paper(task: str, *groups: str, **options: object) -> PaperRows:
    beside = find_task(task).beside(View(job(task, **options)))
    assert beside is not None
    return beside.rows(groups)


def test_a_legend_says_what_each_column_and_each_word_of_the_title_means_once() -> None:
    block = Block("a/b, standalone", [agents(), agents("lacking")], terms={"standalone": "nobody can be asked"})
    said = legend([block, block])
    assert said.startswith("n: scored episodes; below each value: its 95 % interval; PR: pass rate; Aware: awareness; ")
    assert said.endswith("; standalone: nobody can be asked") and said.count("PR:") == 1
    assert said in plain(block)
    assert said in markdown([block], explained=True) and said not in markdown([block])
    assert legend([Block("t", [Summary(group="g", n=1, total=1, measures=(Measure(name="a", head="A"),))])]) == "", "nothing to say"


@pytest.mark.parametrize("name", ["talm", "when2call", "awareness"])
def test_every_built_in_column_has_its_definition_and_the_paper_one_column_a_measure(name: str) -> None:
    view = View(job(name))
    for summary in view.job.task.summarize([], view):
        assert all(one.note for one in summary.measures if one.place == "column")
    beside = view.job.task.beside(view)
    assert isinstance(beside, Beside)
    rows = beside.rows(beside.groups)
    assert {row.group for row in rows.rows} == set(beside.groups)
    assert {row.model for row in rows.rows} >= set(beside.models)
    assert all(0 <= value <= 1 for row in rows.rows for value in row.values.values() if value is not None)
    assert len(rows.few()) <= 6 and rows.few()


def test_the_papers_rows_stand_below_with_misprints_mended_and_marked() -> None:
    rows = paper("talm", "perfect", "no-tools", human="recorded")
    text = against(Block("a/b", [agents(), agents("no-tools")], papers=[rows]))
    assert "published: Fail-TaLMs Table 2 (Ask-and-Help), 76 to 100 answers a cell; " in text
    assert "different scenarios and models; for orientation only" in text
    assert "no-tools, n 4 PR .75 .30–.95 .29*" in text and "* GPT4o, no-tools: printed as 0.029, a misprint" in text
    same = against(Block("a/b", [agents()], papers=[replace(rows, ran=("GPT4o",))]))
    assert "ours 95 % int. GPT4o difference perfect, n 4 PR .75 .30–.95 .68 +.07 inside Aware .75 .30–.95 1.00 -.25 outside" in same
    assert [row.model for row in paper("talm", *("perfect", "underspecified", "no-tools", "replaceable"), human="none").few()] == ["GPT4o"] * 4
    assert paper("talm", "perfect", human="none").title().startswith("published: Fail-TaLMs Table 1 (standalone), ")
    llama = against(Block("a/b", [choices()], papers=[paper("when2call", "all")]))
    assert "hallucinations: tool (Tool Hall) – .57 .21" in llama and "printed as 37.8" in llama
    assert paper("when2call", "all", mode="judge").title().startswith("published: When2Call Table 4 (free answers), 300 rows")


SETTINGS = ("perfect", "underspecified", "no-tools", "replaceable")


@labelled
def test_the_papers_rows_of_the_model_that_was_run_come_first(model: str, name: str) -> None:
    beside = find_task("talm").beside(View(job("talm", human="none")))
    assert beside is not None
    assert [(row.model, row.group) for row in beside.rows(SETTINGS, model).few()] == [(name, group) for group in SETTINGS]
    assert beside.rows(["perfect"], model).few()[0].model == name and len(beside.rows(["perfect"], model).few()) in (3, 4)
    default, own = beside.rows(SETTINGS[:2]), beside.rows(SETTINGS[:2], model)
    assert default.joined(own).few()[0].model == name, "of two runs, the one whose model is recognised"


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, talm: Talm) -> Path:
    """The run `r`, which replays some of the shipped recording."""
    monkeypatch.chdir(tmp_path)
    assert talm("run", "--split", "underspecified", "--limit", "3-4", "--run-id", "r", "--display", "none", "-q")[0] == 0
    return tmp_path


def test_the_paper_stands_beside_a_run_where_it_is_asked_for(shipped: Path, talm: Talm) -> None:
    shown = talm("report", "r", "--all")[1]
    assert "published" not in shown and "Ask-and-Help: the agent may ask a person" in " ".join(shown.split())
    quiet = talm("report", "r", "--all", "--quiet")
    assert "n: episodes" not in quiet[1] and quiet[2] == ""
    assert "published" in talm("report", "r", "-q", "--against", "paper")[1]
    control = talm("run", "--split", "underspecified", "--limit", "1", "--model", "sim/oracle", "--replay", "--run-id", "c")
    table = talm("report", "c", "--all")[1]
    assert control[0] == 0 and "published" not in control[1] + table and "Noticed: noticed" in table
    assert "published" in talm("report", "c", "--against", "paper")[1]
    assert "published" not in talm("report", "r", "--markdown")[1]
    assert "| GPT4o | .61 | .21 | .47 | .58 |" in talm("report", "r", "--markdown", "--against", "paper")[1]


def test_in_data_the_paper_is_marked_and_only_there_where_it_is_asked_for(shipped: Path, talm: Talm) -> None:
    alone = json.loads(talm("report", "r", "--json")[1])
    assert len(alone) == 1 and "source" not in alone[0]
    own, *papers = json.loads(talm("report", "r", "--json", "--against", "paper")[1])
    assert own == {"source": "run", **alone[0]}
    assert {one["source"] for one in papers} == {"paper"} and len(papers) == 6
    gpt = next(one for one in papers if one["model"] == "GPT4o")
    assert (gpt["paper"], gpt["table"], gpt["group"], *(gpt[name] for name in TALM_PAPER)) == (
        *("fail-talms", "2", "underspecified"),
        *(0.61, 0.21, 0.47, 0.58),
    )
    rows = list(csv.DictReader(io.StringIO(talm("report", "r", "--csv", "--against", "paper")[1])))
    assert [row["source"] for row in rows] == ["run"] + ["paper"] * 6
    assert "source" not in talm("report", "r", "--csv")[1]


def test_the_hint_below_a_replayed_table_works_as_it_stands(shipped: Path, talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    hint = talm("report", "r")[2].strip()
    assert hint == "LLM judge:   talm-sim judge r --judge-model PROVIDER/NAME --live"
    _, _, command = hint.partition("talm-sim ")
    with loopback(chat_answer("Pass")) as server:
        monkeypatch.setenv("STUB_BASE_URL", server.url)
        monkeypatch.setenv("STUB_API_KEY", "k")
        code, out, err = talm(*shlex.split(command.replace("PROVIDER/NAME", "openai-api/stub/m")), "--display", "none")
        assert (code, bool(server.seen)) == (0, True), err
    assert "made up what was missing" in out and "LLM judge:" not in talm("report", "r")[2], "it was asked now"
    assert "judge llm" in talm("report", "r", "--all")[1]
