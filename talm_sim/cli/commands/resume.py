"""`talm-sim resume RUN`."""

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
@config_options([Scope.OPERATIONAL], without=("run_dir", "run_id"), stored=True)
def command(run: str, run_dir: Path, **options: Any) -> int:
    """Continue a stored run.

    Finished episodes are kept; unfinished ones start again; those that waited for a person go on with the answers given meanwhile. Only how
    the run is carried out may change: what it measures is fixed.
    """
    stored = load_run(run, run_dir)
    from talm_sim.cli.session import resume_session

    return resume_session(stored, collect(options))
