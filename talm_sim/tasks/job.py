"""From a configuration to its task's job."""

from __future__ import annotations

from typing import Any

from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.tasks.base import Job
from talm_sim.tasks.registry import find_task

__all__ = ["job_of"]


def job_of(config: RunConfig) -> Job[Any]:
    """Let a configuration's task read it.

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
            raise PrerequisiteError(f"{name}: unknown option of task {task.name}.{did_you_mean(name, known)}")
    options = task.options(**config.options)
    return Job(config, task, options)
