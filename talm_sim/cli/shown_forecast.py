"""Print the forecast of --dry-run: the requests and the cost of a run or a grid. Also ask before a very large run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click

from talm_sim.cli.parsing.shared_arguments import confirm, print_csv, print_json, print_list
from talm_sim.cli.terminal.screen import wrap
from talm_sim.cli.terminal.text import count, safe_text
from talm_sim.config import RunConfig
from talm_sim.runs.ablation.grid import cell_label, table_values
from talm_sim.runs.ablation.grid_forecast import CellForecast, total_costs
from talm_sim.runs.forecast import Cost, Forecast, episodes_of, forecast
from talm_sim.runs.plan import MANY
from talm_sim.runs.prices import Price

_EPOCHS = 20
"""Up to this many epochs, no set of scenarios in use makes a very large run."""
_SENT = frozenset({"live", "record"})
"""How a model is reached that reads and writes tokens anew."""
_REACHED = {"here": "in this process", "replay": "replayed", "record": "live, recorded", "live": "live"}


def print_forecast(config: RunConfig, prices: Mapping[str, Price] | None) -> int:
    """Print what a run would ask and cost; with display `json`, as one object."""
    found = forecast(config, prices)
    if config.display == "json":
        how = {"tools": found.job.config.tools, "human": getattr(found.job.options, "human", None)}
        print_json(
            {
                "task": found.job.task.name,
                **how,
                "groups": dict(found.groups),
                "epochs": config.epochs,
                "episodes": found.episodes,
                "models": _cost_records(found.costs),
            }
        )
        return 0
    print_list(
        [{"group": group, "scenarios": f"{number:,}", "episodes": f"{number * config.epochs:,}"} for group, number in found.groups.items()],
        {"group": "Group", "scenarios": "Scenarios", "episodes": "Episodes"},
        empty="no scenario",
    )
    click.echo()
    for line in _lines(found, priced=prices is not None):
        click.echo(safe_text(line))
    _print_limits([found])
    return 0


def print_grid_forecast(cells: Sequence[CellForecast], *, priced: bool, form: str) -> int:
    """Print what the cells of an ablation would ask and cost, each and together."""
    total, episodes = total_costs(cells), sum(cell.episodes for cell in cells)
    if form == "csv":
        print_csv([record for cell in cells for record in _flat_records(cell)])
        return 0
    if form == "json":
        named = ({**table_values(cell.values), "run": cell.run, "state": cell.state, "episodes": cell.episodes} for cell in cells)
        records = [{**record, "models": _cost_records(cell.costs)} for record, cell in zip(named, cells, strict=True)]
        print_json({"cells": records, "episodes": episodes, "models": _cost_records(total)})
        return 0
    heads = {"cell": "Cell", "state": "State", "episodes": "Episodes", "requests": "Requests"}
    if any(cost.traffic in _SENT for cost in total):
        heads |= {"read": "Tokens in", "written": "Out"} | ({"cost": "Cost"} if priced else {})
    print_list([_cell_row(cell) for cell in cells], heads, empty="no cell", broadest=26)
    click.echo()
    click.echo(f"{count(len(cells), 'cell')} together: {count(episodes, 'episode')} to run")
    for line in _cost_lines(total, priced=priced):
        click.echo(safe_text(line))
    _print_limits([cell.forecast for cell in cells if cell.forecast is not None])
    return 0


def _print_limits(forecasts: Iterable[Forecast]) -> None:
    """Say what the figures leave out."""
    own = any(getattr(one.job.options, "agent", None) for one in forecasts)
    more = "retries and what your agent adds to its prompts are" if own else "retries are"
    click.echo(f"nothing was run. Upper bounds: every turn used and every tool result at its maximum length; {more} extra", err=True)


def _cost_records(costs: Iterable[Cost]) -> list[dict[str, Any]]:
    return [{**asdict(cost), "bound": {key: value for key, value in asdict(cost.bound).items() if key != "last"}} for cost in costs]


def _flat_records(cell: CellForecast) -> Iterator[dict[str, Any]]:
    """Return one flat record per model of a cell; one without a model if nothing is asked."""
    named = {**table_values(cell.values), "run": cell.run, "state": cell.state, "episodes": cell.episodes}
    for cost in cell.costs or (None,):
        bound = cost and cost.bound
        yield named | {
            "role": cost and cost.role,
            "model": cost and cost.model,
            "traffic": cost and cost.traffic,
            "requests_least": bound and bound.least,
            "requests_most": bound and bound.most,
            "input_tokens": bound and bound.input_tokens,
            "output_tokens": bound and bound.output_tokens,
            "money": cost and cost.money,
            "currency": cost and cost.currency,
        }


def _cell_row(cell: CellForecast) -> dict[str, str]:
    """Return a line of the table of cells, all models of a cell together; an own agent's requests are not known."""
    costs = cell.costs
    sent = [cost.bound for cost in costs if cost.traffic in _SENT]
    row = {
        "requests": f"{sum(cost.bound.least for cost in costs):,}-{sum(cost.bound.most for cost in costs):,}",
        "read": f"{sum(one.input_tokens for one in sent):,}",
        "written": f"{sum(one.output_tokens for one in sent):,}",
        "cost": f"{sum(cost.money for cost in costs if cost.money is not None):,.2f}",
    }
    unknown = dict.fromkeys(row, "?") if any(cost.traffic == "own" for cost in costs) else {}
    return {"cell": cell_label(cell.values), "state": cell.state, "episodes": f"{cell.episodes:,}", **row, **unknown}


def _lines(found: Forecast, *, priced: bool) -> list[str]:
    job = found.job
    human = getattr(job.options, "human", None)
    how = [f"tools {job.config.tools}" if job.config.tools else "", f"human {human}" if human else ""]
    lines = [", ".join(filter(None, [f"task {job.task.name}: {count(found.episodes, 'episode')}", *how]))]
    return [*lines, *_cost_lines(found.costs, priced=priced)]


def _cost_lines(costs: Iterable[Cost], *, priced: bool) -> Iterator[str]:
    for cost in costs:
        bound = cost.bound
        if cost.traffic == "own":
            yield f"{cost.role} {cost.model}: its own requests to a model are live and cannot be predicted"
            continue
        yield f"{cost.role} {cost.model}, {_REACHED[cost.traffic]}: {bound.least:,} to {bound.most:,} requests"
        if cost.traffic in _SENT:
            yield f"  at most {bound.input_tokens:,} tokens in, {bound.output_tokens:,} out{_price(cost.money, cost) if priced else ''}"
            yield from _recorded_use(cost)


def _recorded_use(cost: Cost) -> Iterator[str]:
    """Say what a recording of the same scenarios used."""
    if (spent := cost.recorded) is not None:
        took = f"{count(spent.requests, 'request')}, {spent.input_tokens:,} tokens in, {spent.output_tokens:,} out{_price(spent.money, cost)}"
        made = ", ".join((spent.model, *spent.unlike))
        yield from wrap(f"in the recording of {made}, the same scenarios used {took}", 77, "  ", "    ")


def _price(money: float | None, cost: Cost) -> str:
    return "" if money is None else f": {money:,.2f} {cost.currency}".rstrip() + " at the given prices"


def check_size(config: RunConfig) -> None:
    """Ask before a run of very many episodes without a budget starts; if there is nobody to ask, refuse it."""
    if config.budget or config.epochs <= _EPOCHS:
        return
    episodes = episodes_of(config)
    if episodes > MANY:
        confirm(f"--epochs {config.epochs}: this run has {episodes:,} episodes; continue?", yes=False, instead="a --budget")
