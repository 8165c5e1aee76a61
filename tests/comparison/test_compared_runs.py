"""Comparisons of real runs: the figures of every task, groups across, transcripts that differ, and what a baseline keeps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from talm_sim import StoredRun, run
from talm_sim.comparison.compare import Comparison, compare
from talm_sim.comparison.compared_rows import COSTS, Side
from talm_sim.comparison.divergences import find_divergences
from talm_sim.errors import NotComparableError
from talm_sim.types import Measure, Row

TASKS: dict[str, dict[str, Any]] = {
    "talm": {"limit": "6"},
    "when2call": {"task": "when2call", "limit": "12"},
    "awareness": {"task": "awareness", "limit": "30"},
    "few-shot": {"task": "awareness", "protocol": "few-shot", "limit": "12"},
    "refusal": {"task": "refusal", "limit": "10"},
}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[StoredRun, StoredRun]]:
    """Two controls for each task."""
    folder = tmp_path_factory.mktemp("played")
    made = {}
    for name, options in TASKS.items():
        shared = {**options, "run_dir": folder, "progress": False}
        made[name] = (run(model="sim/oracle", run_id=f"{name}-oracle", **shared), run(model="sim/eager", run_id=f"{name}-eager", **shared))
    return made


def columns(stored: StoredRun) -> Iterator[tuple[str, bool, Measure]]:
    for summary in stored.summary():
        for measure in summary.measures_in("column"):
            yield summary.group, summary.derived, measure


def mean_in(rows: list[Row], group: str, name: str) -> float | None:
    values = [float(value) for row in rows if row.group == group and row.scored and (value := row.values.get(name)) is not None]
    return sum(values) / len(values) if values else None


@pytest.mark.parametrize("name", TASKS)
def test_every_column_that_is_no_mean_has_a_figure_with_the_value_of_the_table(
    name: str, played: dict[str, tuple[StoredRun, StoredRun]]
) -> None:
    figures = 0
    for stored in played[name]:
        rows = list(stored.rows())
        for group, derived, measure in columns(stored):
            mean = None if derived else mean_in(rows, group, measure.name)
            if not derived and (measure.value is None or (mean is not None and abs(mean - measure.value) < 1e-9)):
                continue
            figure = stored.job.task.figure(group, measure.name)
            assert figure is not None, f"{group}: {measure.name} would be printed without an interval"
            own = rows if derived else [row for row in rows if row.group == group]
            value = figure(own)([1] * len(own))
            assert value == (None if measure.value is None else pytest.approx(measure.value, abs=1e-12)), (group, measure.name)
            figures += 1
    assert figures


@pytest.mark.parametrize("name", TASKS)
def test_nothing_is_printed_without_an_interval(name: str, played: dict[str, tuple[StoredRun, StoredRun]]) -> None:
    first, second = played[name]
    found = compare(first, second)
    derived = {group: one for group, one, _ in columns(first)}
    for one in found.differences:
        constant = one.measure.kind == "number" or derived[one.group]
        assert (one.low is not None and one.high is not None and one.low < one.high) or constant, (one.group, one.measure.name)
        assert (one.p is None) == derived[one.group]
        if one.p is not None:
            assert one.low is None or one.low <= (one.difference or 0) <= (one.high or 0)
    assert sum(map(len, (found.flips[0].improved, found.flips[0].regressed, found.flips[0].both_passed, found.flips[0].both_failed)))
    assert compare(first, first).flips[0].regressed == ()
    assert {one.verdict for one in compare(first, first).differences} == {""}


def test_a_figure_over_a_group_says_how_many_pairs_it_is_over(played: dict[str, tuple[StoredRun, StoredRun]]) -> None:
    for name in ("when2call", "refusal"):
        first, second = played[name]
        sizes = {summary.group: summary.total for summary in first.summary()}
        for one in compare(first, second).differences:
            assert one.pairs is None or one.pairs <= sizes[one.group]


def test_a_baseline_of_a_run_compares_as_the_run(played: dict[str, tuple[StoredRun, StoredRun]], tmp_path: Path) -> None:
    for name, (first, second) in played.items():
        file = tmp_path / f"{name}.jsonl"
        file.write_text("\n".join(Side.of_run(first).lines()) + "\n", encoding="utf-8")
        kept, whole = compare(file, second), compare(first, second)
        # A baseline has no calls to compare.
        assert kept.model_copy(update={"first": whole.first, "common_calls": whole.common_calls}) == whole, name
        assert json.loads(file.read_text(encoding="utf-8").split("\n")[0])["kind"] == "talm-sim baseline"


def test_runs_of_two_tasks_are_not_compared(played: dict[str, tuple[StoredRun, StoredRun]]) -> None:
    with pytest.raises(NotComparableError, match=r"are of different tasks \(talm, refusal\)"):
        compare(played["talm"][0], played["refusal"][0])


def test_the_missing_fact_costs_what_two_groups_differ_by(played: dict[str, tuple[StoredRun, StoredRun]]) -> None:
    oracle, eager = played["talm"]
    for stored in (oracle, eager):
        found: Comparison = compare(f"{stored.path}:perfect", f"{stored.path}:underspecified")
        rows = list(stored.rows())
        for name in ("pass_rate",):
            one = found.difference(name)
            assert one is not None and one.pairs == 6
            assert (one.first, one.second) == (mean_in(rows, "perfect", name), mean_in(rows, "underspecified", name))
        assert {one.measure.name for one in found.differences} <= {"pass_rate", *COSTS}


def test_flips_are_followed_to_the_first_step_that_differs(played: dict[str, tuple[StoredRun, StoredRun]]) -> None:
    first, second = played["talm"]
    names = [name for flips in compare(first, second).flips for name in flips.regressed]
    divergences = find_divergences(first, second, names)
    assert names and set(divergences) == set(names)
    for one in divergences.values():
        assert one.first != one.second
    assert find_divergences(first, first, names) == {}
    assert find_divergences(first, second, []) == {}
