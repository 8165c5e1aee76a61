"""`talm-sim run`."""

from __future__ import annotations

from typing import Any

import click

from talm_sim.cli.options import ConfigCommand, given_config

__all__ = ["command"]


@click.command(cls=ConfigCommand)
def command(**options: Any) -> int:
    """Run episodes and print the table.

    Without options: replays the shipped recording of a small real model over every group, with its recorded human; no key, no network. A
    model without a recording is run live, and that is said first.
    """
    config = given_config(options)
    from talm_sim.cli.blocks import blocks_of
    from talm_sim.cli.session import INTERRUPTED, print_result, run_controls, watching
    from talm_sim.runs.api import run

    with watching(config) as session:
        stored = run(config, on_event=session.display, ask=session.ask, command=session.command)
    if session.interrupted:
        return INTERRUPTED
    runs = [stored, *(run_controls(stored) if config.controls else ())]
    return print_result(runs, blocks_of(runs, config), config)
