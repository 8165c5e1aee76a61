"""The forecast of --dry-run: what a run would ask and cost. Also the question before a very large run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict

import click

from talm_sim.cli.parsing.arguments import confirm, print_json, print_list
from talm_sim.cli.terminal.screen import wrap
from talm_sim.cli.terminal.text import count, strip_control
from talm_sim.config import RunConfig
from talm_sim.runs.api import MANY
from talm_sim.runs.forecast import Cost, Forecast, episodes_of, forecast
from talm_sim.runs.prices import Price

__all__ = ["check_size", "print_forecast"]

_EPOCHS = 20
"""Up to this many epochs, no set of scenarios in use makes a very large run."""
_REACHED = {"here": "in this process", "replay": "replayed", "record": "live, recorded", "live": "live"}


def print_forecast(config: RunConfig, prices: Mapping[str, Price] | None) -> int:
    """Print what a run would ask and cost; with display `json`, as one object."""
    found = forecast(config, prices)
    if config.display == "json":
        costs = [{**asdict(cost), "bound": {key: value for key, value in asdict(cost.bound).items() if key != "last"}} for cost in found.costs]
        how = {"tools": found.job.config.tools, "human": getattr(found.job.options, "human", None)}
        print_json(
            {
                "task": found.job.task.name,
                **how,
                "groups": dict(found.groups),
                "epochs": config.epochs,
                "episodes": found.episodes,
                "models": costs,
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
        click.echo(strip_control(line))
    more = "retries and what your agent adds to its prompts are" if getattr(found.job.options, "agent", None) else "retries are"
    click.echo(f"nothing was run. Upper bounds: every turn used and every tool result at its maximum length; {more} extra", err=True)
    return 0


def _lines(found: Forecast, *, priced: bool) -> list[str]:
    job = found.job
    human = getattr(job.options, "human", None)
    how = [f"tools {job.config.tools}" if job.config.tools else "", f"human {human}" if human else ""]
    lines = [", ".join(filter(None, [f"task {job.task.name}: {count(found.episodes, 'episode')}", *how]))]
    for cost in found.costs:
        bound = cost.bound
        if cost.traffic == "own":
            lines.append(f"{cost.role} {cost.model}: its own requests to a model are live and cannot be predicted")
            continue
        lines.append(f"{cost.role} {cost.model}, {_REACHED[cost.traffic]}: {bound.least:,} to {bound.most:,} requests")
        if cost.traffic in {"live", "record"}:
            lines.append(f"  at most {bound.input_tokens:,} tokens in, {bound.output_tokens:,} out{_price(cost.money, cost) if priced else ''}")
            lines += _recorded_use(cost)
    return lines


def _recorded_use(cost: Cost) -> Iterator[str]:
    """Say what a recording of the same scenarios used."""
    spent = cost.recorded
    if spent is not None:
        took = f"{count(spent.requests, 'request')}, {spent.input_tokens:,} tokens in, {spent.output_tokens:,} out{_price(spent.money, cost)}"
        made = ", ".join((spent.model, *spent.unlike))
        yield from wrap(f"in the recording of {made}, the same scenarios used {took}", 77, "  ", "    ")


def _price(money: float | None, cost: Cost) -> str:
    return "" if money is None else f": {money:,.2f} {cost.currency}".rstrip() + " at the given prices"


def check_size(config: RunConfig, yes: bool) -> None:
    """Ask before a run of very many episodes starts; if there is nobody to ask, refuse it.

    Raises:
        PrerequisiteError: Nobody is there to ask, and `--yes` was not given.
        click.Abort: The answer is no.
    """
    if yes or config.epochs <= _EPOCHS:
        return
    episodes = episodes_of(config)
    if episodes > MANY:
        confirm(f"--epochs {config.epochs}: this run has {episodes:,} episodes; continue?", yes)
