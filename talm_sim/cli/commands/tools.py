"""`talm-sim tools list|show|check|serve`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from talm_sim.cli.arguments import completed, json_option, plugin_option, print_json, print_list, sources_option, trust_option
from talm_sim.cli.text import clean, count, one_line
from talm_sim.errors import PrerequisiteError, did_you_mean

if TYPE_CHECKING:
    from talm_sim.tools_env.health import ToolHealth
    from talm_sim.tools_env.toolbox import Tools
    from talm_sim.types import ToolSpec

__all__ = ["built_in_specs", "command"]


@click.group()
def command() -> None:
    """The tools: list, show, check, serve."""


@command.command("list")
@click.option("--category", metavar="NAME", shell_complete=completed("category"), help="Only this category.")
@sources_option
@trust_option
@plugin_option
@json_option
def list_(category: str | None, tools_from: tuple[str, ...], trust: bool, as_json: bool) -> None:
    """List the built-in tools, or those of --tools-from; what could not be taken is named with its reason."""
    specs, source_of = _described(tools_from, trust)
    known = sorted({spec.category for spec in specs.values()})
    if category is not None and category not in known:
        raise PrerequisiteError(f"--category: unknown category '{category}'.{did_you_mean(category, known)}")
    chosen = sorted((spec for spec in specs.values() if category in (None, spec.category)), key=lambda spec: (spec.category, spec.name))
    if as_json:
        print_json([{**spec.model_dump(mode="json"), "source": source_of(spec.name)} for spec in chosen])
        return
    rows = [
        {
            "name": spec.name,
            "source": source_of(spec.name),
            "category": spec.category,
            "parameters": ", ".join(name if name in spec.required else f"[{name}]" for name in spec.parameters.get("properties", {})) or "–",
            "person": "yes" if spec.human_replaceable else "–",
            "what": one_line(spec.description.split("\n")[0], 160),
        }
        for spec in chosen
    ]
    heads = {"name": "Tool", **({"source": "Source"} if tools_from else {"category": "Category"})}
    print_list(rows, {**heads, "parameters": "Parameters", "person": "Person can", "what": "What it does"}, empty="no tool")
    categories = len({spec.category for spec in chosen})
    click.echo(f"{count(len(rows), 'tool')} in {categories} {'category' if categories == 1 else 'categories'}", err=True)


@command.command("show")
@click.argument("name", shell_complete=completed("tool"))
@sources_option
@trust_option
@plugin_option
def show(name: str, tools_from: tuple[str, ...], trust: bool) -> None:
    """Print one tool as a model is told of it (JSON)."""
    specs, _ = _described(tools_from, trust)
    if name not in specs:
        near = did_you_mean(name, specs)
        raise PrerequisiteError(f"unknown tool '{name}'.{near if near.startswith(' Did') else ' See: talm-sim tools list'}")
    print_json(specs[name].model_dump(mode="json"))


@command.command("check")
@sources_option
@trust_option
@plugin_option
@click.option("--times", type=click.IntRange(1, 1000), default=3, show_default=True, metavar="N", help="Calls of each tool.")
@click.option("--writing", is_flag=True, help="Call tools that may change something as well: all that are not read with GET.")
@json_option
def check(tools_from: tuple[str, ...], trust: bool, times: int, writing: bool, as_json: bool) -> int:
    """Call every tool with example arguments: is it up, how fast, does its answer fit its own schema? Exit code 1 if one is down."""
    found = asyncio.run(_checked(tools_from, trust, times, writing))
    if as_json:
        print_json([asdict(health) for health in found])
    else:
        rows = [
            {
                "tool": one.tool,
                "source": one.source,
                "up": {True: "up", False: "DOWN", None: "–"}[one.up],
                "median": "–" if one.median_ms is None else f"{one.median_ms:.1f} ms",
                "p95": "–" if one.p95_ms is None else f"{one.p95_ms:.1f} ms",
                "schema": {True: "fits", False: "differs", None: "–"}[one.matches],
                "status": one_line(one.status, 160),
            }
            for one in found
        ]
        heads = {"tool": "Tool", "source": "Source", "up": "Up", "median": "Median", "p95": "p95", "schema": "Schema", "status": "Answer"}
        print_list(rows, heads, empty="no tool")
    down, idle = (sum(one.up is state for one in found) for state in (False, None))
    more = f", {idle} not called{'' if writing else ' (--writing calls what may change something)'}" if idle else ""
    click.echo(f"{count(len(found), 'tool')}: {len(found) - down - idle} up, {down} down{more}", err=True)
    return 1 if down else 0


@command.command("serve")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="Port on loopback; 0 takes a free one.")
def serve(port: int) -> None:
    """Serve the tools over HTTP on loopback until Ctrl-C."""
    from talm_sim.tools_env.service.serve import serve as serve_tools

    def ready(url: str) -> None:
        click.echo(url)
        click.echo(f"OpenAPI document: {url}/openapi.json; stop with Ctrl-C", err=True)

    serve_tools(port, on_ready=ready)


def built_in_specs() -> dict[str, ToolSpec]:
    """Specs of the built-in tools."""
    from talm_sim.tools_env.service import app  # not at the top: a help page needs no service

    return dict(app.built_in_tools().specs)


def _described(sources: tuple[str, ...], trusted: bool) -> tuple[dict[str, ToolSpec], Callable[[str], str]]:
    """Tools by name, and what says where one comes from; the built-in ones need not run to be described."""
    if not sources:
        return built_in_specs(), lambda name: "built-in"

    async def described() -> Tools:
        from talm_sim.tools_env.toolbox import open_tools

        tools = await open_tools(sources, trusted=trusted)
        await tools.aclose()
        return tools

    tools = asyncio.run(described())
    _tell_not_taken(tools)
    return tools.specs, tools.source_of


async def _checked(sources: tuple[str, ...], trusted: bool, times: int, writing: bool) -> Sequence[ToolHealth]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from talm_sim.cli.console import stderr
    from talm_sim.tools_env.health import check_tools
    from talm_sim.tools_env.toolbox import open_tools

    tools = await open_tools(sources, trusted=trusted)
    try:
        _tell_not_taken(tools)
        columns: Any = (TextColumn("tools"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, console=stderr(), transient=True) as bar:
            task = bar.add_task("tools", total=len(tools.specs))
            return await check_tools(tools, times=times, writing=writing, on_checked=lambda _: bar.advance(task))
    finally:
        await tools.aclose()


def _tell_not_taken(tools: Tools) -> None:
    for source, left in tools.not_taken().items():
        for one in left:
            click.echo(clean(one_line(f"{source}: not taken: {one.tool}: {one.reason}", 400)), err=True)
