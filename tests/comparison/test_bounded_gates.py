"""Gates with a bound: which rows of a table they are for, what reaches them, and what is refused before a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import talm_sim
from talm_sim.common.gate import read_gate
from talm_sim.comparison.bounded_gates import _check, check_names, find_measures, planned_summaries
from talm_sim.comparison.gate_set import Gates
from talm_sim.errors import PrerequisiteError
from talm_sim.judges.stats import wilson
from talm_sim.runs.plan import plan
from talm_sim.runs.resolve import configure
from talm_sim.tasks import Job
from talm_sim.tasks.shared import Shared
from talm_sim.types import Measure, Scenario, Summary

TABLE = [
    Summary(group="perfect", n=4, total=5, measures=(Measure(name="pass_rate", head="PR", value=0.5, low=0.2, high=0.8, n=4),)),
    Summary(group="a.b", n=2, total=2, measures=(Measure(name="pass_rate", head="PR"), Measure(name="b.c", head="C", value=0.1))),
    Summary(group="both", n=6, total=7, derived=True, measures=(Measure(name="pass_rate", head="PR"), Measure(name="whole", head="W"))),
]


def rows(gate: str) -> list[tuple[str, str]]:
    return [(summary.group, measure.name) for summary, measure in find_measures(read_gate(gate), TABLE)]


def test_a_gate_without_a_group_is_for_each_row_that_repeats_no_others() -> None:
    assert rows("pass_rate") == [("perfect", "pass_rate"), ("a.b", "pass_rate")]
    assert rows("whole") == [("both", "whole")]
    assert rows("both.pass_rate") == [("both", "pass_rate")]


def test_a_gate_is_met_only_if_it_is_met_however_the_undecided_episodes_ended() -> None:
    measure = Measure.of(wilson(3, 6), "pass_rate", "PR", undecided=4)
    assert (measure.least, measure.most) == (0.3, 0.7)
    for text, passed in {"pass_rate>=0.5": False, "pass_rate>=0.3": True, "pass_rate<=0.5": False, "pass_rate<=0.7": True}.items():
        result = _check(read_gate(text), Summary(group="perfect", n=10, total=10), measure)
        assert (result.passed, ".30 to .70 with the 4 undecided" in result.found) == (passed, True)


def test_points_may_be_part_of_groups_and_of_measures() -> None:
    assert rows("a.b.pass_rate") == [("a.b", "pass_rate")]
    assert rows("b.c") == [("a.b", "b.c")]
    assert rows("a.b.b.c") == [("a.b", "b.c")]


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        ("pass_rat", "there is no measure 'pass_rat'. Did you mean 'pass_rate'?"),
        ("PR", "Did you mean 'pass_rate'?"),
        ("perfct.pass_rate", "there is no group 'perfct'. Did you mean 'perfect'?"),
        ("perfect.whole", "group 'perfect' has no measure 'whole'; these have it: both."),
        ("perfect.other", "there is no measure 'other' in group 'perfect'."),
        ("x.y.z", "there is no group 'x.y'."),
    ],
)
def test_an_unknown_name_is_refused_with_what_was_meant(gate: str, said: str) -> None:
    with pytest.raises(PrerequisiteError) as caught:
        rows(gate)
    assert said in str(caught.value)


def planned(task: str, **options: Any) -> tuple[Job[Any], Sequence[Scenario]]:
    return plan(configure(None, {"task": task, "model": "sim/oracle", **options}), Shared())


@pytest.mark.parametrize(
    ("task", "gate", "said"),
    [
        ("talm", "pass_rat>=0.5", "Did you mean 'pass_rate'?"),
        ("talm", "perfct.pass_rate>=0.5", "Did you mean 'perfect'?"),
        ("talm", "quality>=0.5", "there is no measure 'quality'."),
        ("talm", "pass_rate>=60", "For 60 % write 0.6."),
        ("talm", "recoverd>=0.5", "Did you mean 'recovered'?"),
        ("when2call", "macro_f2>=0.5", "Did you mean 'macro_f1'?"),
        ("when2call", "tool_call.accuracy>=0.5", "there is no group 'tool_call'."),
        ("when2call", "f1_direct@lower>=0.5", "leave out @lower"),
        ("awareness", "brir<=0.5", "Did you mean 'brier'?"),
        ("refusal", "removd, en.h_i>=0.5", "Did you mean 'removed, en'?"),
    ],
)
def test_before_a_run_a_name_is_refused_that_its_table_will_not_have(task: str, gate: str, said: str) -> None:
    with pytest.raises(PrerequisiteError) as caught:
        check_names([read_gate(gate)], *planned(task))
    assert said in str(caught.value)
    assert str(caught.value).startswith("--gate: ")


@pytest.mark.parametrize(
    ("task", "gate"),
    [
        ("talm", "unavailable.pass_rate>=0.5"),
        ("talm", "perfect.recovered>=0.5"),
        ("talm", "appropriate>=0.5"),
        ("awareness", "auroc>=0.5"),
        ("refusal", "v4_overall>=10"),
        ("refusal", "gap>=-0.5"),
    ],
)
def test_a_measure_that_only_some_runs_have_may_be_named(task: str, gate: str) -> None:
    check_names([read_gate(gate)], *planned(task))


def test_of_a_task_that_lists_no_measures_only_groups_are_known_before_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    job, scenarios = planned("talm", split="perfect", limit="2")
    monkeypatch.setattr(type(job.task), "further_measures", None)
    check_names([read_gate("perfect.quality>=0.5"), read_gate("quality>=0.5")], job, scenarios)
    with pytest.raises(PrerequisiteError, match="there is no group 'underspecified'"):
        check_names([read_gate("underspecified.quality>=0.5")], job, scenarios)


def test_a_task_that_cannot_count_what_did_not_happen_stops_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    job, scenarios = planned("talm", split="perfect", limit="2")

    def fail(*_: object) -> list[Summary]:
        raise KeyError("gold")

    monkeypatch.setattr(type(job.task), "summarize", fail)
    assert planned_summaries(job, scenarios) == []
    check_names([read_gate("quality>=0.5")], job, scenarios)


RUNS: dict[str, dict[str, Any]] = {
    "talm": {"limit": "1", "perturb": ("http-500",)},
    "when2call": {},
    "awareness": {"limit": "4"},
    "refusal": {"limit": "2"},
}


@pytest.mark.parametrize("task", list(RUNS))
def test_a_task_lists_every_measure_that_its_tables_have(task: str, tmp_path: Path) -> None:
    """Else a gate on one of them would be refused before a run."""
    run = talm_sim.run(task=task, model="sim/oracle", run_dir=tmp_path, **RUNS[task])
    before = {summary.group: summary for summary in planned_summaries(run.job, list(run.scenarios()))}
    after = {summary.group: summary for summary in run.summary()}
    assert {name: one.derived for name, one in before.items()} == {name: one.derived for name, one in after.items()}
    further = run.job.task.further_measures
    for name, summary in after.items():
        known = {one.name for one in before[name].measures}
        assert further is None or {one.name for one in summary.measures if not one.name.startswith("fault_n_")} <= known | set(further)
    assert (further is None) == (task == "refusal")


def test_no_value_is_missed_and_every_gate_says_what_was_found(tmp_path: Path) -> None:
    run = talm_sim.run(model="sim/oracle", split="perfect,no-tools", limit=2, run_dir=tmp_path)
    texts = ("perfect.pass_rate>=0.9", "perfect.pass_rate@lower>=0.9", "perfect.skip<=0", "skip<=0.5", "recovered>=0.5", "pass_rate<=0.9999")
    found = {one.name: one for one in Gates(texts).check(run)}
    assert {name: one.passed for name, one in found.items()} == {
        "perfect.pass_rate>=0.9": True,
        "perfect.pass_rate@lower>=0.9": False,
        "perfect.skip<=0": True,
        "perfect.skip<=0.5": True,
        "no-tools.skip<=0.5": False,
        "recovered>=0.5": False,
        "perfect.pass_rate<=0.9999": False,
        "no-tools.pass_rate<=0.9999": True,
    }
    assert found["perfect.pass_rate>=0.9"].line == "gate passed: perfect.pass_rate>=0.9: 1.00 [.34\N{EN DASH}1.00], n 2"
    assert found["no-tools.skip<=0.5"].line == "gate missed: no-tools.skip<=0.5: no value, n 2"
    assert found["recovered>=0.5"].line == "gate missed: recovered>=0.5: no value, n 4"
    assert talm_sim.check_gates(run, texts[0]) == [found["perfect.pass_rate>=0.9"]]


def test_gates_are_no_option_of_a_run_in_python(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=r"talm_sim\.check_gates\(run"):
        talm_sim.run(model="sim/oracle", split="perfect", limit=1, run_dir=tmp_path, gate="pass_rate>=0.5")
    assert not list(tmp_path.iterdir())
