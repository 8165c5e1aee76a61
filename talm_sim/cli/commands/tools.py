"""`talm-sim tools list|show|check|build|licences|serve`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from talm_sim.cli.making.tool_trials import arguments_option, describe_sources, try_all, writing_option
from talm_sim.cli.parsing.lazy import WholeGroup, completer_for
from talm_sim.cli.parsing.options import OptionsCommand, parse_options
from talm_sim.cli.parsing.shared_arguments import json_option, plugin_option, print_json, print_list, sources_option, trust_option
from talm_sim.cli.terminal.text import count, one_line
from talm_sim.errors import PrerequisiteError, did_you_mean

if TYPE_CHECKING:
    from talm_sim.tasks.tool_building.maker import BuildOptions
    from talm_sim.tools_env.health import ToolHealth
    from talm_sim.types import ToolSpec

_BROADEST = 30
"""Maximum width of a name: foreign names may have 64 characters, and the columns beside them need room."""


@click.group(cls=WholeGroup)
def command() -> None:
    """The tools: list, show, check, build, licences, serve."""


@command.command("list")
@click.option("--category", metavar="NAME", shell_complete=completer_for("category"), help="Only this category.")
@sources_option
@trust_option
@plugin_option
@json_option
def list_(category: str | None, tools_from: tuple[str, ...], trust: bool, as_json: bool) -> None:
    """List the built-in tools, or those of --tools-from; unusable tools are listed with the reason."""
    specs, source_of = _describe_tools(tools_from, trust)
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
            "what": one_line(spec.description.split("\n")[0], 120),
        }
        for spec in chosen
    ]
    heads = {"name": "Tool", **({"source": "Source"} if tools_from else {"category": "Category"})}
    print_list(rows, {**heads, "parameters": "Parameters", "person": "Person", "what": "What it does"}, empty="no tool", broadest=_BROADEST)
    categories = len({spec.category for spec in chosen})
    click.echo(f"{count(len(rows), 'tool')} in {categories} {'category' if categories == 1 else 'categories'}", err=True)


@command.command("show")
@click.argument("name", shell_complete=completer_for("tool"))
@sources_option
@trust_option
@plugin_option
def show(name: str, tools_from: tuple[str, ...], trust: bool) -> None:
    """Print one tool as JSON, as a model sees it."""
    specs, _ = _describe_tools(tools_from, trust)
    if name not in specs:
        near = did_you_mean(name, specs)
        raise PrerequisiteError(f"unknown tool '{name}'.{near if near.startswith(' Did') else ' See: talm-sim tools list'}")
    print_json(specs[name].model_dump(mode="json"))


@command.command("check")
@sources_option
@trust_option
@plugin_option
@arguments_option
@writing_option
@click.option("--times", type=click.IntRange(1, 1000), default=3, show_default=True, metavar="N", help="How often to call each tool.")
@json_option
def check(tools_from: tuple[str, ...], trust: bool, arguments: Path | None, writing: bool, times: int, as_json: bool) -> int:
    """Call every tool with example arguments: does it respond, how fast, and does its answer match its schema?

    The exit code is 1 if one is down.
    """
    from talm_sim.tools_env.health import health_of
    from talm_sim.tools_env.trials import AT_ONCE, MAY_CHANGE

    tools, tried = try_all(tools_from, trust, times=times, writing=writing, arguments=arguments)
    found = [health_of(trial, tools.response_schema(trial.tool)) for trial in tried]
    if as_json:
        print_json([asdict(health) for health in found])
    else:
        _print_health(found)
    down, idle, unknown = sum(one.up is False for one in found), sum(not one.calls for one in found), sum(map(_is_unknown, found))
    said = [f"{len(found) - down - idle - unknown} up", f"{down} down"]
    said += [f"{unknown} failed with made-up arguments (give real ones with --arguments FILE)"] if unknown else []
    may_change = any(MAY_CHANGE in one.status for one in found)
    said += [f"{idle} not called{' (--writing calls what may change data)' if may_change else ''}"] if idle else []
    click.echo(f"{count(len(found), 'tool')}: {', '.join(said)}; {count(times, 'call')} of each, {AT_ONCE} tools at once", err=True)
    return 1 if down else 0


def _is_unknown(health: ToolHealth) -> bool:
    return health.up is None and health.calls > 0


def _print_health(found: Sequence[ToolHealth]) -> None:
    rows = [
        {
            "tool": one.tool,
            "source": one.source,
            "up": _format_health(one),
            "median": _milliseconds(one.median_ms),
            "p95": _milliseconds(one.p95_ms),
            "schema": {True: "fits", False: "differs", None: "–"}[one.matches],
            "status": one_line(one.status.partition(":")[0], 60),
        }
        for one in found
    ]
    from talm_sim.tools_env.trials import MAY_CHANGE

    source = {"source": "Source"} if len({one.source for one in found}) > 1 else {}
    heads = {"tool": "Tool", **source, "up": "Up", "median": "Median", "p95": "p95", "schema": "Schema", "status": "Answer"}
    print_list(rows, heads, empty="no tool", broadest=_BROADEST)
    for one in found:
        if one.up is False or _is_unknown(one) or (not one.calls and MAY_CHANGE not in one.status):
            click.echo(one_line(f"{one.tool}: {one.status}", 400))


def _milliseconds(value: float | None) -> str:
    return "–" if value is None else f"{value:,.{1 if value < 10 else 0}f} ms"


def _format_health(health: ToolHealth) -> str:
    if 0 < health.failed < health.calls:
        return f"{health.calls - health.failed} of {health.calls}"
    return "?" if _is_unknown(health) else {True: "up", False: "DOWN", None: "–"}[health.up]


class _BuildCommand(OptionsCommand):
    """A making whose source is an argument, not an option."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [one for one in super().get_params(ctx) if not (one.name == "file" and isinstance(one, click.Option))]


