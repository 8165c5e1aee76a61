"""`talm-sim judge RUN`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from talm_sim.cli.parsing.arguments import INTERRUPTED, command_line, run_argument, run_dir_option
from talm_sim.cli.parsing.options import ConfigCommand, collect
from talm_sim.config import Scope
from talm_sim.runs.stored_run import load_run

__all__ = ["command"]

_SCOPES = (Scope.SCORING, Scope.OPERATIONAL)
_WITHOUT = ("run_dir", "run_id", "tools", "max_episodes", "controls", "gate", "baseline", "junit", "summary")


@click.command(cls=ConfigCommand, scopes=_SCOPES, without=_WITHOUT, stored=True)
@run_argument
@run_dir_option
def command(run: str, run_dir: Path, **options: Any) -> int:
    """Score a stored run again.

    The episodes stay as they are. The judges given here are stored with the run, and its table uses them from now on.
    """
    stored, scoring = load_run(run, run_dir), collect(options)
    from talm_sim.cli.report.blocks import blocks_of, reading_together
    from talm_sim.cli.session import display_config, print_result, watching
    from talm_sim.runs.api import judge
    from talm_sim.runs.prices import prices_of

    talk = display_config(scoring)
    prices = prices_of(talk)
    with watching(talk, again=command_line()) as session:
        done = judge(stored.path, on_event=session.display, **scoring)
    if session.interrupted:
        return INTERRUPTED
    with reading_together([done]):
        return print_result([done], blocks_of([done], talk, prices), talk, prices, spent=session.spent, again=command_line())
