"""A run of two workers has the episodes, verdicts and tables of one process, whatever is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import talm_sim
from talm_sim.tasks import find_task
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


def test_the_awareness_task_has_the_same_table(tmp_path: Path) -> None:
    """Its rows are paired: each manipulated instance with its original, whoever played them."""
    scenarios = tmp_path / "some.jsonl"
    kept = [one for one in find_task("talm").read(["perfect"])][:6]
    scenarios.write_text("".join(one.model_dump_json() + "\n" for one in kept), encoding="utf-8")
    shared: dict[str, Any] = {"model": "sim/oracle", "tools": "replay", "run_dir": tmp_path, "progress": False, "stop_after": "awareness"}
    alone = talm_sim.run(**shared, scenarios=scenarios)
    run = talm_sim.run(**shared, scenarios=scenarios, workers=3)
    assert (content(run), tables(run)) == (content(alone), tables(alone))
