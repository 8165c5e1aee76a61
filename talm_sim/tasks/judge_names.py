"""Find which judges a run has, and in which order they work."""

from __future__ import annotations

from typing import Any

from talm_sim.judges.registry import in_order
from talm_sim.tasks.base import Job
from talm_sim.tasks.options import AgentTaskOptions


def judge_names(job: Job[Any]) -> tuple[str, ...]:
    """Return the judges of a run, in the order in which they work: those the user named, else those the task applies by itself.

    A run that asks the awareness questions alone has none.
    """
    return () if has_no_answers(job) else in_order(job.config.judge or job.task.judges(job))


def has_no_answers(job: Job[Any]) -> bool:
    """Return whether its episodes end after the awareness questions, before there is anything to judge."""
    return isinstance(job.options, AgentTaskOptions) and job.options.stop_after is not None
