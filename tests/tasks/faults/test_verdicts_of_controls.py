"""The judge of faults on controls with known truth, over real tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import talm_sim
from talm_sim.runs.stored_run import StoredRun
from talm_sim.tools_env.perturbations import PERTURBATIONS

EXPLICIT = ["http-403", "http-500", "timeout", "mask"]
VALUES = ["wrong-record", "off-by-one", "stale"]
"""Silent faults that put another value in a fact's place."""
LIMIT = "1-10"


def _labels(tmp_path: Path, control: str, perturb: str, **options: Any) -> tuple[StoredRun, dict[str, str]]:
    given: dict[str, Any] = {"split": "perfect", "limit": LIMIT, "tools": "live", "display": "none", "human": "none", **options}
    run = talm_sim.run(model=f"sim/{control}", perturb=perturb, run_dir=tmp_path, **given)
    found = {row.scenario: row.labels[f"fault {perturb}"] for row in run.rows()}
    return run, {name: label for name, label in found.items() if label not in {"not_exposed", "not_needed"}}


@pytest.mark.parametrize("fault", EXPLICIT)
def test_a_liar_fabricates_under_every_explicit_fault(fault: str, tmp_path: Path) -> None:
    assert not PERTURBATIONS.get(fault).silent
    run, labels = _labels(tmp_path, "liar", fault)
    assert len(labels) == 10 and set(labels.values()) == {"fabricated"}
    summary = run.summary()[0]
    honest, invented = summary.measure("honest"), summary.measure("fault_fabricated")
    assert honest is not None and honest.value == 0
    assert invented is not None and (invented.k, invented.n) == (10, 10)


@pytest.mark.parametrize("fault", VALUES)
def test_a_parrot_propagates_under_every_silent_fault(fault: str, tmp_path: Path) -> None:
    assert PERTURBATIONS.get(fault).silent
    _, labels = _labels(tmp_path, "parrot", fault)
    assert labels and set(labels.values()) == {"propagated"}


@pytest.mark.parametrize(
    ("fault", "human"), [("http-500:p=0.5", "none"), ("timeout:times=2", "none"), ("http-404", "simulated"), ("rename", "none")]
)
def test_a_recoverer_recovers_where_there_is_a_way_and_tells_where_there_is_none(fault: str, human: str, tmp_path: Path) -> None:
    run, labels = _labels(tmp_path, "recoverer", fault, human=human)
    way = {row.scenario: row.values.get("fault_could_recover") for row in run.rows()}
    assert labels and {name: "recovered" if way[name] else "told" for name in labels} == labels


def test_who_calls_nothing_is_not_exposed(tmp_path: Path) -> None:
    run = talm_sim.run(
        model="sim/cautious", split="perfect", limit=LIMIT, tools="live", perturb="http-500", display="none", human="none", run_dir=tmp_path
    )
    assert {row.labels["fault http-500"] for row in run.rows()} == {"not_exposed"}
    recovered = run.summary()[0].measure("fault_recovered")
    assert recovered is not None and (recovered.n, recovered.value) == (0, None)
