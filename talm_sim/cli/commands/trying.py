"""`talm-sim try`."""

from __future__ import annotations

from pathlib import Path

import click

from talm_sim.cli.making.tool_trials import arguments_option, writing_option
from talm_sim.cli.parsing.lazy import completer_for, exit_codes
from talm_sim.cli.parsing.shared_arguments import plugin_option, run_dir_option, sources_option, trust_option

_BAD = "something was guessed, made up or passed on, nothing was solved, the agent crashed, or a row was not tried"


@click.command(epilog=exit_codes(0, 1, 2, 130, but=_BAD))
@click.option("--agent", metavar="MODULE:OBJECT", default="", help="Your agent; by default, two example scripts are tried.")
@sources_option
@trust_option
@plugin_option
@arguments_option
@writing_option
@click.option("--model", metavar="PROVIDER/NAME", shell_complete=completer_for("model"), default="", help="Model for an agent that takes one.")
@click.option("--limit", metavar="N", type=click.IntRange(min=1), default=5, show_default=True, help="Tools to try; three of built-in ones.")
@click.option("--save", metavar="DIR", type=click.Path(path_type=Path, file_okay=False), help="Keep scenarios and a pytest file there.")
@run_dir_option
def command(
    agent: str,
    tools_from: tuple[str, ...],
    trust: bool,
    arguments: Path | None,
    writing: bool,
    model: str,
    limit: int,
    save: Path | None,
    run_dir: Path,
) -> int:
    """Try your agent on your tools: what does it do when something is missing or fails?

    Calls the tools, makes scenarios as `scenarios init` does, and plays them whole, with a fact missing, with a tool hidden, and under six
    faults. Prints one matrix: a line for each of these, a column for each kind of outcome. Scenarios that --save kept are played again as
    they are.

    The exit code is 1 if the agent made something up, passed the result of an explicit fault on, crashed without a fault, or solved none of
    at least two scenarios in which nothing is missing; or if no scenario could be made with a fact missing or a tool hidden, so that this
    was not tried, unless no tool requires an argument or the agent is a compiled graph.
    """
    if not tools_from:
        from talm_sim.world.process import start_ahead

        start_ahead()
    from talm_sim.cli.try_session import Trying, try_session
    from talm_sim.tools_env.sources.registry import BUILT_IN

    sources = () if tools_from == (BUILT_IN,) else tools_from
    return try_session(Trying(agent, sources, trust, arguments, writing, model, limit, save, run_dir))
