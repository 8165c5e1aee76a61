"""Find tasks and their makers by name; a task is imported when its name is asked for, or when a line is no scenario."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.foreign.plugins import Registry, load_named
from talm_sim.judges.registry import JUDGES
from talm_sim.scenarios.load import read_scenario
from talm_sim.tasks.base import Job, Task
from talm_sim.types import Scenario

if TYPE_CHECKING:
    from pathlib import Path

    from talm_sim.scenarios.making.review import Reviewer
    from talm_sim.tasks.base import Exporter, Task
    from talm_sim.tasks.makers import Maker
    from talm_sim.training.lessons.lesson import Lessons


def read_line(line: Any, where: str, task: str) -> Scenario:
    """Read a line as a scenario of `task`.

    Raises:
        PrerequisiteError: It is not a scenario; the message names `where` and the field, or the task whose published rows it belongs to.
    """
    try:
        return read_scenario(line, where, task)
    except PrerequisiteError:
        claims = (other.claim(line, task) for other in every_task()) if _is_row(line) else ()
        if not (claim := next(filter(None, claims), "")):
            raise
        raise PrerequisiteError(f"{where}: {claim}") from None


def _is_row(line: Any) -> bool:
    """Return whether a line may be a published row: it lacks what every scenario has."""
    return isinstance(line, dict) and "turns" not in line and not {"id", "group"} <= line.keys()


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
    if wrong := _fault(task):
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
    for judge, made in kind.judge_classes.items():
        if judge not in JUDGES:
            JUDGES.register(judge, made, kind.__module__)
    return _instance_of(kind)


def list_tasks() -> list[str]:
    """Return the names of all tasks, built-in ones first."""
    return TASKS.names()


def every_task() -> Iterator[Task[Any]]:
    """Yield all tasks but those whose package cannot be imported; their judges are registered afterwards."""
    for name in list_tasks():
        with contextlib.suppress(PrerequisiteError):
            yield find_task(name)


def find_maker(task: str) -> type[Maker[Any, Any, Any]]:
    """Return what makes scenarios of a task.

    Raises:
        PrerequisiteError: There is no such task, nothing makes scenarios of it, or its maker cannot be imported.
    """
    if (maker := find_task(task).maker) is None:
        raise PrerequisiteError(f"--task {task}: nothing makes scenarios of it; choose {' or '.join(list_makers())}.")
    return load_named(maker, f"maker of task '{task}'")


def find_lessons(task: str) -> type[Lessons]:
    """Return what a task can teach.

    Raises:
        PrerequisiteError: There is no such task, it teaches nothing, or its lessons cannot be imported.
    """
    if (lessons := find_task(task).lessons) is None:
        able = " or ".join(one.name for one in every_task() if one.lessons is not None)
        raise PrerequisiteError(f"task {task}: no training rows can be made from it; choose {able}.")
    return load_named(lessons, f"lessons of task '{task}'")


def list_makers() -> list[str]:
    """Return the names of the tasks that scenarios can be made of."""
    return [task.name for task in every_task() if task.maker is not None]


def list_exporters() -> dict[str, list[Task[Any]]]:
    """Return the names of the forms that runs can be exported in, each with the tasks whose runs it takes."""
    found: dict[str, list[Task[Any]]] = {}
    for task in every_task():
        for name in task.exporters:
            found.setdefault(name, []).append(task)
    return found


def find_exporter(name: str, task: Task[Any]) -> Exporter:
    """Return what writes runs of a task in the form called `name`.

    Raises:
        PrerequisiteError: The task has none of this name, or it cannot be imported.
    """
    if name not in task.exporters:
        takes = " or ".join(one.name for one in list_exporters().get(name, ()))
        own = f"its runs can be exported with: {', '.join(task.exporters)}" if task.exporters else "its runs have no exporter"
        raise PrerequisiteError(f"is a run of task {task.name}, and 'export {name}' takes runs of task {takes}; {own}.")
    return load_named(task.exporters[name], f"exporter '{name}' of task '{task.name}'")


def reviewer_of(place: Path) -> Reviewer:
    """Return the reviewer of a folder or file, told by its first line.

    Raises:
        PrerequisiteError: It cannot be read, or holds what no maker makes.
    """
    from talm_sim.scenarios.jsonl import json_lines
    from talm_sim.scenarios.making.review import items_file
    from talm_sim.tasks.translation.translation_review import TranslationReviewer, is_translation

    file = items_file(place)
    where, task = task_of_file(file, "items to review")
    if is_translation(next(json_lines(file))[1]):
        return TranslationReviewer()
    if task not in list_makers():
        raise PrerequisiteError(
            f"{where}: is a scenario of task {task}; only scenarios of these tasks can be reviewed: {' and '.join(list_makers())}."
        )
    if (reviewer := find_maker(task).reviewer) is None:
        raise PrerequisiteError(f"{where}: is a scenario of task {task}, whose maker has nothing to review; read the file itself.")
    return reviewer


def task_of_file(file: Path, lines: str = "scenarios") -> tuple[str, str]:
    """Return the place of a file's first line, and the name of the task that it belongs to.

    Args:
        file: A file of JSON lines.
        lines: What they are, for the message.

    Raises:
        PrerequisiteError: It cannot be read, or has no line.
    """
    from talm_sim.scenarios.jsonl import json_lines

    where, line = next(json_lines(file), (str(file), None))
    if line is None:
        raise PrerequisiteError(f"{file}: contains no {lines}.")
    claimed = str(next((task.name for task in every_task() if task.claim(line, "")), RunConfig.model_fields["task"].default))
    return where, str(line.get("task", claimed)) if isinstance(line, dict) else claimed


def _fault(kind: type[Task[Any]]) -> str:
    """Say what is wrong with a class that is offered as a task; empty if nothing is."""
    from talm_sim.tasks.base import Task  # not at the top: listing names needs no task

    if not (isinstance(kind, type) and issubclass(kind, Task)):
        return "is not a subclass of talm_sim.Task"
    if not isinstance(getattr(kind, "name", None), str):
        return "declares no `name`"
    if "all" not in getattr(kind, "splits", {}):
        return "declares no split `all`: splits = {'all': ('GROUP', ...)}"
    if twice := sorted(set(kind.options.model_fields) & set(RunConfig.model_fields)):
        return f"has an option '{twice[0]}', which all tasks share"
    return f"lacks {', '.join(sorted(kind.__abstractmethods__))}" if kind.__abstractmethods__ else ""


@cache
def _instance_of(kind: type[Task[Any]]) -> Task[Any]:
    return kind()


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
            if owners := owners_of_option(name, task):
                raise PrerequisiteError(f"{name}: {option_owner_message(owners, task)}")
            raise PrerequisiteError(f"{name}: unknown option of task {task.name}.{did_you_mean(name, known)}")
    return Job(config, task, task.options(**config.options), created or datetime.now(UTC))


def known_scenarios(task: Task[Any], split: str, file: Path | None = None) -> list[Scenario]:
    """Return a task's scenarios as they lie in its data or in `file`; if it has no data, those that a run without other options plays.

    Raises:
        PrerequisiteError: They cannot be read, or there are none.
    """
    if task.data is not None:
        return task.read(task.groups(split), file)
    return task.load(job_of(RunConfig(task=task.name, split=split, scenarios=file)))


def owners_of_option(name: str, task: Task[Any]) -> list[str]:
    """Return the other tasks that have an option `name` of their own."""
    found = []
    for other in list_tasks():
        with contextlib.suppress(PrerequisiteError):  # a broken package must not hide what is wrong with this name
            if other != task.name and name in find_task(other).options.model_fields:
                found.append(other)
    return found


def option_owner_message(owners: Sequence[str], task: Task[Any]) -> str:
    """Say that an option belongs to `owners` and was given to `task`, for a message."""
    named = " or ".join(owners)
    return f"is an option of task {named}, not of task {task.name}; leave it out, or add --task {named}."
