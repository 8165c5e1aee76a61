"""The tasks by name; a task is imported when its name is asked for."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from talm_sim.plugins import Registry

if TYPE_CHECKING:
    from talm_sim.tasks.base import Task

__all__ = ["TASKS", "find_task", "list_tasks", "register_task"]

TASKS: Registry[type[Task[Any]]] = Registry(
    "task",
    {
        "talm": "talm_sim.tasks.talm.task:TalmTask",
        "when2call": "talm_sim.tasks.when2call.task:When2CallTask",
    },
)
T = TypeVar("T", bound="type[Task[Any]]")


def register_task(task: T) -> T:
    """Make a subclass of `Task` known under its name; use it as a decorator."""
    TASKS.register(task.name, task)
    return task


def find_task(name: str) -> Task[Any]:
    """Return the task called `name`.

    Raises:
        PrerequisiteError: There is none, or its package cannot be imported.
    """
    return _the_one(TASKS.get(name))


def list_tasks() -> list[str]:
    """Names of all tasks, built-in ones first."""
    return TASKS.names()


@cache
def _the_one(kind: type[Task[Any]]) -> Task[Any]:
    return kind()
