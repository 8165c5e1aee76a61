"""`talm-sim run`."""

from __future__ import annotations

from typing import Any

import click

from talm_sim.cli.parsing.lazy import exit_codes
from talm_sim.cli.parsing.options import ConfigCommand, parse_config


@click.command(cls=ConfigCommand, epilog=exit_codes())
@click.option("--dry-run", is_flag=True, help="Print the request count and cost; run nothing.")
def command(*, dry_run: bool, **options: Any) -> int:
    """Run episodes and print what they came to; without options it replays a recording, with no key."""
    config = parse_config(options)
    from talm_sim.cli.gate_output import Gating
    from talm_sim.cli.shown_forecast import check_size, print_forecast
    from talm_sim.runs.prices import prices_of

    prices = prices_of(config)  # before anything is done, so that a mistake in a file costs no run
    gating = Gating(config.model_dump(), config.run_dir)
    gating.check_plan(config)
    if dry_run:
        return print_forecast(config, prices)
    check_size(config)
    from talm_sim.cli.parsing.shared_arguments import INTERRUPTED
    from talm_sim.cli.report.blocks import blocks_of, reading_together
    from talm_sim.cli.run_session import print_result, run_controls, watching
    from talm_sim.runs.api import run

    with watching(config) as session:
        stored = run(config, on_event=session.display, ask=session.ask, command=session.command, large=True)
    if session.interrupted:
        return INTERRUPTED
    runs = [stored, *(run_controls(stored) if config.controls else ())]
    with reading_together(runs):
        blocks = blocks_of(runs, config, prices)
        gating.check([stored], as_event=config.display == "json")
        code = print_result(runs, blocks, config, prices, spent=session.spent) or int(stored.crashed > 0)
        return gating.conclude([stored], lambda: blocks, code)
