"""What a run that an engine plays cannot have, refused before anything is submitted."""

from __future__ import annotations

from typing import Any

from talm_sim.errors import PrerequisiteError, line_to_copy
from talm_sim.runs.engines.base import name_of
from talm_sim.runs.workers.checks import check_movable
from talm_sim.tasks import Job, PairedOptions, PersonOptions

__all__ = ["check_elsewhere"]


def check_elsewhere(job: Job[Any]) -> None:
    """See that the shards of a run can be played on other machines, each by itself.

    Raises:
        PrerequisiteError: They cannot; the message says what to change.
    """
    config, flag = job.config, f"--on {job.config.on}"
    name_of(str(config.on))
    if config.shard is not None:
        raise PrerequisiteError(f"{flag}: cuts the run into shards itself; leave out --shard {config.shard}, or leave out --on.")
    check_movable(job, flag)
    if isinstance(job.options, PersonOptions):
        from talm_sim.agent.responders import responder_kind  # not at the top: a run without --on needs none

        human = job.options.human
        if human not in ("auto", "none") and responder_kind(human).waits:
            raise PrerequisiteError(f"{flag}: --human {human} asks through one run's queue; use --shard, or another --human.")
    if getattr(job.options, "ask_limit_run", None) is not None:
        raise PrerequisiteError(f"{flag}: ask_limit_run counts the questions of a whole run; use ask_limit.")
    if isinstance(job.options, PairedOptions) and job.options.paired_run is not None:
        paired = line_to_copy("talm-sim", "judge", "RUN", "--paired-run", str(job.options.paired_run))
        raise PrerequisiteError(f"{flag}: paired_run compares whole runs; leave it out, then judge the merged run: {paired}")
