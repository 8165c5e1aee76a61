"""`talm-sim scenarios check --faults` at the terminal: try every fault on every scenario, and print a table of the ways out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from talm_sim.cli.parsing.shared_arguments import print_list
from talm_sim.cli.terminal.text import count, one_line
from talm_sim.errors import PrerequisiteError

if TYPE_CHECKING:
    from talm_sim.tasks.acting.recoveries import FaultWay
    from talm_sim.tools_env.caller import ToolCaller
    from talm_sim.types import Scenario

_HEADS = {
    "result": "Result",
    "again": "Again",
    "alternative": "Altern.",
    "read": "Read",
    "ask": "Ask",
    "none": "None",
    "not needed": "Unneeded",
    "not applicable": "N/A",
}


def try_faults(call: ToolCaller, scenarios: Sequence[Scenario], perturb: tuple[str, ...], *, writing: bool) -> list[FaultWay]:
    """Try faults on scenarios, with a progress bar; without `perturb`, every one that is registered."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from talm_sim.cli.terminal.console import stderr
    from talm_sim.tasks.acting.recoveries import default_faults, prove_ways
    from talm_sim.tools_env.perturbations import open_perturbations

    faults, left_out = (list(perturb), {}) if perturb else default_faults()
    for one in open_perturbations(faults, seed=0, episode=""):
        tool = one.options.tool
        if one.family == "model":
            raise PrerequisiteError(f"--perturb {one.spec}: strikes the model, and there is no way out through tools; leave it out.")
        if tool and tool not in call.specs:
            raise PrerequisiteError(f"--perturb {one.spec}: {call.tools.explain_unknown(tool)}")
    for name, why in left_out.items():
        click.echo(one_line(f"not tried: {name}: {why}", 400), err=True)
    console = stderr()
    bar = Progress(TextColumn("faults"), BarColumn(), MofNCompleteColumn(), console=console, transient=True, disable=not console.is_terminal)
    with bar:
        task = bar.add_task("faults", total=None)
        return call.run(
            prove_ways(
                call.tools,
                scenarios,
                faults,
                writing=writing,
                on_begin=lambda total: bar.update(task, total=total),
                on_proven=lambda _: bar.advance(task),
            )
        )


def way_records(ways: Sequence[FaultWay]) -> list[dict[str, Any]]:
    """Return one record for each scenario, fault and tool."""
    return [asdict(one) | {"way": one.way.value} for one in ways]


def print_ways(ways: Sequence[FaultWay]) -> None:
    """Print how often each way out of each fault is the first that works, and what was not tried."""
    counts: dict[str, Counter[str]] = {}
    for one in ways:
        counts.setdefault(one.fault, Counter())[one.way.value] += 1
    used = [way for way in _HEADS if any(found[way] for found in counts.values())]
    rows = [{"fault": fault, **{way: found[way] or "\u2013" for way in used}} for fault, found in counts.items()]
    print_list(rows, {"fault": "Fault", **{way: _HEADS[way] for way in used}}, empty="no fault was tried", broadest=22)
    pairs = {(one.scenario, one.tool) for one in ways}
    said = f"{count(len(counts), 'fault')} on {count(len(pairs), 'pair')} of a scenario and a tool of its gold calls: the first way that works"
    click.echo(said, err=True)
    refused = Counter(one.why for one in ways if one.why)
    for why, number in refused.most_common(5):
        click.echo(one_line(f"not tried: {count(number, 'pair')}: {why}", 400), err=True)
    if len(refused) > 5:
        click.echo(f"not tried: {count(sum(refused.values()) - sum(n for _, n in refused.most_common(5)), 'pair')} for other reasons", err=True)
