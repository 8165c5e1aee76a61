"""`talm-sim perturbations list|show`."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from inspect import getdoc
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from talm_sim.cli.parsing.lazy import WholeGroup, completer_for
from talm_sim.cli.parsing.shared_arguments import json_option, plugin_option, print_json, print_list
from talm_sim.cli.terminal.console import print_page
from talm_sim.cli.terminal.screen import wrap
from talm_sim.cli.terminal.text import count, safe_text
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.foreign.error_text import error_line

if TYPE_CHECKING:
    from talm_sim.tools_env.samples import Sight

_FAMILIES = {
    "endpoint": "the endpoint fails",
    "silent": "the tool answers with wrong data",
    "drift": "the tool's interface has changed, its description has not",
    "tools": "the list of tools that the agent sees has changed",
    "model": "the answers of the agent's model are damaged",
    "": "cannot be loaded",
}


@click.group(cls=WholeGroup)
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
    columns = {"name": "Perturbation", "shown": "Is", "about": "What it does; its own options"}
    rows: list[dict[str, Any]] = []
    for family, said in _FAMILIES.items():
        if members := [record for record in records if record["family"] == family]:
            rows.append({"name": family.upper(), "shown": "", "about": said})
        rows += [record | {"shown": _nature(record), "about": _about(record)} for record in members]
    print_list(rows, columns, empty="no perturbation")
    click.echo(
        f"{count(len(records), 'perturbation')}; all take p=CHANCE and seed=N, all but those of the model tool=NAME, "
        "and those of calls call=N, times=N, after=N",
        err=True,
    )


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
    record["sees"] = _sees(record)
    if as_json:
        print_json(record)
        return
    click.echo("\n".join(wrap(safe_text(f"{name}: {record['summary']} ({record['origin']})"), 78, "", "  ")) + "\n")
    family = f"Family: {record['family']}, {_FAMILIES[record['family']]}. {_nature(record).capitalize()}: {_explain(record)}."
    injected = f"Injected: {record['injects'] or 'no value'}."
    print_page(Text(safe_text(f"{getdoc(PERTURBATIONS.get(name)) or ''}\n\n{family}\n{injected}\n").strip() + "\n"))
    rows = [
        {
            "option": option["name"],
            "default": "(must be given)" if option["required"] else option["default"],
            "help": f"{option['help']} ({option['values']})".strip(),
        }
        for option in record["options"]
    ]
    print_list(rows, {"option": "Option", "default": "Default", "help": "What it does"}, empty="no option")
    click.echo()
    _print_sight(record["sees"])
    click.echo(f"\ntalm-sim run --live --perturb {name}{_example(record)}")


def _record(name: str) -> dict[str, Any]:
    """Return a perturbation as JSON values; if it cannot be imported, the reason."""
    from talm_sim.tools_env.perturbations import PERTURBATIONS, PerturbationOptions, option_help

    try:
        kind = PERTURBATIONS.get(name)
    except PrerequisiteError as err:  # another package's fault must not hide the rest
        unknown: dict[str, Any] = {"family": "", "silent": None, "permanent": None, "injects": "", "options": []}
        return {"name": name, "summary": str(err), "origin": PERTURBATIONS.origin(name), **unknown, "error": str(err)}
    origin = PERTURBATIONS.origin(name) or "built in"
    shared = PerturbationOptions.model_fields
    options = [asdict(option) | {"own": option.name not in shared} for option in option_help(kind.Options)]
    nature = {"family": kind.family, "silent": kind.silent, "permanent": kind.permanent, "injects": kind.origin}
    return {"name": name, "summary": kind.summary, "origin": origin, **nature, "options": options, "error": ""}


def _about(record: dict[str, Any]) -> str:
    own = ", ".join(f"{option['name']}={option['default'] or '...'}" for option in record["options"] if option["own"])
    origin = "" if record["error"] or record["origin"] == "built in" else f" ({record['origin']})"
    return "; ".join(filter(None, [record["summary"], own])) + origin


def _nature(record: dict[str, Any]) -> str:
    if record["silent"] is None:
        return ""
    return f"{'silent' if record['silent'] else 'explicit'}, {'permanent' if record['permanent'] else 'transient'}"


def _explain(record: dict[str, Any]) -> str:
    silent = "nothing that the agent reads says that something is wrong" if record["silent"] else "the agent can see that something is wrong"
    return f"{silent}, and {'the same call fails again' if record['permanent'] else 'each call has a chance of its own'}"


def _sees(record: dict[str, Any]) -> dict[str, Any] | None:
    """Return what the agent sees in an example, without the fault and with it; None if an option must be given first."""
    from talm_sim.tools_env.perturbations import PERTURBATIONS, ModelPerturbation
    from talm_sim.tools_env.samples import show_effect

    kind = PERTURBATIONS.get(record["name"])
    if issubclass(kind, ModelPerturbation):
        return {"applies": bool(kind.example()), "example": [{"when": head, "what": text} for head, text in kind.example()]}
    if any(option["required"] for option in record["options"]):
        return None

    async def play() -> tuple[Sight, Sight]:
        return await show_effect(), await show_effect(record["name"])

    try:
        clean, faulty = asyncio.run(play())
    except PrerequisiteError as err:
        return {"applies": False, "error": str(err)}
    except Exception as err:  # one of a package or plugin may fail in any way, and its options are shown all the same
        return {"applies": False, "error": error_line(err, 200)}
    same = [one.model_dump() for one in clean.tools] == [one.model_dump() for one in faulty.tools]
    lists = {} if same else {"tools": _tool_lines(clean), "tools_with_fault": _tool_lines(faulty)}
    calls = {"call": clean.call, "result": clean.result, "call_with_fault": faulty.call, "result_with_fault": faulty.result}
    return {**lists, **calls, "seconds": faulty.seconds, "applies": faulty.applies}


def _tool_lines(sight: Sight) -> list[str]:
    return [f"{tool.name}({', '.join(tool.parameters.get('properties', ()))}): {tool.description}" for tool in sight.tools]


def _print_sight(sees: dict[str, Any] | None) -> None:
    """Print an example of what the agent sees."""
    if sees is None:
        return
    if not sees["applies"]:
        failed = f"The example cannot be played: {safe_text(sees['error'])}" if "error" in sees else ""
        click.echo("\n".join(wrap(failed or "The example's tools do not have what it damages.", 78, "", "  ")))
        return
    if "example" in sees:
        for row in sees["example"]:
            click.echo("\n".join(wrap(safe_text(f"{row['when']}: {row['what']}"), 78, "", "  ")))
        return
    wait = f" (after {sees['seconds']:g} s)" if sees["seconds"] else ""
    called = {"result": sees["call"], "result_with_fault": sees["call_with_fault"]}
    rows = [
        *({"when": when, "what": line} for key, when in _sides("tools") if key in sees for line in sees[key] or ["(no tool)"]),
        *({"when": when, "what": f"{called[key]}\n{sees[key]}{wait if 'fault' in key else ''}"} for key, when in _sides("result")),
    ]
    print_list(rows, {"when": "Fault", "what": "What the agent sees"}, empty="nothing")


def _sides(key: str) -> tuple[tuple[str, str], tuple[str, str]]:
    return (key, "without"), (f"{key}_with_fault", "with")


def _example(record: dict[str, Any]) -> str:
    needed = ",".join(f"{option['name']}=..." for option in record["options"] if option["required"])
    return f":{needed}" if needed else ""
