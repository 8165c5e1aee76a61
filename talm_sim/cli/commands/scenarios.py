"""`talm-sim scenarios list|show|check`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from talm_sim.cli.arguments import json_option, print_json, print_list
from talm_sim.cli.text import count, one_line
from talm_sim.config import SPLITS
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.scenarios.load import load_scenarios

__all__ = ["command"]

file_option = click.option(
    "--scenarios", "file", type=click.Path(path_type=Path), metavar="FILE", help="JSONL file of scenarios in place of the packaged ones."
)


@click.group()
def command() -> None:
    """The scenarios: list, show, check."""


@command.command("list")
@click.option("--split", metavar="SPLIT", default="all", show_default=True, help=f"Groups to list: {', '.join(SPLITS['talm'])}.")
@file_option
@json_option
def list_(split: str, file: Path | None, as_json: bool) -> None:
    """List the scenarios of a split."""
    if split not in SPLITS["talm"]:
        raise PrerequisiteError(f"--split: unknown split '{split}'.{did_you_mean(split, SPLITS['talm'])}")
    scenarios = load_scenarios(SPLITS["talm"][split], file)
    if as_json:
        print_json([scenario.model_dump(mode="json") for scenario in scenarios])
        return
    rows = [{"id": scenario.id, "query": one_line(scenario.query)} for scenario in scenarios]
    print_list(rows, {"id": "Scenario", "query": "Query"}, empty="no scenario")
    click.echo(", ".join(f"{number} {group}" for group, number in Counter(scenario.group for scenario in scenarios).items()), err=True)


@command.command("show")
@click.argument("scenario", metavar="SCENARIO")
@file_option
def show(scenario: str, file: Path | None) -> None:
    """Print one scenario (JSON): query, tools, gold calls, facts, what is missing."""
    scenarios = {item.id: item for item in load_scenarios(SPLITS["talm"]["all"], file)}
    if scenario not in scenarios:
        near = did_you_mean(scenario, scenarios)
        raise PrerequisiteError(f"unknown scenario '{scenario}'.{near if near.startswith(' Did') else ' See: talm-sim scenarios list'}")
    print_json(scenarios[scenario].model_dump(mode="json"))


@command.command("check")
@file_option
@json_option
def check(file: Path | None, as_json: bool) -> int:
    """Prove every scenario against the live tools.

    Gold calls run and give the required facts, what was removed cannot be read from the query, masked tools are exactly the missing ones, no
    query occurs twice. Exit code 1 if something is wrong.
    """
    from talm_sim.scenarios.check import check_scenarios
    from talm_sim.tools_env.service.caller import ToolCaller
    from talm_sim.tools_env.service.process import ToolService

    scenarios = load_scenarios(SPLITS["talm"]["all"], file)
    with ToolService() as service:
        specs = service.specs()
        with ToolCaller(service.base_url, specs) as call:
            problems = check_scenarios(scenarios, specs, call)
    if as_json:
        print_json([{"scenario": problem.scenario, "what": problem.what, "mend": problem.mend} for problem in problems])
    else:
        for problem in problems:
            click.echo(one_line(str(problem), 1000))
    verdict = f"{count(len(problems), 'problem')} found" if problems else "all sound"
    click.echo(f"{count(len(scenarios), 'scenario')} checked: {verdict}", err=True)
    return 1 if problems else 0
