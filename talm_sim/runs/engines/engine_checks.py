"""Refuse what a run that an engine plays cannot have, before anything is submitted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from talm_sim.errors import PrerequisiteError, line_to_copy
from talm_sim.models.registry import in_process
from talm_sim.runs.engines.base import read_on
from talm_sim.store.extensions import name_extensions
from talm_sim.tasks import AgentOptions, Job, PairedOptions, PersonOptions
from talm_sim.tasks.acting.person_model import person_model
from talm_sim.types import Scenario


def check_elsewhere(job: Job[Any]) -> None:
    """See that the shards of a run can be played in other processes, each by itself."""
    config, flag = job.config, f"--on {job.config.on}"
    read_on(str(config.on))
    if config.shard is not None:
        raise PrerequisiteError(f"{flag}: cuts the run into shards itself; leave out --shard {config.shard}, or leave out --on.")
    _check_movable(job, flag)
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


def _check_movable(job: Job[Any], flag: str) -> None:
    """See that other processes can load what a run needs; `flag` is the option that starts them."""
    for model in filter(None, (job.config.model, person_model(job.config))):
        if in_process(model) and not model.startswith("sim/"):
            fix = "serve it and name it as openai-api/SERVICE/NAME"
            raise PrerequisiteError(f"{flag}: {model} runs in the process that uses it, so each would load it; {fix}.")
    if isinstance(job.options, AgentOptions):
        if (agent := getattr(job.options, "agent", None)) is not None and agent.startswith("python:"):
            fix = "put it into a module and name it: MODULE:OBJECT"
            raise PrerequisiteError(f"{flag}: agent {agent.partition(':')[2]} is known in this process alone; {fix}.")
        if any("=given:" in source for source in job.options.tools_from):
            fix = "put them into a module and name it: tools_from=['python:MODULE:OBJECT']"
            raise PrerequisiteError(f"{flag}: these tools are known in this process alone; {fix}.")


def modules_to_load(job: Job[Any], scenarios: Sequence[Scenario], judges: Iterable[str]) -> tuple[str, ...]:
    """Return the user's modules that other processes must import to play and judge a run."""
    modules = [*job.config.plugin]
    for thing, origin in name_extensions(job, scenarios, judges).items():
        module = origin.removeprefix("--plugin ") if origin.startswith("--plugin ") else ""
        if module == "__main__":
            raise PrerequisiteError(f"--on {job.config.on}: {thing} is defined in the script that runs; put it into a module and import that.")
        modules += [module] if module and module not in modules else []
    return tuple(modules)
