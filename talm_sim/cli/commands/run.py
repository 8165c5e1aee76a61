"""`talm-sim run`."""

from __future__ import annotations

from typing import Any

import click

from talm_sim.cli.options import ConfigCommand, config_options, load_config

__all__ = ["command"]


@click.command(cls=ConfigCommand)
@config_options()
def command(**options: Any) -> int:
    """Run episodes and print the table.

    With no option at all this replays the shipped recording of a small real model over every group, with its recorded human: no key, no
    network. A model without a recording is run live, and that is said first.
    """
    config = load_config(options)
    from talm_sim.cli.session import run_session

    return run_session(config)
