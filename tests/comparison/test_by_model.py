"""One row per model: which runs are joined, where each figure is from, and a published row of When2Call's Table 3."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from talm_sim.comparison.by_model import ModelTable, model_table
from talm_sim.store.stored_run import StoredRun
from talm_sim.tasks import find_task, list_tasks
from talm_sim.types import Behaviour, Calls, Choice, Episode, Option, Scenario, Termination, Turn, Verdict
from tests.runs.stored import store
from tests.tasks.refusal.crafted import answered, calls, case, said

OPTIONS = tuple(Option(behaviour=one, text=f"{one.value}!") for one in Behaviour)


def w2c(directory: Path, name: str, model: str, chosen: str, **config: Any) -> StoredRun:
    """A run of free answers, two per gold behaviour but `direct`: one letter of `chosen` says what is chosen for each."""
    kinds = {"d": "direct", "t": "tool_call", "r": "request_for_info", "c": "cannot_answer"}
    gold = ("tool_call", "tool_call", "request_for_info", "request_for_info", "cannot_answer", "cannot_answer")
    items = [
        Scenario(
            id=f"{place}",
            task="when2call",
            group=one,
            turns=(Turn(messages=({"role": "user", "content": "?"},)),),
            target=Choice(gold=Behaviour(one), options=OPTIONS),
        )
        for place, one in enumerate(gold)
    ]
    episodes = [Episode(id=one.id, scenario_id=one.id, group=one.group, model=model, termination=Termination.ANSWERED) for one in items]
    verdicts = [
        Verdict(episode_id=one.id, judge="behaviour", value=None, label=kinds[letter]) for one, letter in zip(items, chosen, strict=False)
    ]
    options = {"options": {"mode": "judge"}, "task": "when2call", "model": model, **config}
    return store(directory, name, items, episodes[: len(chosen)], verdicts, **options)


def refusal(directory: Path, name: str, model: str, ast: str, irr: str, **config: Any) -> StoredRun:
    """A run of BFCL's rows; each sign says whether one of them passes."""
    items = [case(f"live_simple_{place}", "live_simple", calls(city="Hue")) for place in range(len(ast))]
    items += [case(f"live_irrelevance_{place}", "live_irrelevance", Calls(expected="none")) for place in range(len(irr))]
    verdicts = [said(one, judge, sign == "+") for one, sign in zip(items, ast + irr, strict=True) for judge in ("calls", "intent")]
    return store(directory, name, items, [answered(one) for one in items], verdicts, task="refusal", model=model, **config)


def rows(table: ModelTable) -> dict[str, dict[str, float | int | None]]:
    return {one.group: {each.head: each.value for each in one.measures} for one in table.summaries()}


def test_runs_of_several_tasks_of_one_model_are_one_row(tmp_path: Path) -> None:
    runs = [
        w2c(tmp_path, "w-a", "hf/a", "ttrrcc"),
        w2c(tmp_path, "w-b", "hf/b", "tttrtc"),
        refusal(tmp_path, "r-a", "hf/a", "+-+-", "++++-"),
        refusal(tmp_path, "r-c", "hf/c", "+", "-"),
    ]
    table = model_table(runs)
    found = rows(table)
    assert found["hf/a"]["Acc"] == 1.0
    assert found["hf/a"] | {"F1": None, "ToolHall": None} == {"F1": None, "Acc": 1.0, "ToolHall": None, "AST": 0.5, "BFCL Irr": 0.8}
    assert found["hf/b"]["Acc"] == pytest.approx(4 / 6)
    assert set(found["hf/b"]) == {"F1", "Acc", "ToolHall"}
    assert found["hf/c"] == {"AST": 1.0, "BFCL Irr": 0.0}
    # Each figure is the very figure of its run's own table.
    own = {one.name: one for one in runs[1].summary()[0].measures}
    joined = {one.name: one for one in table.summaries()[1].measures}
    for name, column in {"macro_f1": "when2call_f1", "accuracy": "when2call_acc", "tool_hallucination": "when2call_toolhall"}.items():
        assert [getattr(joined[column], field) for field in ("value", "low", "high", "k", "n", "kind")] == [
            getattr(own[name], field) for field in ("value", "low", "high", "k", "n", "kind")
        ]
    assert [(one.n, one.total) for one in table.summaries()] == [(15, 15), (6, 6), (2, 2)]
    notes = list(table.notes())
    assert notes[:2] == [
        "hf/a: F1 .75, Acc 1.00, ToolHall .00; run w-a (task when2call, split all)",
        "hf/a: AST .50, BFCL Irr .80; run r-a (task refusal, split all)",
    ]
    assert notes[-1] == "the runs of task refusal differ in: scenarios"


