"""The options and the table of `report --power`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from talm_sim.cli.parsing.shared_arguments import print_csv, print_json, print_list
from talm_sim.cli.terminal.screen import wrap
from talm_sim.comparison.run_power import Power, power
from talm_sim.store.stored_run import StoredRun
from talm_sim.types.written_figures import DASH, decimal

_COLUMNS = {
    "run": "Run",
    "group": "Group",
    "n": "n",
    "share": "Here",
    "worse": "Worse",
    "drop": "Drop",
    "discordance": "Differ",
    "power": "Power",
    "n_for_power_80": "n for .8",
}
_SOURCES = {
    "own epochs": "from pairs of this run's own epochs",
    "independent runs": "as for independent runs, because there is one epoch",
}


def power_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command; it gets them as `power`, `n` and `drop`."""
    for option in (
        click.option("--drop", type=float, metavar="X", help="With --power: how far the other run is worse, as a share."),
        click.option("--n", type=int, metavar="N", help="With --power: the number of scenarios, in place of the run's own."),
        click.option("--power", metavar="MEASURE", help="Print the chance of detecting a run that is worse in this measure."),
    ):
        command = option(command)
    return command


def print_power(runs: Sequence[StoredRun], measure: str, *, n: int | None, drop: float | None, as_json: bool, as_csv: bool) -> None:
    """Print what the runs can tell apart; see `talm_sim.comparison.run_power.power`."""
    found = [one for run in runs for one in power(run, measure, n=n, drop=drop)]
    if as_json or as_csv:
        (print_json if as_json else print_csv)([one.model_dump(mode="json") for one in found])
        return
    for line in wrap(f"{measure}: power of McNemar's exact test (two-sided, .05) to find a worse run, one epoch of each", 77):
        click.echo(line)
    columns = {key: head for key, head in _COLUMNS.items() if key != "run" or len(runs) > 1}
    print_list([_cells(one) for one in found], columns, empty="no group has a value")
    for note in _notes(found):
        for line in wrap(note, 77, "  ", "    "):
            click.echo(line)


def _cells(one: Power) -> dict[str, str]:
    shares = {name: decimal(getattr(one, name)) for name in ("share", "worse", "drop", "discordance", "power")}
    needed = DASH if one.n_for_power_80 is None else f"{one.n_for_power_80:,}"
    return {"run": one.run, "group": one.group, "n": f"{one.n:,}", **shares, "n_for_power_80": needed}


def _notes(found: Sequence[Power]) -> list[str]:
    notes = []
    for source, words in _SOURCES.items():
        groups = dict.fromkeys(one.group for one in found if one.discordance_of == source)
        which = "" if len(groups) == len({one.group for one in found}) else f" ({', '.join(groups)})"
        if groups:
            notes.append(f"Differ{which}: share of the scenarios in which the two runs differ, {words}")
    if any(one.drop is None for one in found):
        notes.append(f"{DASH}: it cannot get worse by so much, or no drop is found with a power of .8")
    return [*notes, "n for .8: the number of scenarios that gives a power of .8 for this drop"]
