"""Perturbations of what the model reads of a tool before it calls it: its name and its description."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import ASK_HUMAN
from talm_sim.tools_env.perturbations.base import Perturbation, share_of
from talm_sim.tools_env.perturbations.options import ToolListOptions
from talm_sim.types import FINISH, JsonObject, ToolSpec

_LONGEST = 64
"""Characters that model providers allow in a tool's name."""
_NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{_LONGEST}}}")
_RESERVED = frozenset({ASK_HUMAN, FINISH})
_FIRST_WORDS = 3
_PADDING = (
    "This is a tool: it is called with arguments, and what it returns is its answer. Its arguments are those listed with it, {number} in all. "
    "The answer is the text that comes back after the call. A call that can be answered is answered, and one that cannot be is not. "
    "The tool can be called when it is needed; when it is not needed, it does not have to be called."
)


class Rename(Perturbation):
    """The tool has another name. A call under its old name finds no tool."""

    name = "rename"
    summary = "show a tool under another name"
    family = "tools"
    permanent = True

    class Options(ToolListOptions):
        """The new name."""

        to: str = Field("", description="The new name; without it, get_x becomes fetch_x and any other x becomes x_v2. Needs tool=NAME.")

        @field_validator("to")
        @classmethod
        def _check(cls, to: str, info: ValidationInfo) -> str:
            if to and not _NAME.fullmatch(to):
                raise ValueError("is not a tool's name; write up to 64 letters, digits, underscores and hyphens.")
            if to in _RESERVED:
                raise ValueError(f"'{to}' is reserved; choose another name.")
            if to and not info.data.get("tool"):
                raise ValueError("is the name of one tool; add tool=NAME.")
            return to

    options: Options

    def narrow(self, tools: list[ToolSpec], pool: Mapping[str, ToolSpec]) -> list[ToolSpec]:
        """Give the tools their new names."""
        self._real: dict[str, str] = {}
        taken = {*pool, *(tool.name for tool in tools)}
        left = []
        for tool in tools:
            if not self.applies(tool.name):
                left.append(tool)
                continue
            if self.options.to in taken:
                raise PrerequisiteError(f"--perturb {self.spec}: to: there is a tool '{self.options.to}'; choose another name.")
            name = self.options.to or _other_name(tool.name, taken)
            taken.add(name)
            self._real[name] = tool.name
            left.append(tool.model_copy(update={"name": name}))
        return left

    def translate(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """Return the real name of a renamed tool."""
        return self._real.get(tool, tool), arguments


def _other_name(name: str, taken: Collection[str]) -> str:
    other = f"fetch_{name.removeprefix('get_')}" if name.startswith("get_") else ""
    version = 2
    while not other or other in taken or other in _RESERVED or len(other) > _LONGEST:
        end = f"_v{version}"
        other = name[: _LONGEST - len(end)] + end
        version += 1
    return other


class Description(Perturbation):
    """The description of a tool says less, or more, than it should, or its words are in disorder. Its name and its arguments stay."""

    name = "description"
    summary = "cut, pad or scramble what a tool's description says"
    family = "tools"
    permanent = True

    class Options(ToolListOptions):
        """What becomes of the description."""

        mode: Literal["terse", "verbose", "scrambled"] = Field(
            "terse", description="terse keeps its first three words, verbose pads it, scrambled puts its words in another order."
        )

    options: Options

    def lacks(self, tool: ToolSpec, response: JsonObject, others: Sequence[Mapping[str, Any]]) -> str:
        """Require a description that the change would alter: a tool may have none, or one that is terse already."""
        return "" if self._change(tool) != tool.description else "no description that could be changed so"

    def narrow(self, tools: list[ToolSpec], pool: Mapping[str, ToolSpec]) -> list[ToolSpec]:
        """Change the descriptions."""
        return [self._changed(tool) for tool in tools]

    def _changed(self, tool: ToolSpec) -> ToolSpec:
        text = self._change(tool)
        if text == tool.description:
            self.not_applicable += self.options.tool in ("", tool.name)
            return tool
        return tool.model_copy(update={"description": text}) if self.applies(tool.name) else tool

    def _change(self, tool: ToolSpec) -> str:
        words, mode = tool.description.split(), self.options.mode
        if mode == "verbose":
            number = len(tool.parameters.get("properties") or ())
            return f"{tool.description} {_PADDING.format(number=number)}" if words else ""
        if mode == "terse":
            return " ".join(words[:_FIRST_WORDS]) if len(words) > _FIRST_WORDS else tool.description
        order = sorted(range(len(words)), key=lambda place: share_of(*self._drawn_from, tool.name, "word", place))
        mixed = [words[place] for place in order]
        return " ".join(mixed if mixed != words else words[1:] + words[:1]) if len(set(words)) > 1 else tool.description
