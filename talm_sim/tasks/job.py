"""A configuration as its task reads it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from talm_sim.config import RunConfig, Scope, scope_of
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.tasks.options import TaskOptions
from talm_sim.tasks.registry import find_task

if TYPE_CHECKING:
    from talm_sim.models.base import GenerationSettings
    from talm_sim.recordings import CassetteLibrary
    from talm_sim.tasks.base import Task

__all__ = ["Job", "Recorded", "job_of"]

OptionsT = TypeVar("OptionsT", bound=TaskOptions)


@dataclass(frozen=True, slots=True)
class Job(Generic[OptionsT]):
    """What all tasks share, the task, and its own options, checked."""

    config: RunConfig
    task: Task[OptionsT]
    options: OptionsT

    @property
    def groups(self) -> tuple[str, ...]:
        """Scenario groups of the split."""
        return self.task.splits[self.config.split]

    def settings(self) -> GenerationSettings:
        """How the model's turns are sampled; each episode derives a seed of its own."""
        from talm_sim.models.base import GenerationSettings  # not at the top: a table needs no model

        given = {name: getattr(self.config, name) for name in ("temperature", "max_new_tokens")}
        chosen = {name: self.task.defaults[name] if value is None else value for name, value in given.items()}
        return GenerationSettings(seed=self.config.seed, **chosen)

    def having(self, **values: Any) -> Job[OptionsT]:
        """The job with other values; a name that is no shared option is the task's."""
        shared = {name: value for name, value in values.items() if name in RunConfig.model_fields}
        options = self.options.model_copy(update={name: value for name, value in values.items() if name not in shared})
        # What is stored says every option's value, given or not.
        config = self.config.model_copy(update={**shared, "options": options.model_dump(mode="json")})
        return replace(self, config=config, options=options)

    def values(self, *scopes: Scope) -> dict[str, Any]:
        """JSON values of the shared options and of the task's own that are of one of `scopes`."""
        models: tuple[BaseModel, ...] = (self.config, self.options)
        dumped = {name: value for model in models for name, value in model.model_dump(mode="json").items() if name != "options"}
        return {name: value for name, value in dumped.items() if self.scope_of(name) in scopes}

    def scope_of(self, name: str) -> Scope:
        """Scope of a shared option or of one of the task's own."""
        return scope_of(RunConfig if name in RunConfig.model_fields else type(self.options), name)


def job_of(config: RunConfig) -> Job[Any]:
    """Let a configuration's task read it.

    Raises:
        PrerequisiteError: There is no such task or split, or an option is unknown to it or has a wrong value; begins with the option's name.
    """
    task = find_task(config.task)
    if config.split not in task.splits:
        raise PrerequisiteError(f"split: unknown split '{config.split}' of task {task.name}.{did_you_mean(config.split, task.splits)}")
    known = task.options.model_fields
    for name in config.options:
        if name not in known:
            raise PrerequisiteError(f"{name}: unknown option of task {task.name}.{did_you_mean(name, [*RunConfig.model_fields, *known])}")
    try:
        options = task.options(**config.options)
    except ValidationError as err:
        first = err.errors()[0]
        where = f"{first['loc'][0]}: " if first["loc"] else ""
        raise PrerequisiteError(where + first["msg"].removeprefix("Value error, ")) from None
    return Job(config, task, options)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a job may ask of the recordings before it runs.

    Attributes:
        library: Where they lie.
        groups: Groups that have scenarios, of which a recording is expected.
        known: Whether these scenarios can be in it: a file of the user's own is not in the shipped recordings.
    """

    library: CassetteLibrary
    groups: Sequence[str]
    known: bool

    def model(self, model: str) -> bool:
        """Whether `model` was recorded on all groups."""
        return self.known and self.library.has_model(model, self.groups)

    def tools(self, without: Iterable[str] = ()) -> bool:
        """Whether tool traffic of all groups was recorded, but of those `without` tools."""
        toolless = set(without)
        return self.known and self.library.has_tools([group for group in self.groups if group not in toolless])
