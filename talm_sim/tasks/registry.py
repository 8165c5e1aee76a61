"""The tasks by name; a task is imported when its name is asked for."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError
from talm_sim.plugins import Registry

if TYPE_CHECKING:
    from talm_sim.tasks.base import Task

__all__ = ["TASKS", "find_task", "list_tasks", "register_task"]

TASKS: Registry[type[Task[Any]]] = Registry(
    "task",
    {
        "talm": "talm_sim.tasks.talm.task:TalmTask",
        "when2call": "talm_sim.tasks.when2call.task:When2CallTask",
        "awareness": "talm_sim.tasks.awareness.task:AwarenessTask",
        "refusal": "talm_sim.tasks.refusal.task:RefusalTask",
    },
)
T = TypeVar("T", bound="type[Task[Any]]")


def register_task(task: T) -> T:
    """Make a subclass of `Task` known under its name; use it as a decorator.

    Raises:
        TypeError: The class is no task, or a declaration is missing or wrong.
    """
    wrong = _fault(task)
    if wrong:
        raise TypeError(f"{getattr(task, '__qualname__', task)} {wrong}")
    TASKS.register(task.name, task)
    return task


def find_task(name: str) -> Task[Any]:
    """Return the task called `name`.

    Raises:
        PrerequisiteError: There is none, its package cannot be imported, or what that offers under this name is none.
    """
    kind = TASKS.get(name)
    wrong = _fault(kind) or ("" if kind.name == name else f"calls itself '{kind.name}'")
    if wrong:
        raise PrerequisiteError(f"task '{name}' ({TASKS.origin(name) or 'registered in Python'}) {wrong}.")
    return _the_one(kind)


def list_tasks() -> list[str]:
    """Names of all tasks, built-in ones first."""
    return TASKS.names()


def _fault(kind: type[Task[Any]]) -> str:
    """What is wrong with a class that is offered as a task; empty where nothing is."""
    from talm_sim.tasks.base import Task  # not at the top: listing names needs no task

    if not (isinstance(kind, type) and issubclass(kind, Task)):
        return "is no subclass of talm_sim.Task"
    if not isinstance(getattr(kind, "name", None), str):
        return "declares no `name`"
    if "all" not in getattr(kind, "splits", {}):
        return "declares no split `all`: splits = {'all': ('GROUP', ...)}"
    twice = sorted(set(kind.options.model_fields) & set(RunConfig.model_fields))
    if twice:
        return f"has an option '{twice[0]}', which all tasks share"
    return f"lacks {', '.join(sorted(kind.__abstractmethods__))}" if kind.__abstractmethods__ else ""


@cache
def _the_one(kind: type[Task[Any]]) -> Task[Any]:
    return kind()