def test_a_further_run_of_one_task_has_a_row_of_its_own_and_nothing_is_averaged(tmp_path: Path) -> None:
    runs = [
        w2c(tmp_path, "one", "hf/a", "ttrrcc"),
        w2c(tmp_path, "two", "hf/a", "dddddd", seed=7),
        refusal(tmp_path, "three", "hf/a", "+", "+"),
        w2c(tmp_path, "four", "hf/b", "ttrrc"),
    ]
    table = model_table([*runs, runs[0]])
    found = rows(table)
    assert list(found) == ["hf/a [one, three]", "hf/a [two]", "hf/b"]
    assert [one["Acc"] for one in found.values()] == [1.0, 0.0, 1.0]
    assert "the runs of task when2call differ in: seed" in list(table.notes())
    unfinished = "hf/b: F1 .75, Acc 1.00, ToolHall .00; run four (task when2call, split all; 1 of 6 episodes not finished)"
    assert unfinished in list(table.notes())


def test_a_run_without_a_headline_figure_shows_the_first_column_of_its_table(tmp_path: Path) -> None:
    items = [case(f"simple_{place}", "simple_python", calls(city="Hue")) for place in range(4)]
    verdicts = [said(one, "calls", place < 3) for place, one in enumerate(items)]
    alone = store(tmp_path, "alone", items, [answered(one) for one in items], verdicts, task="refusal", model="hf/a")
    table = model_table([alone])
    assert rows(table) == {"hf/a": {"AST": 0.75}}
    assert table.records()[0]["refusal_ast_of"] == "simple_python.ast"
    empty = store(tmp_path, "empty", items, [], task="refusal", model="hf/b")
    assert "hf/b: no headline figure; run empty (task refusal, split all; 4 of 4 episodes not finished)" in list(model_table([empty]).notes())
    both = model_table([alone, refusal(tmp_path, "r", "hf/c", "+", "+")])
    assert "AST is not the same figure in all rows: simple_python.ast, all.ast" in list(both.notes())


def test_two_tasks_with_one_head_have_two_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(find_task("refusal")), "headline", {"Acc": "all.ast"})
    table = model_table([w2c(tmp_path, "w", "hf/a", "ttrrcc"), refusal(tmp_path, "r", "hf/a", "+-", "+")])
    assert list(table.heads.items())[-1] == ("refusal_acc", "Acc 2")
    assert rows(table)["hf/a"]["Acc"] == 1.0 and rows(table)["hf/a"]["Acc 2"] == 0.5


def test_a_published_row_has_the_columns_of_both_tasks(tmp_path: Path) -> None:
    runs = [w2c(tmp_path, "w", "hf/a", "ttrrcc"), refusal(tmp_path, "r", "hf/a", "+-", "+")]
    papers = {one.table.table: one for one in model_table(runs).papers()}
    found = {row.model: row for row in papers["4"].rows}["GPT-4o"]
    # When2Call, Table 4: F1 61.3, accuracy 61.3 %, tool hallucination 26 %, BFCL AST 79.8 %, BFCL irrelevance 83.8 %.
    assert dict(found.values) == pytest.approx(
        {"when2call_f1": 0.613, "when2call_acc": 0.613, "when2call_toolhall": 0.26, "refusal_ast": 0.798, "refusal_bfcl_irr": 0.838}
    )
    alone = {one.table.table: one for one in model_table(runs[:1]).papers()}["4"]
    assert {name for row in alone.rows for name in row.values} == {"when2call_f1", "when2call_acc", "when2call_toolhall"}


def test_a_headline_names_a_group_and_a_measure() -> None:
    for name in list_tasks():
        for head, addresses in find_task(name).headline.items():
            assert 0 < len(head) <= 8, f"{head} of task {name} is wider than a column"
            assert all(address.count(".") == 1 for address in ((addresses,) if isinstance(addresses, str) else addresses))
