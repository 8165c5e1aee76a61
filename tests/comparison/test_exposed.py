from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import talm_sim
from talm_sim.cli.report.comparison import comparison_lines
from talm_sim.comparison.compare import SELECTED, Comparison
from talm_sim.comparison.compared_rows import OUTCOMES
from talm_sim.store.stored_run import StoredRun

SEEN = "a fault was seen"


def _run(tmp_path: Path, name: str, **options: Any) -> StoredRun:
    given = {"split": "perfect", "limit": "8", "model": "sim/oracle", "tools": "live", "run_dir": tmp_path, "display": "none"}
    return talm_sim.run(**{**given, **options}, run_id=name)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, StoredRun]:
    path = tmp_path_factory.mktemp("runs")
    return {
        "low": _run(path, "low", perturb="http-500:p=0.4"),
        "high": _run(path, "high", perturb="http-500:p=0.7"),
        "clean": _run(path, "clean"),
    }


def _texts(comparison: Comparison) -> str:
    return " ".join(" ".join(line.plain.split()) for line in comparison_lines(comparison))


def test_all_pairs_come_first_and_then_those_in_which_both_met_a_fault(runs: dict[str, StoredRun]) -> None:
    found = talm_sim.compare(runs["low"], runs["high"])
    titles = list(dict.fromkeys(one.measure.under for one in found.differences))
    assert titles[:2] == [OUTCOMES, ""] and SELECTED.format(SEEN) in titles
    met = [{row.scenario for row in runs[name].rows() if "fault_told" in row.values} for name in ("low", "high")]
    assert met[0] <= met[1], "the faults of a lower p are among those of a higher one"
    assert found.selected == {SEEN: len(met[0] & met[1])} and found.pairs == 8
    selected = {one.measure.name: one for one in found.differences if one.measure.under == SELECTED.format(SEEN)}
    assert selected["fault_told"].pairs == selected["pass_rate"].pairs == found.selected[SEEN]
    assert (selected["fault_told"].first, selected["fault_told"].second) == (1, 1)
    assert not [one for one in found.differences if one.measure.name.startswith("fault_") and one.measure.under != SELECTED.format(SEEN)]
    assert "both: a fault was seen (selected)" in _texts(found)


def test_it_says_how_many_calls_both_made(runs: dict[str, StoredRun]) -> None:
    found = talm_sim.compare(runs["low"], runs["high"])
    calls = sum(len(episode.tool_events) for episode in runs["low"].episodes())
    assert found.common_calls == (calls, calls)
    assert f"tool calls: {calls} of {calls} were made by both perturb:" in _texts(found)
    assert "these met the same faults" in _texts(talm_sim.compare(runs["low"], runs["low"]))
