"""What a run with worker processes cannot have, refused before anything is opened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError
from talm_sim.models.registry import in_process
from talm_sim.runs.extensions import name_extensions
from talm_sim.tasks import AgentOptions, Job
from talm_sim.tasks.answering import person_model
from talm_sim.types import Scenario

__all__ = ["AHEAD", "MOST_WORKERS", "check_movable", "check_workers", "connections_of", "modules_to_load", "names_own_code"]

MOST_WORKERS = 64
"""Processes that play one run on one machine."""


AHEAD: Final = 3
"""Episodes in flight at a worker for each one in the process that owns the run, whose loop plays as well and is slow to send the next one."""


def connections_of(config: RunConfig, number: int, *, owner_plays: bool) -> int:
    """Return how many model requests one of the processes that play a run may send at the same time, which is in proportion to its episodes.

    Args:
        config: The run's.
        number: Of the process, counted from 0.
        owner_plays: Whether the process that owns the run plays, as number 0.
    """
    workers, most = config.workers, config.max_connections
    if owner_plays:
        here = max(1, round(most / (1 + AHEAD * (workers - 1))))
        if number == 0:
            return here
        workers, most, number = workers - 1, most - here, number - 1
    return most // workers + (number < most % workers)


def names_own_code(config: RunConfig) -> bool:
    """Return whether a run names code of the user's: an agent, tools or a module to import."""
    return bool(config.plugin or config.options.get("agent") or config.options.get("tools_from"))


def check_workers(job: Job[Any]) -> None:
    """See that a run with several workers can be played by processes.

    Raises:
        PrerequisiteError: It cannot; the message says what to change.
    """
    config = job.config
    flag = f"--workers {config.workers}"
    if config.workers > MOST_WORKERS:
        raise PrerequisiteError(f"{flag}: at most {MOST_WORKERS} processes play a run on one machine.")
    check_movable(job, flag)
    for name in ("max_connections", "max_episodes"):
        if getattr(config, name) < config.workers:
            option = f"--{name.replace('_', '-')}"
            raise PrerequisiteError(f"{flag}: {option} {getattr(config, name)} leaves nothing for some of them; use fewer workers.")
    if getattr(job.options, "ask_limit_run", None) is not None:
        raise PrerequisiteError(f"{flag}: --ask-limit-run counts the questions of the whole run in one process; leave one of them out.")


def check_movable(job: Job[Any], flag: str) -> None:
    """See that other processes can load what a run needs.

    Args:
        job: The run.
        flag: The option that starts them, for messages.

    Raises:
        PrerequisiteError: They cannot; the message says what to change.
    """
    for model in filter(None, (job.config.model, person_model(job.config))):
        if in_process(model) and not model.startswith("sim/"):
            fix = "serve it and name it as openai-api/SERVICE/NAME"
            raise PrerequisiteError(f"{flag}: {model} runs in the process that uses it, so each would load it; {fix}.")
    if isinstance(job.options, AgentOptions):
        agent = getattr(job.options, "agent", None)
        if agent is not None and agent.startswith("python:"):
            fix = "put it into a module and name it: MODULE:OBJECT"
            raise PrerequisiteError(f"{flag}: agent {agent.partition(':')[2]} is known in this process alone; {fix}.")
        if any("=given:" in source for source in job.options.tools_from):
            fix = "put them into a module and name it: tools_from=['python:MODULE:OBJECT']"
            raise PrerequisiteError(f"{flag}: these tools are known in this process alone; {fix}.")


def modules_to_load(job: Job[Any], scenarios: Sequence[Scenario], judges: Iterable[str]) -> tuple[str, ...]:
    """Return the user's modules that other processes must import to play and judge a run.

    Args:
        job: The run's, final.
        scenarios: What is run.
        judges: Who judges it.

    Raises:
        PrerequisiteError: Something is defined in the script that runs, which no other process can import.
    """
    modules = [*job.config.plugin]
    for thing, origin in name_extensions(job, scenarios, judges).items():
        module = origin.removeprefix("--plugin ") if origin.startswith("--plugin ") else ""
        if module == "__main__":
            raise PrerequisiteError(f"--workers: {thing} is defined in the script that runs; put it into a module of its own and import that.")
        modules += [module] if module and module not in modules else []
    return tuple(modules)
