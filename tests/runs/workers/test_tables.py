"""A run of two workers has the episodes, verdicts and tables of one process, whatever is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import talm_sim
from tests.runs.workers.watched import content, tables

RUNS: dict[str, dict[str, Any]] = {
    "controls": {"model": "sim/oracle", "split": "all", "tools": "replay", "human": "none", "limit": "8"},
    "a person": {"model": "sim/asker", "split": "underspecified", "tools": "replay", "human": "simulated", "limit": "6"},
    "replay": {"split": "underspecified", "limit": "6"},
    "replay with a person": {"split": "underspecified", "human": "simulated", "limit": "6"},
    "faults": {
        "model": "sim/recoverer",
        "split": "perfect",
        "tools": "replay",
        "human": "simulated",
        "perturb": ("http-500:p=.5", "null-field:p=.3", "model-500:p=.2"),
        "epochs": 2,
        "limit": "6",
    },
    "when2call": {"task": "when2call", "model": "sim/oracle", "limit": "8"},
    "awareness": {"task": "awareness", "model": "sim/asker", "limit": "6"},
    "awareness questions alone": {"model": "sim/oracle", "tools": "replay", "split": "perfect", "stop_after": "awareness", "limit": "6"},
    "refusal": {"task": "refusal", "model": "sim/eager", "limit": "6"},
}


@pytest.mark.parametrize("name", RUNS)
def test_two_workers_make_the_run_of_one_process(tmp_path: Path, name: str) -> None:
    shared = {**RUNS[name], "run_dir": tmp_path, "progress": False}
    alone = talm_sim.run(**shared, run_id="alone")
    run = talm_sim.run(**shared, run_id="workers", workers=2)
    assert run.finished == alone.finished == run.total > 0
    assert content(run) == content(alone)
    assert tables(run) == tables(alone)
