"""Name a model's recording by a digest of what shapes the requests of a conversation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol, Self

from talm_sim.common.digests import digest
from talm_sim.common.plain_files import LARGEST_SETTINGS, read_text
from talm_sim.config import RunConfig

if TYPE_CHECKING:
    from talm_sim.models.base import GenerationSettings

_LONGEST = 80
"""Characters of a value that are kept; of a longer one, its digest."""


class AnyJob(Protocol):
    """The part of a `Job` that is read below the module that defines it."""

    @property
    def config(self) -> RunConfig:
        """The shared options."""
        ...

    @property
    def options(self) -> Any:
        """The task's own."""
        ...

    @property
    def task(self) -> Any:
        """The task."""
        ...

    def settings(self) -> GenerationSettings:
        """Return how the model's turns are sampled."""
        ...

    def having(self, **values: Any) -> Self:
        """Return the job with other values."""
        ...


def recording_key(job: AnyJob) -> str:
    """Digest of what shapes a job's conversations. Its fields stay as they are, because shipped recordings are named by it.

    Wordings that come with the package are not in it: a changed one is a miss, which names what differs.
    """
    return digest(_generation_settings(job))


def recorded_settings(job: AnyJob) -> dict[str, Any]:
    """Return the settings that `recording_key` is the digest of, as kept beside a recording: a long text by its digest."""
    return {
        name: digest(value) if isinstance(value, str) and len(value) > _LONGEST else value for name, value in _generation_settings(job).items()
    }


def differences(here: Mapping[str, Any], there: Mapping[str, Any]) -> Iterator[str]:
    """Say in words what a recording was made with, where that is not what is asked for.

    >>> list(differences({"seed": 0, "human": True}, {"seed": 1, "human": False}))
    ['with seed 1 (not 0)', 'without human']
    >>> list(differences({"seed": 0, "reasoning": "free"}, {"seed": 0}))
    ['without reasoning free']
    """
    for name, value in there.items():
        if name == "schedule":  # follows from the perturbations
            continue
        if isinstance(value, bool):
            if value is not bool(here.get(name)):
                yield f"{'with' if value else 'without'} {name}"
        elif _words(value) != _words(here.get(name)):
            yield f"with {name.replace('_', '-')} {_words(value)} (not {_words(here.get(name))})"
    for name, value in here.items():  # an option that came later is named only where it is used
        if name not in there and name != "schedule" and value:
            yield f"without {name.replace('_', '-')}" + ("" if value is True else f" {_words(value)}")


def are_alike(here: Mapping[str, Any], there: Mapping[str, Any]) -> bool:
    """Return whether two recordings are of one task: another's settings have other names."""
    return (here.keys() ^ there.keys()) <= {"schedule"}


def has_earlier_schedule(here: Mapping[str, Any], there: Mapping[str, Any]) -> bool:
    """Return whether a recording was made with the same settings, and its faults were drawn by another schedule."""
    return are_alike(here, there) and here.get("schedule") != there.get("schedule") and not [*differences(here, there)]


def _generation_settings(job: AnyJob) -> dict[str, Any]:
    config, settings = job.config, job.settings()
    shared = {
        "model": config.model,
        "model_options": config.model_options,
        "tool_format": "constrained" if config.constrained else "native",
        "prompts": read_text(config.prompts, LARGEST_SETTINGS) if config.prompts else "",
        "temperature": settings.temperature,
        "max_new_tokens": settings.max_new_tokens,
        "seed": config.seed,
    }
    return {**job.task.key(job), **shared}


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        value = [f"{name}={one}" for name, one in value.items()]
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value))
    return "none" if value is None or value == "" else str(value)
