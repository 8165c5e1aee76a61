from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.ablation.grid_forecast import forecast_grid, total_costs
from talm_sim.runs.ablation.play_grid import ablate
from talm_sim.runs.events import EpisodeFinished, RunEvent
from talm_sim.runs.forecast import forecast
from talm_sim.runs.prices import Price
from tests.runs.recorded_world import make_world

PRICES = {"openai/gpt-4o": Price(2.5, 10.0, "USD"), "openai/judge": Price(1.0, 1.0, "USD")}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return {**make_world(tmp_path), "split": "underspecified"}


def test_the_sum_is_that_of_the_forecasts_of_each_run(world: dict[str, Any]) -> None:
    options = {**world, "model": "openai/gpt-4o", "judge_model": "openai/judge", "judge": ("llm",)}
    cells = forecast_grid(RunConfig(**options), {"human": ["none", "simulated"], "epochs": [1, 3], "turn_limit": [2, 5]}, PRICES)
    alone = [
        forecast(RunConfig(**options, human=human, epochs=epochs, turn_limit=turns), PRICES)
        for human in ("none", "simulated") for epochs in (1, 3) for turns in (2, 5)
    ]  # fmt: skip
    assert [cell.costs for cell in cells] == [one.costs for one in alone]
    assert [cell.episodes for cell in cells] == [one.episodes for one in alone] == [4, 4, 12, 12] * 2
    agent, judge = total_costs(cells)
    assert (agent.role, judge.role) == ("agent", "judge")
    for place, total in enumerate((agent, judge)):
        for name in ("least", "most", "input_tokens", "output_tokens"):
            assert getattr(total.bound, name) == sum(getattr(one.costs[place].bound, name) for one in alone)
        assert total.bound.most > 0 < total.bound.input_tokens
        assert total.money == pytest.approx(sum(one.costs[place].money or 0 for one in alone)) and total.money
        assert total.currency == "USD"
    assert not world["run_dir"].exists(), "nothing is written"


def test_what_exists_is_not_counted_again(world: dict[str, Any]) -> None:
    def stop(event: RunEvent) -> None:
        if isinstance(event, EpisodeFinished) and event.finished == 3:
            raise KeyboardInterrupt

    options = {**world, "model": "sim/oracle"}
    over: dict[str, Any] = {"epochs": [1, 2], "judge_model": ["", "sim/eager"], "seed": [0, 0]}
    ablate(over={**over, "judge_model": [""], "epochs": [1], "seed": [0]}, **options)
    with pytest.raises(KeyboardInterrupt):
        ablate(over={"epochs": [2], "judge_model": [None], "seed": [0]}, **options, on_event=stop, max_episodes=1)
    found = [(cell.values["epochs"], cell.state, cell.episodes) for cell in forecast_grid(RunConfig(**options), over)]
    left = found[4][2]
    assert left in (4, 5), "an episode that was under way may have been stored"
    assert found == [
        (1, "finished", 0), (1, "same run", 0), (1, "judged only", 0), (1, "same run", 0),
        (2, "started", left), (2, "same run", 0), (2, "judged only", 0), (2, "same run", 0),
    ]  # fmt: skip
    events: list[RunEvent] = []
    ablate(over=over, **options, on_event=events.append)
    assert sum(isinstance(event, EpisodeFinished) for event in events) == left + 4 + 8, "12 are taken over"
    assert {cell.state for cell in forecast_grid(RunConfig(**options), over)} == {"finished", "same run"}


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({"model": ["sim/asker", "sim/askr"]}, r"^cell model=sim/askr: model 'sim/askr': unknown control 'askr'"),
        ({"model": ["openai/other"]}, r"^cell model=openai/other: --prices: no price for openai/other"),
        ({"timeout": [1.0]}, r"^ablate: 'timeout' changes how a run is executed"),
        ({"seed": range(200), "epochs": range(1, 200)}, r"^ablate: this grid has 39,800 cells; the most is 10,000"),
    ],
)
def test_what_the_ablation_would_refuse_is_refused(world: dict[str, Any], over: Any, message: str) -> None:
    with pytest.raises(PrerequisiteError, match=message):
        forecast_grid(RunConfig(**world), over, PRICES)
