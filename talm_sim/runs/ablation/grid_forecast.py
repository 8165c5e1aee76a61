"""Forecast what an ablation would ask of its models: per cell, and all cells together. Nothing is sent, and nothing is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from talm_sim.config import RunConfig
from talm_sim.runs.ablation.grid import PlannedCell, combine, is_whole, naming_cell, plan_cell
from talm_sim.runs.api import AGAIN, run_to_completion
from talm_sim.runs.forecast import Cost, Forecast, RecordedUse, Unsent, forecast_planned
from talm_sim.runs.prices import Price
from talm_sim.runs.resolve import configure
from talm_sim.store.stored_run import StoredRun
from talm_sim.tasks.bounds import Bound
from talm_sim.types import Scenario

_CellState = Literal["new", "started", "finished", "same run", "judged only"]
"""`same run`: an earlier cell is the same run; `judged only`: an earlier cell has the same episodes, which are judged in another way."""


@dataclass(frozen=True, slots=True)
class CellForecast:
    """The forecast for one cell.

    Attributes:
        state: What exists of it.
        episodes: How many episodes would be run.
    """

    values: Mapping[str, Any]
    run: str
    state: _CellState
    forecast: Forecast | None
    episodes: int

    @property
    def costs(self) -> tuple[Cost, ...]:
        """One entry per model."""
        return () if self.forecast is None else self.forecast.costs


def forecast_grid(
    base: RunConfig, over: Mapping[str, Sequence[Any]], prices: Mapping[str, Price] | None = None, *, name: str = "ablation"
) -> list[CellForecast]:
    """Forecast an ablation; the arguments are those of `ablate`, with a price for each model."""
    return run_to_completion(_forecast_grid(base, over, prices, name))


async def _forecast_grid(
    base: RunConfig, over: Mapping[str, Sequence[Any]], prices: Mapping[str, Price] | None, name: str
) -> list[CellForecast]:
    first = configure(base, {})
    found: list[CellForecast] = []
    runs: set[str] = set()
    played: set[str] = set()
    async with Unsent() as shared:
        for values in combine(first, over):
            with naming_cell(values):
                cell = plan_cell(first, values, name, shared, large=False)
                state, left = _state(cell, runs, played)
                asks = state not in ("finished", "same run")
                forecast = await forecast_planned(cell.job, cell.scenarios, shared, prices, left) if asks else None
            episodes = len(cell.scenarios) * cell.job.config.epochs if left is None else len(left)
            found.append(CellForecast(values, cell.path.name, state, forecast, episodes))
            runs.add(cell.path.name)
            played.add(cell.episodes)
    return found


def _state(cell: PlannedCell, runs: set[str], played: set[str]) -> tuple[_CellState, Sequence[Scenario] | None]:
    """Return what exists of a cell, and the scenario of each episode that would be run; None for all of them."""
    if cell.path.name in runs:
        return "same run", ()
    if not cell.path.exists():
        return ("judged only", ()) if cell.episodes in played else ("new", None)
    stored = StoredRun(cell.path)
    if stored.judged and is_whole(stored):
        return "finished", ()
    done = {(episode.scenario_id, episode.epoch) for episode in stored.episodes() if episode.termination.value not in AGAIN}
    epochs = range(1, cell.job.config.epochs + 1)
    return "started", [scenario for epoch in epochs for scenario in cell.scenarios if (scenario.id, epoch) not in done]


def total_costs(cells: Sequence[CellForecast]) -> list[Cost]:
    """Return the costs of all cells together, one per model, role and traffic.

    What recordings took is added up only if each cell that would ask this model has a recording.
    """
    found: dict[tuple[str, str, str], list[Cost]] = {}
    for cost in (cost for cell in cells for cost in cell.costs):
        found.setdefault((cost.model, cost.role, cost.traffic), []).append(cost)
    return [_total(costs) for costs in found.values()]


def _total(costs: Sequence[Cost]) -> Cost:
    first = costs[0]
    money = [cost.money for cost in costs if cost.money is not None]
    bound = sum((cost.bound for cost in costs), Bound())
    total = sum(money) if len(money) == len(costs) else None
    recorded = _total_recorded([cost for cost in costs if cost.bound.most])
    return Cost(first.model, first.role, first.traffic, bound, total, first.currency, recorded)


def _total_recorded(costs: Sequence[Cost]) -> RecordedUse | None:
    used = [cost.recorded for cost in costs if cost.recorded is not None]
    if not used or len(used) < len(costs):
        return None
    money = [one.money for one in used if one.money is not None]
    return RecordedUse(
        " and ".join(dict.fromkeys(one.model for one in used)),
        sum(one.requests for one in used),
        sum(one.input_tokens for one in used),
        sum(one.output_tokens for one in used),
        sum(money) if len(money) == len(used) else None,
        tuple(dict.fromkeys(words for one in used for words in one.unlike)),
    )
