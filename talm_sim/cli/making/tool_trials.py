"""Try tools at the terminal: open them, call them with a progress bar, and close them again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from talm_sim.cli.terminal.text import one_line, safe_text
from talm_sim.errors import format_names

if TYPE_CHECKING:
    from talm_sim.tools_env.toolbox import Tools
    from talm_sim.tools_env.trials import Trial
    from talm_sim.types import JsonObject

arguments_option = click.option(
    "--arguments",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help='Your own arguments, {"TOOL": {"ARGUMENT": VALUE}} in JSON; the tools named there are always called.',
)
writing_option = click.option("--writing", is_flag=True, help="Also call tools that may change data (every tool not declared read-only).")


def describe_sources(sources: tuple[str, ...], trusted: bool) -> Tools:
    """Return the tools of some sources to describe them, not to call them: the sources are closed again."""

    async def described() -> Tools:
        from talm_sim.tools_env.toolbox import open_tools

        tools = await open_tools(sources, trusted=trusted)
        await tools.aclose()
        return tools

    tools = asyncio.run(described())
    _print_skipped_tools(tools)
    return tools


def try_all(sources: tuple[str, ...], trusted: bool, *, times: int, writing: bool, arguments: Path | None) -> tuple[Tools, list[Trial]]:
    """Call every tool of some sources; return the tools, closed, and what became of the calls."""

    async def run() -> tuple[Tools, list[Trial]]:
        async with trial_tools(sources, trusted, times=times, writing=writing, arguments=arguments) as found:
            return found.tools, found.trials

    return asyncio.run(run())


@dataclass(frozen=True, slots=True)
class TrialTools:
    """Tools that were called."""

    tools: Tools
    trials: list[Trial]
    given: Mapping[str, JsonObject]


@asynccontextmanager
async def trial_tools(
    sources: tuple[str, ...], trusted: bool, *, times: int, writing: bool, arguments: Path | None
) -> AsyncIterator[TrialTools]:
    """Open some sources, call every tool, and keep the tools open."""
    from talm_sim.tools_env.toolbox import open_tools

    tools = await open_tools(sources, trusted=trusted)
    try:
        yield await call_tools(tools, times=times, writing=writing, arguments=arguments)
    finally:
        await tools.aclose()


async def call_tools(tools: Tools, *, times: int, writing: bool, arguments: Path | None, only: Collection[str] = ()) -> TrialTools:
    """Call every tool, or only those named, with a progress bar."""
    from talm_sim.cli.terminal.console import counting
    from talm_sim.tools_env.trial_arguments import read_arguments
    from talm_sim.tools_env.trials import try_tools

    _print_skipped_tools(tools)
    given = read_arguments(arguments, tools.specs) if arguments is not None else {}
    names = [name for name in tools.specs if not only or name in only]
    with counting("tools", len(names)) as advance:
        trials = await try_tools(tools, names, times=times, writing=writing, given=given, on_tried=lambda _: advance())
    return TrialTools(tools, trials, given)


def _print_skipped_tools(tools: Tools) -> None:
    """List on standard error the tools that cannot be used or executed and the patterns that are not checked, each with the reason."""
    for source, left in tools.not_taken().items():
        for one in left:
            click.echo(safe_text(one_line(f"{source}: skipped: {one.tool}: {one.reason}", 400)), err=True)
    for why, names in tools.unexecuted(tools.specs).items():
        click.echo(safe_text(one_line(f"not executed: {why}: {format_names(names, 8)}", 400)), err=True)
    for tool, pattern, why in tools.unchecked():
        click.echo(safe_text(one_line(f"{tool}: not checked: pattern {pattern[:100]}: {why}", 400)), err=True)
