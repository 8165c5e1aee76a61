"""`talm-sim doctor`."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator
from importlib import metadata
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from talm_sim.cli.commands.models import describe_addresses, provider_records
from talm_sim.cli.parsing.shared_arguments import json_option, plugin_option, print_json
from talm_sim.cli.person.typed_lines import describe_terminal
from talm_sim.cli.terminal.console import print_page, stderr
from talm_sim.errors import PrerequisiteError
from talm_sim.store.extensions import list_installed
from talm_sim.tasks.registry import list_tasks
from talm_sim.tools_env.sources.sandbox import explain_no_sandbox
from talm_sim.tools_env.sources.sandbox_walls import network_files
from talm_sim.version import __version__

_REQUIRED = ("langgraph", "langgraph-checkpoint-sqlite", "langchain-core", "openai", "anthropic", "httpx2", "requests", "vcrpy", "fastapi")
_OPTIONAL = {
    "pandas": "load_run(...).to_pandas()",
    "mcp": "--tools-from mcp:PROGRAM",
    "pytest": "tests of your agent, with the fixture talm",
    "langchain-openai": "langchain/ models over OpenAI",
    "wordllama": "scenarios generate --task awareness",
    "ray": "run --on ray",
    "trl": "train",
    "peft": "-M lora=DIR",
    "bfcl-eval": "run --task refusal --subset",
}


@click.command()
@plugin_option
@json_option
def command(as_json: bool) -> int:
    """Show what is installed and what a live run would need.

    Credentials are reported as set or not set, and never shown. The exit code is 1 if something that the package itself needs is broken.
    """
    report = _examine()
    if as_json:
        print_json(report)
    else:
        _print(report)
    return 1 if report["problems"] else 0


def _examine() -> dict[str, Any]:
    """Look at everything; nothing is contacted."""
    problems: list[str] = []
    packages = {name: _version(name) for name in _REQUIRED}
    problems += [f"package {name} is not installed: pip install talm-sim" for name, found in packages.items() if found is None]
    tools = _try(_tools, problems) or {"tools": 0, "categories": 0}
    scenarios = _try(_scenarios, problems) or {}
    recordings = _try(_recordings, problems)
    extensions = list_installed()
    problems += [one["problem"] for one in extensions if one["problem"]]
    if not recordings and recordings is not None:
        problems.append("the package's recordings are missing: runs will be live")
    return {
        "talm-sim": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": packages,
        "optional": {name: _version(name) for name in _OPTIONAL},
        "tools": tools,
        "sandbox": explain_no_sandbox() or "works",
        "sandbox_network_files": network_files(),
        "terminal": describe_terminal(stderr()),
        "scenarios": scenarios,
        "recordings": recordings or [],
        "tasks": list_tasks(),
        "extensions": extensions,
        "providers": provider_records(),
        "wrong_addresses": _wrong_addresses(),
        "problems": problems,
    }


def _try(look: Callable[[], Any], problems: list[str]) -> Any:
    """Return what `look` finds; if it fails, note the problem and return None."""
    try:
        return look()
    except (PrerequisiteError, ImportError, OSError) as err:
        problems.append(str(err))
        return None


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _tools() -> dict[str, int]:
    from talm_sim.cli.commands.tools import built_in_specs

    specs = built_in_specs()
    return {"tools": len(specs), "categories": len({spec.category for spec in specs.values()})}


def _scenarios() -> dict[str, int]:
    from talm_sim.config import RunConfig
    from talm_sim.tasks import find_task

    task = find_task(str(RunConfig.model_fields["task"].default))
    return {group: len(task.read((group,))) for group in task.splits["all"]}


def _recordings() -> list[dict[str, Any]]:
    from talm_sim.recordings import CassetteLibrary

    return [item.model_dump() for item in CassetteLibrary().describe()]


def _wrong_addresses() -> list[str]:
    """Say of each address of model servers that is set why it cannot be used."""
    from talm_sim.models.request import server_urls

    wrong: list[str] = []
    for name, value in sorted(os.environ.items()):
        if name.endswith("_BASE_URL") and value.strip():
            try:
                server_urls(name, value)
            except PrerequisiteError as err:
                wrong.append(str(err))
    return wrong


def _print(report: dict[str, Any]) -> None:
    facts = _grid()
    facts.add_row("talm-sim", f"{report['talm-sim']} on Python {report['python']}, {report['platform']}")
    facts.add_row("packages", ", ".join(f"{name} {found}" for name, found in report["packages"].items() if found))
    optional = (f"{name} {found or 'not installed'} (for {_OPTIONAL[name]})" for name, found in report["optional"].items())
    facts.add_row("optional", "\n".join(optional))
    facts.add_row("tools", f"{report['tools']['tools']} in {report['tools']['categories']} categories")
    sandbox = report["sandbox"]
    seen = f"; with network=on it also sees {', '.join(report['sandbox_network_files']) or 'no file to resolve names with'}"
    not_there = f"not available, so code of tool folders is not run: {sandbox}"
    facts.add_row("sandbox", f"works (for --trust){seen}" if sandbox == "works" else not_there)
    facts.add_row("terminal", report["terminal"])
    facts.add_row("scenarios", ", ".join(f"{number} {group}" for group, number in report["scenarios"].items()))
    facts.add_row("tasks", ", ".join(report["tasks"]))
    brought = [f"{one['kind']} {one['name']} ({one['origin']})" for one in report["extensions"]]
    facts.add_row("extensions", "\n".join(brought) or "none; add your own with --plugin MODULE or as a package")
    facts.add_row("recordings", "\n".join(_recording_lines(report["recordings"])) or "none")
    print_page(facts)
    print_page(Text("\nNeeded for a live run", style="bold"))
    needs = _grid()
    for provider in report["providers"]:
        absent = " and ".join(provider["not_installed"])
        wanted = [*provider["needs"], *([f"{absent}, not installed"] if absent else [])]
        names = " and ".join(wanted) or "nothing"
        addresses = describe_addresses(provider["found"], provider["servers"])
        there = f"set{' for' if provider['found'] else ','} {addresses}" if addresses else "set"
        state = f": {there if provider['ready'] else 'not set'}" if provider["needs"] else ""
        needs.add_row(provider["form"], Text(names + state, style="" if provider["ready"] else "yellow"))
    print_page(needs)
    for line in report["wrong_addresses"]:
        print_page(Text(f"cannot be used: {line}", style="yellow"))
    for problem in report["problems"]:
        print_page(Text(f"problem: {problem}", style="bold red"))


def _grid() -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    return grid


def _recording_lines(recordings: list[dict[str, Any]]) -> Iterator[str]:
    models: dict[str, list[dict[str, Any]]] = {}
    for item in recordings:
        models.setdefault(item["model"], []).append(item)
    for model, items in models.items():
        yield f"{model}: {', '.join(item['group'] for item in items)} ({sum(item['bytes'] for item in items) / 1e6:.1f} MB)"
