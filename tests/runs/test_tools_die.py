"""The tool service dies under a run or a grid (SIGKILL, the real child): one restart for all of it, then the end, with everything kept."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.runs.ablation.play_grid import ablate
from talm_sim.runs.api import resume, run
from talm_sim.runs.events import EpisodeFinished, RunEvent, RunStarted, ToolsRestarted
from talm_sim.store.stored_run import StoredRun, load_run
from talm_sim.world import process
from tests.world.quick import QuickServices

pytestmark = pytest.mark.live
SMALL: dict[str, Any] = {"model": "sim/asker", "human": "simulated", "tools": "live", "split": "underspecified", "max_episodes": 4}


class Killer:
    """Listens to a run, and kills its tool service after so many episodes; 0 is as it begins."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, services: QuickServices, *moments: int) -> None:
        self.services = services
        self.moments = list(moments)
        self.finished = 0
        self.restarts: list[ToolsRestarted] = []
        self.alive: list[process.ToolService] = []
        start = process.ToolService.start

        def noting(service: process.ToolService) -> process.ToolService:
            self.alive.append(service)
            return start(service)

        monkeypatch.setattr(process.ToolService, "start", noting)

    def __call__(self, event: RunEvent) -> None:
        self.finished += isinstance(event, EpisodeFinished)
        if isinstance(event, ToolsRestarted):
            self.restarts.append(event)
        if isinstance(event, RunStarted | EpisodeFinished) and self.moments and self.finished >= self.moments[0]:
            self.moments.pop(0)
            os.kill(self.services.pid(self.alive[-1]), signal.SIGKILL)


@pytest.fixture
def services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> QuickServices:
    return QuickServices(monkeypatch, tmp_path)


def content(stored: StoredRun) -> list[Any]:
    """All of the episodes that time and the number of attempts leave alone."""
    left_out: Any = {"started_at", "elapsed_s", "attempt", "events"}
    return [
        (
            episode.model_dump(exclude=left_out),
            [event.model_dump(exclude={"elapsed_ms", "asked_at", "answered_at"}) for event in episode.events],
        )
        for episode in stored.episodes()
    ]


@pytest.mark.parametrize("moment", [0, 5])
def test_a_run_survives_the_death_of_its_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, services: QuickServices, moment: int) -> None:
    killer = Killer(monkeypatch, services, moment)
    done = run(run_dir=tmp_path, limit="12", on_event=killer, **SMALL)
    assert dict(done.terminations) == {"answered": 12}
    assert killer.restarts == [ToolsRestarted("killed by SIGKILL")]


def test_the_second_death_ends_the_run_and_resume_brings_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, services: QuickServices
) -> None:
    with pytest.raises(PrerequisiteError, match=r"died twice") as caught:
        run(run_dir=tmp_path, run_id="killed", limit="16", on_event=(killer := Killer(monkeypatch, services, 3, 9)), **SMALL)
    assert str(caught.value).endswith(f"The run is kept; continue with: talm-sim resume {tmp_path / 'killed'}")
    left = load_run(tmp_path / "killed")
    assert dict(left.terminations) == {"answered": left.finished}, "those in flight are neither finished nor failed"
    assert killer.finished <= left.finished < left.total
    kept, missing = content(left), left.total - left.finished
    again = Killer(monkeypatch, services)
    done = resume(left, on_event=again)
    assert again.finished == missing, "none is played twice"
    whole = content(run(run_dir=tmp_path, run_id="whole", limit="16", **SMALL))
    assert content(done) == whole
    assert all(one in whole for one in kept)


def test_a_grid_has_one_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, services: QuickServices) -> None:
    grid: dict[str, list[Any]] = {"seed": [0, 1, 2]}
    options: dict[str, Any] = {**SMALL, "run_dir": tmp_path, "limit": "6"}
    with pytest.raises(PrerequisiteError, match=r"^cell seed=[12]: the tool service died twice.* continue with: talm-sim resume "):
        ablate(over=grid, on_event=(killer := Killer(monkeypatch, services, 2, 8)), **options)
    assert len(killer.restarts) == len(killer.alive) == 1, "one service for all cells"
    done = ablate(over=grid, **options)
    assert [dict(cell.run.terminations) for cell in done.cells] == [{"answered": 6}] * 3
