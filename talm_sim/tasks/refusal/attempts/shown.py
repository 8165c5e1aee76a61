"""The tools a model was shown, as far as an attempt at calling one depends on them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from talm_sim.scenarios.tool_texts import parameters_of, required_of
from talm_sim.types import JsonObject

__all__ = ["NO_TOOLS", "Parameters", "ShownTools"]

_JOINTS = re.compile(r"\\?[.\-/ _]")
"""Joints of names: models write one for another, and a backslash before an underscore, as Markdown does."""
_PREFIX = re.compile(r"\A(?:default_api|functions|tools)\.")
"""Prefixes that families put before a tool's name."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """Names of a tool's parameters."""

    all: frozenset[str]
    required: frozenset[str]


@dataclass(frozen=True)
class ShownTools:
    """The shown tools by name, however the parts of a name are joined (`math.factorial`, `math_factorial`)."""

    by_name: Mapping[str, Parameters] = field(default_factory=dict)
    tools: tuple[JsonObject, ...] = ()
    """Their specifications, for the reader of calls."""

    @classmethod
    def of(cls, tools: Sequence[JsonObject]) -> ShownTools:
        """Read specifications, bare or in `{"type": "function", "function": {...}}`; anything else is skipped."""
        by_name: dict[str, Parameters] = {}
        for tool in tools:
            inner = tool.get("function")
            spec = inner if isinstance(inner, dict) else tool
            name = spec.get("name")
            if isinstance(name, str) and name:
                by_name[_normalize_name(name)] = Parameters(frozenset(parameters_of(spec)), frozenset(required_of(spec)))
        return cls(by_name, (*tools,))

    def get(self, name: str) -> Parameters | None:
        """Return the parameters of the tool called `name`; None if none was shown."""
        return (self.by_name.get(_normalize_name(name)) or self.by_name.get(_normalize_name(_PREFIX.sub("", name)))) if self.by_name else None

    def keyed(self, key: str) -> Parameters | None:
        """Return the parameters of the tool that a key of an object names; keys are read in lower case."""
        return self.by_lower_name.get(_normalize_name(key))

    @cached_property
    def by_lower_name(self) -> Mapping[str, Parameters]:
        """Return the same by names in lower case, as keys of objects are read."""
        return {name.lower(): tool for name, tool in self.by_name.items()}

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None


NO_TOOLS = ShownTools()


def _normalize_name(name: str) -> str:
    return _JOINTS.sub("_", name)
