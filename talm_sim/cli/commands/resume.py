"""`talm-sim resume [RUN]`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from talm_sim.cli.parsing.options import ConfigCommand, collect
from talm_sim.cli.parsing.shared_arguments import INTERRUPTED, one_run_argument, run_dir_option
from talm_sim.config import Scope
from talm_sim.store.files.manifest import find_run
from talm_sim.store.kept_shards import find_kept
from talm_sim.store.listing import unfinished_run


@click.command(cls=ConfigCommand, scopes=[Scope.OPERATIONAL], without=("run_dir", "run_id", "on"), stored=True, anew=("agent",))
@one_run_argument
@run_dir_option
@click.option(
    "--failed", default="infrastructure_error", metavar="KIND,...", help="Which failed episodes to retry, or none.", show_default=True
)
def command(run: str | None, run_dir: Path, failed: str, **options: Any) -> int:
    """Continue a stored run.

    You can leave out RUN if only one run is unfinished. Finished episodes are kept, and unfinished and failed ones start again. Episodes
    that waited for a person continue with the answers given meanwhile. You can change how the run is executed, but not what it measures.
    """
    begun, overrides = find_kept(run, run_dir) or find_run(run, run_dir) if run else unfinished_run(run_dir), collect(options)
    from talm_sim.cli.gate_output import Gating
    from talm_sim.cli.report.blocks import blocks_of, reading_together
    from talm_sim.cli.run_session import display_config, print_result, run_controls, watching
    from talm_sim.runs.api import resume
    from talm_sim.runs.prices import prices_of

    talk, gating = display_config(overrides), Gating(overrides, run_dir)
    prices = prices_of(talk)
    with watching(talk) as session:
        again = [kind for kind in failed.split(",") if kind not in ("", "none")]
        done = resume(begun, failed=again, on_event=session.display, ask=session.ask, **overrides)
    if session.interrupted:
        return INTERRUPTED
    runs = [done, *(run_controls(done) if overrides.get("controls") else ())]
    with reading_together(runs):
        blocks = blocks_of(runs, talk, prices)
        gating.check([done], as_event=talk.display == "json")
        code = print_result(runs, blocks, talk, prices, spent=session.spent) or int(done.crashed > 0)
        return gating.conclude([done], lambda: blocks, code)
