"""`talm-sim perturbations list|show`."""

from __future__ import annotations

from dataclasses import asdict
from inspect import getdoc
from typing import Any

import click

from talm_sim.cli.parsing.arguments import completer_for, json_option, plugin_option, print_json, print_list
from talm_sim.cli.terminal.text import count, strip_control
from talm_sim.errors import PrerequisiteError, did_you_mean

__all__ = ["command"]


@click.group()
def command() -> None:
    """The perturbations: list, show."""


@command.command("list")
@plugin_option
@json_option
def list_(as_json: bool) -> None:
    """List the faults that --perturb can inject, and where each comes from."""
    from talm_sim.tools_env.perturbations import PERTURBATIONS

    records = [_record(name) for name in PERTURBATIONS.names()]
    if as_json:
        print_json(records)
        return
    rows = [record | {"about": "; ".join(filter(None, [record["summary"], _format_own_options(record)]))} for record in records]
    foreign = {"origin": "From"} if any(record["origin"] != "built in" for record in records) else {}
    print_list(rows, {"name": "Perturbation", **foreign, "about": "What it does; its own options"}, empty="no perturbation")
    click.echo(f"{count(len(rows), 'perturbation')}; all take tool=NAME, p=CHANCE and times=N", err=True)


@command.command("show")
@click.argument("name", shell_complete=completer_for("perturb"))
@plugin_option
@json_option
def show(name: str, as_json: bool) -> None:
    """Print what a perturbation does, and its options with their defaults."""
    from talm_sim.tools_env.perturbations import PERTURBATIONS

    if name not in PERTURBATIONS:
        raise PrerequisiteError(f"unknown perturbation '{name}'.{did_you_mean(name, PERTURBATIONS.names())}")
    record = _record(name)
    if record["error"]:
        raise PrerequisiteError(record["error"])
    if as_json:
        print_json(record)
        return
    click.echo(f"{name}: {strip_control(record['summary'])} ({strip_control(record['origin'])})\n")
    click.echo(f"{strip_control(getdoc(PERTURBATIONS.get(name)) or '').strip()}\n")
    rows = [
        {
            "option": option["name"],
            "default": "(must be given)" if option["required"] else option["default"],
            "help": f"{option['help']} ({option['values']})".strip(),
        }
        for option in record["options"]
    ]
    print_list(rows, {"option": "Option", "default": "Default", "help": "What it does"}, empty="no option")
    click.echo(f"\ntalm-sim run --tools live --perturb {name}{_example(record)}")


def _record(name: str) -> dict[str, Any]:
    """Return a perturbation as JSON values; if it cannot be imported, the reason."""
    from talm_sim.tools_env.perturbations import PERTURBATIONS, PerturbationOptions, option_help

    try:
        kind = PERTURBATIONS.get(name)
    except PrerequisiteError as err:  # another package's fault must not hide the rest
        return {"name": name, "summary": str(err), "origin": PERTURBATIONS.origin(name), "options": [], "error": str(err)}
    origin = PERTURBATIONS.origin(name) or "built in"
    shared = PerturbationOptions.model_fields
    options = [asdict(option) | {"own": option.name not in shared} for option in option_help(kind.Options)]
    return {"name": name, "summary": kind.summary, "origin": origin, "options": options, "error": ""}


def _format_own_options(record: dict[str, Any]) -> str:
    return ", ".join(f"{option['name']}={option['default'] or '...'}" for option in record["options"] if option["own"])


def _example(record: dict[str, Any]) -> str:
    needed = ",".join(f"{option['name']}=..." for option in record["options"] if option["required"])
    return f":{needed}" if needed else ""
