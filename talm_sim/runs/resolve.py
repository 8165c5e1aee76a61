"""From what the user gave to what is run: options checked, automatic values decided, overrides admitted by scope."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from talm_sim.config import RunConfig, Scope, Traffic, scope_of
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.models.registry import in_process

__all__ = ["Recordings", "configure", "overridden", "resolve"]

RECORDINGS = Path("recordings")
"""Where new recordings go unless the user names a directory: the shipped ones are not written to."""
TOOLLESS = frozenset({"no-tools"})
"""Groups whose scenarios offer no tool, so that there is no tool traffic to record."""


class Recordings(Protocol):
    """What resolving needs to know of a cassette library."""

    def has_tools(self, groups: Iterable[str]) -> bool:
        """Whether tool traffic of all these groups was recorded."""
        ...

    def has_model(self, model: str, groups: Iterable[str]) -> bool:
        """Whether `model` was recorded on all these groups."""
        ...


def configure(config: RunConfig | None, options: Mapping[str, Any]) -> RunConfig:
    """Return `config`, or the defaults, with `options` in place.

    Raises:
        PrerequisiteError: An option is unknown or has a wrong value.
    """
    unknown = [name for name in options if name not in RunConfig.model_fields]
    if unknown:
        raise PrerequisiteError(f"unknown option '{unknown[0]}'.{did_you_mean(unknown[0], RunConfig.model_fields)}")
    given = {} if config is None else {name: getattr(config, name) for name in config.model_fields_set}
    return RunConfig.load(environ={}, **{**given, **options})


def resolve(config: RunConfig, recordings: Recordings, groups: Sequence[str] | None = None) -> RunConfig:
    """Decide the automatic values: traffic is replayed where a recording is found, and with it the recorded human.

    A scenario file of the user's own is not in the shipped recordings, so it is run live unless a directory of recordings is named too.

    Args:
        config: What was asked for.
        recordings: Where recordings are looked for.
        groups: Groups that have scenarios, of which a recording is expected; by default all of the split.
    """
    groups = config.groups if groups is None else groups
    known = config.scenarios is None or config.cassettes is not None
    models, tools = config.models, config.tools
    if in_process(config.model):
        models = None
    elif models is None:
        models = Traffic.REPLAY if known and recordings.has_model(config.model, groups) else Traffic.LIVE
    if config.task != "talm":
        tools = None  # shown, never executed
    elif tools is None:
        calling = [group for group in groups if group not in TOOLLESS]
        tools = Traffic.REPLAY if known and recordings.has_tools(calling) else Traffic.LIVE
    values: dict[str, Any] = {"models": models, "tools": tools}
    if config.human == "auto":
        values["human"] = "recorded" if models is Traffic.REPLAY and config.task == "talm" else "none"
    if Traffic.RECORD in (models, tools) and config.cassettes is None:
        values["cassettes"] = RECORDINGS
    return config.model_copy(update=values)


def overridden(config: RunConfig, options: Mapping[str, Any], admitted: Collection[Scope], *, verb: str, otherwise: str) -> RunConfig:
    """Return a stored run's `config` with `options` in place, all of scopes `admitted`; a value that does not differ is no override.

    Args:
        config: The stored one.
        options: New values; None means "not given".
        admitted: Scopes that may change.
        verb: What the user does, for the message.
        otherwise: What to do instead, for the message.

    Raises:
        PrerequisiteError: An option is unknown, wrong, or would change what the run is.
    """
    given = {name: value for name, value in options.items() if value is not None}
    changed = configure(config, given)
    for name in given:
        if scope_of(name) not in admitted and getattr(changed, name) != getattr(config, name):
            flag = "--" + name.replace("_", "-")
            raise PrerequisiteError(
                f"{verb}: {flag} would change from {_shown(getattr(config, name))} to {_shown(getattr(changed, name))}; {otherwise}"
            )
    return changed


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return f"'{', '.join(map(str, value))}'" if value else "none"
    return "none" if value is None else f"'{value}'"
