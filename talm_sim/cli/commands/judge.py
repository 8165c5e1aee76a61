"""`talm-sim judge RUN`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from talm_sim.cli.arguments import run_argument, run_dir_option
from talm_sim.cli.options import ConfigCommand, collect, config_options
from talm_sim.config import Scope
from talm_sim.runs.load import load_run

__all__ = ["command"]


@click.command(cls=ConfigCommand)
@run_argument
@run_dir_option
@config_options([Scope.SCORING, Scope.OPERATIONAL], without=("run_dir", "run_id", "tools", "max_episodes", "controls"), stored=True)
def command(run: str, run_dir: Path, **options: Any) -> int:
    """Score a stored run again, offline.

    The episodes stay as they are. The judges given here are kept with the run and are what its table is made of from now on.
    """
    stored = load_run(run, run_dir)
    from talm_sim.cli.session import judge_session

    return judge_session(stored, collect(options))
