from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.runs.ablation.play_grid import ablate
from talm_sim.runs.events import EpisodeFinished, RunEvent
from talm_sim.store.listing import list_runs
from tests.runs.recorded_world import make_world


@pytest.fixture
def world(tmp_path: Path) -> dict[str, Any]:
    return {**make_world(tmp_path), "split": "underspecified"}


def test_a_large_cell_runs_where_it_is_meant(world: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("talm_sim.runs.plan.MANY", 4)
    grid = {"epochs": [1, 2]}
    with pytest.raises(PrerequisiteError, match=r"^cell epochs=2: epochs 2: this would be a run of 8 episodes; choose fewer"):
        ablate(over=grid, **world)
    done = ablate(over=grid, **world, large=True)
    assert [cell.run.total for cell in done.cells] == [4, 8]
    assert ablate(over=grid, **world).cells[1].run.id == done.cells[1].run.id, "what is there is read"


def test_finished_cells_are_read_and_new_ones_run(world: dict[str, Any]) -> None:
    events: list[RunEvent] = []
    del world["model"]
    first = ablate(over={"model": ["sim/asker"]}, **world)
    second = ablate(over={"model": ["sim/asker", "sim/cautious"]}, **world, on_event=events.append)
    assert first.cells[0].run.id == second.cells[0].run.id
    assert sum(isinstance(event, EpisodeFinished) for event in events) == 4
    assert second.to_records()[1]["skip"] == 1.0


def test_an_interrupted_cell_goes_on(world: dict[str, Any]) -> None:
    events: list[RunEvent] = []

    def stop(event: RunEvent) -> None:
        if isinstance(event, EpisodeFinished):
            raise KeyboardInterrupt

    del world["model"]
    with pytest.raises(KeyboardInterrupt):
        ablate(over={"model": ["sim/oracle"]}, **world, on_event=stop, max_episodes=1)
    (interrupted,) = list_runs(world["run_dir"])
    assert 1 <= interrupted.finished < 4
    done = ablate(over={"model": ["sim/oracle"]}, **world, on_event=events.append)
    assert sum(isinstance(event, EpisodeFinished) for event in events) == 4 - interrupted.finished
    assert done.to_records()[0]["n"] == 4


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({"modell": ["sim/eager"]}, r"ablate: unknown field 'modell'\. Did you mean 'model'\?"),
        ({"model": "sim/eager"}, r"ablate: give 'model' a list of values"),
        ({"model": []}, r"ablate: give 'model' a list of values"),
        ({"max_episodes": [1, 2]}, r"ablate: 'max_episodes' changes how a run is executed, not its results; vary another field"),
        ({"epochs": 3}, r"ablate: give 'epochs' a list of values, for example \[3, \.\.\.\]"),
        ({"epochs": {1: 2}}, r"ablate: give 'epochs' a list of values"),
        ({}, r"ablate: over={} varies nothing; give each field its values, as in over={'epochs': \[1, 2\]}\.$"),
        (["human"], r"ablate: over=\['human'\] varies nothing; give each field"),
        ({"split": ["perfect"]}, r"ablate: split='underspecified' fixes what over={'split': \.\.\.} varies; leave one of them out\.$"),
        ({3: [1]}, r"ablate: unknown field '3'\."),
        ({"epochs": [1, 10**8]}, r"cell epochs=100000000: epochs 100000000: this would be a run of 400,000,000 episodes; choose fewer"),
        ({"epochs": [1, 0]}, r"cell epochs=0: epochs: 0 is too small"),
        ({"perturb": ["", "htp-500"]}, r"cell perturb=htp-500: perturb htp-500: unknown perturbation 'htp-500'\. Did you mean 'http-500'\?"),
        ({"perturb": ["", "mask:tool=x"]}, r"cell perturb=mask:tool=x: perturb=\"mask:tool=x\": no tool 'x'"),
        ({"model": ["sim/asker", "sim/askr"]}, r"cell model=sim/askr: model 'sim/askr': unknown control 'askr'"),
        ({"temperature": [0.0], "judge": ["x"]}, r"cell temperature=0.0, judge=x: judge: unknown judge 'x'"),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(world: dict[str, Any], over: Any, message: str) -> None:
    with pytest.raises(PrerequisiteError, match=message):
        ablate(over=over, **{name: value for name, value in world.items() if name != "model" or name not in over})
    assert not list(world["run_dir"].glob("*"))
