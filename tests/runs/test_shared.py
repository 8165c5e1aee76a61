"""What a session opens, it opens once: tools, models and the judges' model of a run or of a whole grid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from talm_sim.models import registry
from talm_sim.models.base import Model
from talm_sim.runs.ablation.play_grid import ablate
from talm_sim.runs.api import run
from talm_sim.tasks import shared
from talm_sim.world import process


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the models that are opened, in order."""
    opened: list[str] = []
    real = registry.open_model

    def counting(name: str, **options: Any) -> Model:
        opened.append(name)
        return real(name, **options)

    monkeypatch.setattr(shared, "open_model", counting)
    return opened


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> list[process.ToolService]:
    """The tool services that are started, in order."""
    started: list[process.ToolService] = []
    real = process.ToolService.start

    def counting(self: process.ToolService) -> process.ToolService:
        started.append(self)
        return real(self)

    monkeypatch.setattr(process.ToolService, "start", counting)
    return started


@pytest.mark.live
def test_a_grid_of_live_runs_starts_one_tool_service_and_opens_the_model_once(
    tmp_path: Path, models: list[str], services: list[process.ToolService]
) -> None:
    grid: dict[str, list[Any]] = {"perturb": ["", "http-500"], "seed": [0, 1]}
    done = ablate(over=grid, model="sim/oracle", tools="live", split="perfect", limit="2", run_dir=tmp_path)
    assert [row["pass_rate"] for row in done.to_records()] == [1.0, 1.0, 0.0, 0.0]
    assert len(services) == 1
    assert models == ["sim/oracle"]


def test_a_runs_judge_model_is_opened_once_and_is_the_agents_where_they_are_the_same(tmp_path: Path, models: list[str]) -> None:
    options: dict[str, Any] = {"model": "sim/oracle", "tools": "replay", "split": "perfect", "limit": "2", "run_dir": tmp_path}
    run(**options, judge_model="sim/eager")
    assert sorted(models) == ["sim/eager", "sim/oracle"]
    models.clear()
    run(**options, judge_model="sim/oracle")
    assert models == ["sim/oracle"]
