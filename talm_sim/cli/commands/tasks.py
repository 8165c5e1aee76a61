"""`talm-sim tasks list|show`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import getdoc
from typing import Any

import click

from talm_sim.cli.parsing.field_options import option_of
from talm_sim.cli.parsing.lazy import WholeGroup, completer_for
from talm_sim.cli.parsing.shared_arguments import json_option, plugin_option, print_json, print_list
from talm_sim.cli.terminal.text import count, safe_text
from talm_sim.config import has_flag, scope_of
from talm_sim.errors import PrerequisiteError
from talm_sim.models.control_names import ABOUT
from talm_sim.tasks.registry import TASKS, find_task, list_tasks


@click.group(cls=WholeGroup)
def command() -> None:
    """The tasks: list, show."""


@command.command("list")
@plugin_option
@json_option
def list_(as_json: bool) -> None:
    """List the tasks for --task, and where each comes from."""
    records = [_record(name) for name in list_tasks()]
    if as_json:
        print_json(records)
        return
    foreign = {"origin": "From"} if any(record["origin"] != "built in" for record in records) else {}
    print_list(records, {"name": "Task", **foreign, "about": "What it asks"}, empty="no task")
    click.echo(f"{count(len(records), 'task')}; more of one: talm-sim tasks show TASK", err=True)


@command.command("show")
@click.argument("name", metavar="TASK", shell_complete=completer_for("task"))
@plugin_option
@json_option
def show(name: str, as_json: bool) -> None:
    """Print a task: what it measures, its splits, options, judges and defaults."""
    find_task(name)
    record = _record(name)
    if as_json:
        print_json(record)
        return
    click.echo(f"{safe_text(name)}: {safe_text(record['about'])} ({safe_text(record['origin'])})\n")
    click.echo(f"{safe_text(record['doc']).strip()}\n")
    rows = [{"split": split, "groups": _about_split(groups, record["groups"])} for split, groups in record["splits"].items()]
    print_list(rows, {"split": "Split", "groups": "What its scenarios are"}, empty="no split")
    click.echo()
    controls = [{"name": f"sim/{one}", "about": ABOUT.get(one, "")} for one in record["controls"]]
    print_list(controls, {"name": "Control", "about": "What this script does"}, empty="no control")
    click.echo()
    options = [option | {"shown": f"{option['help']} ({option['scope']})"} for option in record["options"]]
    print_list(options, {"flag": "Option", "default": "Default", "shown": "What it does"}, empty="no options of its own")
    click.echo(f"\njudges made for it: {', '.join(record['judges']) or 'none'}")
    if record["exporters"]:
        click.echo(f"its runs can be exported with: {', '.join(f'talm-sim export {one}' for one in record['exporters'])}")
    click.echo("defaults: " + ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in record["defaults"].items()))
    click.echo(f"\ntalm-sim run --task {name} --help")


def _about_split(groups: Sequence[str], about: Mapping[str, str]) -> str:
    return about.get(groups[0], groups[0]) if len(groups) == 1 else f"all of {', '.join(groups)}"


def _record(name: str) -> dict[str, Any]:
    """Return a task as JSON values; if it cannot be imported, the reason."""
    try:
        task = find_task(name)
    except PrerequisiteError as err:  # another package's fault must not hide the rest
        return {"name": name, "about": str(err), "origin": TASKS.origin(name)}
    options = []
    for field in task.options.model_fields:
        made = option_of(task.options, field)
        scope = scope_of(task.options, field).value
        options.append(
            {
                "flag": made.opts[-1] if has_flag(task.options, field) else field,
                "default": made.shown_default,
                "scope": scope,
                "help": made.help,
            }
        )
    return {
        "name": name,
        "about": task.about,
        "origin": TASKS.origin(name) or "built in",
        "doc": getdoc(type(task)) or "",
        "groups": dict(task.about_groups),
        "controls": list(task.controls),
        "splits": {split: list(groups) for split, groups in task.splits.items()},
        "options": options,
        "judges": list(task.own_judges),
        "exporters": list(task.exporters),
        "defaults": dict(task.defaults),
    }