def _build_options(args: list[str]) -> type[BuildOptions]:
    from talm_sim.tasks.tool_building.maker import BuildOptions

    return BuildOptions


@command.command("build", cls=_BuildCommand, fields=_build_options)
@click.argument("file", metavar="DOC", type=click.Path(path_type=Path, exists=True))
@click.option("--dry-run", is_flag=True, help="Print what it may cost; build nothing.")
@json_option
def build(dry_run: bool, as_json: bool, **given: Any) -> int:
    """Have a model build tools from their documentation, and keep those that work; run it again to continue.

    DOC is the documentation of one tool, or a folder of such files. The model drafts code that sends the requests, its description and
    unit tests (Fail-TaLMs, section 3.1). The tests run in a sandbox. A tool is kept if its code runs, its tests pass within 10 s each, and
    its description matches its code; of the others you get the reason. The exit code is 1 if none is kept.
    """
    from talm_sim.cli.making.generating import making_session, print_bound, print_report
    from talm_sim.tasks.tool_building.maker import BuildOptions, ToolMaker

    maker = ToolMaker(parse_options(BuildOptions, given))
    if dry_run:
        print_bound(maker, as_json=as_json)
        return 0
    report = making_session("tools", maker)
    if as_json:
        print_json(report)
    else:
        print_report(report, maker)
    return 0 if any(one["kept"] for one in report["tools"]) and not report["sources"]["failed"] else 1


@command.command("licences")
@click.option("--category", metavar="NAME", shell_complete=completer_for("category"), help="Only this category.")
@json_option
def licences(category: str | None, as_json: bool) -> None:
    """List the packages and data behind the built-in tools, with their licences."""
    from talm_sim.world.data_sources import list_sources

    sources = list_sources()
    known = sorted({one.category for one in sources})
    if category is not None and category not in known:
        raise PrerequisiteError(f"--category: unknown category '{category}'.{did_you_mean(category, known)}")
    chosen = [one for one in sources if category in (None, one.category)]
    if as_json:
        print_json([one.model_dump(mode="json") for one in chosen])
        return
    rows = [
        {
            "category": one.category,
            "name": f"{one.name} {one.version}".rstrip(),
            "kept": "extract" if one.files else "–" if one.name == "talm-sim" else "package",
            "licence": one.licence,
            "data": one.data,
        }
        for one in chosen
    ]
    heads = {"category": "Category", "name": "Source", "kept": "Kept as", "licence": "Licence", "data": "Data"}
    print_list(rows, heads, empty="no source", broadest=_BROADEST)
    click.echo(count(len(rows), "source"), err=True)


@command.command("serve")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="Port on loopback; 0 picks a free one.")
def serve(port: int) -> None:
    """Serve the tools over HTTP on loopback until Ctrl-C."""
    from talm_sim.world.serve import serve as serve_tools

    def ready(url: str) -> None:
        click.echo(url)
        click.echo(f"OpenAPI document: {url}/openapi.json; stop with Ctrl-C", err=True)

    serve_tools(port, on_ready=ready)


def built_in_specs() -> dict[str, ToolSpec]:
    """Return the specs of the built-in tools."""
    from talm_sim.world.described import built_in_tools  # not at the top: a help page needs no service

    return dict(built_in_tools().specs)


def _describe_tools(sources: tuple[str, ...], trusted: bool) -> tuple[dict[str, ToolSpec], Callable[[str], str]]:
    """Return the tools by name, and a function that gives a tool's source; the built-in tools need not run for this."""
    if not sources:
        return built_in_specs(), lambda name: "built-in"
    tools = describe_sources(sources, trusted)
    return tools.specs, tools.source_of
