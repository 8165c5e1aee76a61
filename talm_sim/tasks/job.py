"""From a configuration to its task's job."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.tasks.base import Job, Task
from talm_sim.tasks.registry import find_task, list_tasks
from talm_sim.types import Scenario

__all__ = ["job_of", "known_scenarios", "option_owner_message", "owner_of_option"]


def job_of(config: RunConfig, created: datetime | None = None) -> Job[Any]:
    """Let a configuration's task read it.

    Args:
        config: The configuration.
        created: When the run was created; now, where it is not yet.

    Raises:
        PrerequisiteError: There is no such task or split, or an option is unknown to it or has a wrong value; begins with the option's name.
    """
    task = find_task(config.task)
    try:
        task.groups(config.split)
    except PrerequisiteError as err:
        raise PrerequisiteError(f"split: {err}") from None
    known = [name for name in (*RunConfig.model_fields, *task.options.model_fields) if name != "options"]
    for name in config.options:
        if name not in task.options.model_fields:
            owner = owner_of_option(name, task)
            if owner:
                raise PrerequisiteError(f"{name}: {option_owner_message(owner, task)}")
            raise PrerequisiteError(f"{name}: unknown option of task {task.name}.{did_you_mean(name, known)}")
    options = task.options(**config.options)
    return Job(config, task, options) if created is None else Job(config, task, options, created)


def known_scenarios(task: Task[Any], split: str, file: Path | None = None) -> list[Scenario]:
    """The scenarios of a task as they lie in its data or in `file`; of a task without data those that a run without other options plays.

    Raises:
        PrerequisiteError: They cannot be read, or there are none.
    """
    if task.data is not None:
        return task.read(task.groups(split), file)
    return task.load(job_of(RunConfig(task=task.name, split=split, scenarios=file)))


def owner_of_option(name: str, task: Task[Any]) -> str:
    """The other task whose own option `name` is; empty where no task has it."""
    for other in list_tasks():
        try:
            if other != task.name and name in find_task(other).options.model_fields:
                return other
        except PrerequisiteError:  # a broken package must not hide what is wrong with this name
            continue
    return ""


def option_owner_message(owner: str, task: Task[Any]) -> str:
    """What a message says of an option of `owner` that was given to `task`."""
    return f"is an option of task {owner}, not of task {task.name}; leave it out, or add --task {owner}."
