"""`talm-sim config show|list`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click

from talm_sim.cli.parsing.field_options import fields_without_flags
from talm_sim.cli.parsing.lazy import WholeGroup, completer_for
from talm_sim.cli.parsing.options import ConfigCommand, collect
from talm_sim.cli.parsing.shared_arguments import json_option, plugin_option, print_json, print_list
from talm_sim.config import Traffic


@click.group(cls=WholeGroup)
def command() -> None:
    """The options a run would use: show, list."""


@command.command("list")
@click.option("--task", default="talm", metavar="NAME", show_default=True, shell_complete=completer_for("task"), help="Its own, too.")
@plugin_option
def list_(task: str) -> None:
    """List the options that have no flag: set them in the file of --config, as TALM_SIM_<NAME>, or in Python."""
    from talm_sim.tasks import find_task

    rows = [{"name": name, "help": text} for name, text in fields_without_flags(find_task(task))]
    print_list(rows, {"name": "Option", "help": "What it does"}, empty="")


@command.command("show", cls=ConfigCommand, shown=("task", "plugin", "config"))
@json_option
def show(*, as_json: bool, **options: Any) -> None:
    """Print what `run` would do with the same options, and where each value comes from.

    It takes every option of `talm-sim run`. A value comes from the default, the --config file, an environment variable or an option, or it
    is chosen automatically from what is recorded.
    """
    from talm_sim.config import RunConfig
    from talm_sim.runs.plan import plan
    from talm_sim.runs.resolve import configure, read_config
    from talm_sim.tasks.judge_names import judge_names
    from talm_sim.tasks.shared import Shared

    given, origin = read_config(options.get("config"), **collect(options))
    flag = next((f"--{way.value}" for way in Traffic if options.get(way.value)), "")
    job, _ = plan(configure(given, {}), Shared())
    settings = job.settings()
    decided: Mapping[str, Any] = {
        "tool_format": "constrained" if job.config.constrained else "native",
        "temperature": settings.temperature,
        "max_new_tokens": settings.max_new_tokens,
        "judge": judge_names(job),
    }
    rows = []
    for name in (*RunConfig.model_fields, *type(job.options).model_fields):
        if name == "options":
            continue
        shared = name in RunConfig.model_fields
        before = getattr(given, name) if shared else given.options.get(name, type(job.options).model_fields[name].default)
        after = decided.get(name, getattr(job.config if shared else job.options, name))
        place = origin.get(name, "default")
        if place == name and flag and name in {"tools", "models"}:
            place = flag
        if _to_json_value(before) != _to_json_value(after):
            place = f"task {job.task.name}" if name in {"temperature", "max_new_tokens", "judge"} else "automatic"
        rows.append({"option": name.replace("_", "-"), "value": _to_json_value(after), "from": place})
    if as_json:
        print_json(rows)
        return
    shown = [{**row, "value": _text(row["value"])} for row in rows]
    print_list(shown, {"option": "Option", "value": "Value", "from": "From"}, empty="")


def _to_json_value(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))


def _text(value: Any) -> str:
    if value is None or value in ([], {}):
        return "–"
    if isinstance(value, dict):
        return ", ".join(f"{key}={one}" for key, one in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value).lower() if isinstance(value, bool) else str(value)
