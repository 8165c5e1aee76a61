"""Tools whose interface has changed, while their descriptions have not."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import Field

from talm_sim.tools_env.perturbations.base import Call, Outcome, Perturbation
from talm_sim.tools_env.perturbations.fields import change_fields, lacks_field, short_name
from talm_sim.tools_env.perturbations.options import PerturbationOptions
from talm_sim.types import JsonObject, ToolSpec

__all__ = ["FieldToList", "NullField", "RemovedField", "RenamedArgument", "RenamedField", "RetypedField"]


class _DriftedAnswer(Perturbation):
    """Change fields of the answer."""

    family = "drift"
    silent = True
    permanent = True

    class Options(PerturbationOptions):
        """Which fields have changed."""

        field: str = Field(
            "", description="A field's name, or a JSON pointer to it; without it, every single value that does not repeat an argument."
        )

    options: Options

    @abstractmethod
    def change(self, name: str, value: Any) -> list[tuple[str, Any]]:
        """Return the fields that take a field's place."""

    def lacks(self, tool: ToolSpec, response: JsonObject, others: Sequence[Mapping[str, Any]]) -> str:
        """Say that the tool's answers have no such field."""
        return lacks_field(response, self.options.field)

    async def after(self, call: Call, outcome: Outcome) -> Outcome | None:
        """Change the fields of a successful answer; None where it has none of them."""
        answer = outcome.value
        changed = change_fields(answer, self.options.field, call.arguments, self.change)
        before, now = json.dumps(answer), json.dumps(changed)
        return None if before == now else replace(outcome, body=now.encode())


class RenamedField(_DriftedAnswer):
    """Fields of the answer have other names: `elevation_m` is called `ele_m`. Their values are right."""

    name = "renamed-field"
    summary = "give fields of the answer another name"
    origin = "the answer's own value, under the first three letters of each word of its name"

    def change(self, name: str, value: Any) -> list[tuple[str, Any]]:
        """Return the value under a shorter name."""
        return [(short_name(name, ()), value)]


class RemovedField(_DriftedAnswer):
    """Fields of the answer are not there any more."""

    name = "removed-field"
    summary = "leave fields of the answer out"

    def change(self, name: str, value: Any) -> list[tuple[str, Any]]:
        """Return no field."""
        return []


class NullField(_DriftedAnswer):
    """Fields of the answer are there and hold nothing."""

    name = "null-field"
    summary = "answer null for fields"
    origin = "null"

    def change(self, name: str, value: Any) -> list[tuple[str, Any]]:
        """Return the field without a value."""
        return [(name, None)]


class RetypedField(_DriftedAnswer):
    """Fields of the answer have another type: a number or a truth value is a text, a text is an object that holds it.

    Their values are right.
    """

    name = "retyped-field"
    summary = "answer with another type: numbers as text, texts in an object"
    origin = "the answer's own value, as another type"

    def change(self, name: str, value: Any) -> list[tuple[str, Any]]:
        """Return the value as another type; null has none, and objects and lists become their JSON as text."""
        return [(name, value if value is None else {"value": value} if isinstance(value, str) else json.dumps(value, ensure_ascii=False))]


class FieldToList(_DriftedAnswer):
    """A single value or an object is the only item of a list. The values are right."""

    name = "field-to-list"
    summary = "answer with a list where a value or an object was"
    origin = "the answer's own value, in a list"

    def change(self, name: str, value: Any) -> list[tuple[str, Any]]:
        """Return the value in a list."""
        return [(name, value if isinstance(value, list) else [value])]


class RenamedArgument(Perturbation):
    """An argument has a new name, which the tool's description does not have.

    A call with the old name is refused with HTTP 422, which names both; one with the new name works.
    """

    name = "renamed-argument"
    summary = "refuse an argument's name with 422 and take another"
    family = "drift"
    permanent = True
    origin = "the first three letters of each word of the argument's name"

    class Options(PerturbationOptions):
        """Which argument has another name."""

        field: str = Field("", description="The argument; without it, the first that must be given, or else the first.")

    options: Options
    _tools: Mapping[str, ToolSpec] = {}

    def lacks(self, tool: ToolSpec, response: JsonObject, others: Sequence[Mapping[str, Any]]) -> str:
        """Say that the tool does not take the argument."""
        if self._renamed(tool)[0]:
            return ""
        return f"no argument '{self.options.field}'" if self.options.field else "no argument"

    def _renamed(self, tool: ToolSpec) -> tuple[str, str]:
        """Return the old and the new name of the argument; empty ones if the tool does not take it."""
        takes: Mapping[str, Any] = tool.parameters.get("properties", {})
        must = [name for name in tool.parameters.get("required", ()) if name in takes]
        old = self.options.field or next(iter([*must, *takes]), "")
        return (old, short_name(old, takes)) if old in takes else ("", "")

    def narrow(self, tools: list[ToolSpec], pool: Mapping[str, ToolSpec]) -> list[ToolSpec]:
        """Keep the tools' descriptions, which stay as they are."""
        self._tools = pool
        return tools

    def translate(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """Read the new name as the old one, if this tool has changed."""
        if tool not in self._tools or self.options.tool not in ("", tool) or not self.draws(tool):
            return tool, arguments
        old, new = self._renamed(self._tools[tool])
        if not new or new not in arguments or old in arguments:
            return tool, arguments
        return tool, {old if name == new else name: value for name, value in arguments.items()}

    def concerns(self, call: Call) -> bool:
        """Whether the call has the argument."""
        return not self._renamed(call.spec)[0] or self._renamed(call.spec)[0] in call.arguments

    async def before(self, call: Call) -> Outcome | None:
        """Refuse the old name; let the new one through."""
        old, new = self._renamed(call.spec)
        if call.written is not None and old not in call.written:
            return None
        return Outcome(422, json.dumps({"detail": f"unknown field '{old}'; expected '{new}'"}).encode())
