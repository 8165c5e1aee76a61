"""Perturbations that change a tool's interface and not its description; and which fields of an answer a change may strike."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import Field

from talm_sim.tools_env.perturbations.base import Call, Outcome, Perturbation
from talm_sim.tools_env.perturbations.options import PerturbationOptions
from talm_sim.types import JsonObject, ToolSpec

Change = Callable[[str, Any], list[tuple[str, Any]]]
"""Returns what takes the place of a field, given its name and value: fields, of which there may be none."""


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
        """Return whether the call has the argument."""
        return not self._renamed(call.spec)[0] or self._renamed(call.spec)[0] in call.arguments

    async def before(self, call: Call) -> Outcome | None:
        """Refuse the old name; let the new one through."""
        old, new = self._renamed(call.spec)
        if call.written is not None and old not in call.written:
            return None
        return Outcome(422, json.dumps({"detail": f"unknown field '{old}'; expected '{new}'"}).encode())


def change_fields(answer: Any, field: str, arguments: Mapping[str, Any], change: Change) -> Any:
    """Return an answer with some of its fields changed; equal to `answer` if it has none of them.

    Args:
        answer: Its JSON value; not changed itself.
        field: A field's name, wherever it occurs, or a JSON pointer to one. Empty for every field that holds a single value, not an object or a
            list, except one that repeats an argument: what the agent needs to know is then among them.
        arguments: The call's, as the tool was given them.
        change: What becomes of one field.
    """
    echoes = {json.dumps(value) for value in arguments.values()}

    def chosen(path: str, name: str, value: Any) -> bool:
        if not field:
            return not isinstance(value, dict | list) and json.dumps(value) not in echoes
        return field == (path if field.startswith("/") else name)

    return _rewrite(answer, "", chosen, change)


def _rewrite(value: Any, path: str, chosen: Callable[[str, str, Any], bool], change: Change) -> Any:
    if isinstance(value, list):
        return [_rewrite(item, f"{path}/{place}", chosen, change) for place, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    written: dict[str, Any] = {}
    for name, item in value.items():
        at = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
        for new, changed in change(name, item) if chosen(at, name, item) else [(name, _rewrite(item, at, chosen, change))]:
            written[new if new == name else short_name(name, {*value, *written})] = changed
    return written


def short_name(name: str, taken: Sequence[str] | set[str] | Mapping[str, Any]) -> str:
    """Return another name for a field: the first three letters of each of its words, with a number if there is such a name already.

    >>> short_name("elevation_m", {"elevation_m"}), short_name("lat", {"lat"}), short_name("timeZone", ())
    ('ele_m', 'lat_2', 'timZon')
    """
    words = "".join(part[:3] for part in _words(name))
    number, new = 2, words
    while new == name or new in taken:
        new, number = f"{words}_{number}", number + 1
    return new


def _words(name: str) -> Iterator[str]:
    """Split a name at capitals and at signs, which stay as words of their own."""
    word = ""
    for sign in name:
        if word and (not sign.isalnum() or not word[-1].isalnum() or (sign.isupper() and not word[-1].isupper())):
            yield word
            word = ""
        word += sign
    if word:
        yield word


def lacks_field(schema: JsonObject, field: str) -> str:
    """Say that no answer of a schema has the field, or any field; empty where one may have it."""
    if not schema:
        return ""
    found = _Fields(schema)
    if found.collect(schema, 0):
        return ""
    if not found.names:
        return "no field in its answers"
    name = field.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    return f"no field '{name}' in its answers" if field and name not in found.names else ""


def find_part(root: Any, ref: str) -> Any:
    """Return the part of a schema that a reference into it names; None if there is none."""
    for name in ref.removeprefix("#/").split("/"):
        root = root.get(name.replace("~1", "/").replace("~0", "~")) if isinstance(root, dict) else None
    return root


_DEEPEST = 100


class _Fields:
    """The names of the fields of a schema; each part that is referred to is read once, so that a short schema takes a short time."""

    def __init__(self, root: JsonObject) -> None:
        self.names: set[str] = set()
        self._root = root
        self._read: set[str] = set()

    def collect(self, schema: Any, depth: int) -> bool:
        """Collect the names; return whether answers may have others."""
        if not isinstance(schema, dict) or depth > _DEEPEST:
            return True
        if isinstance(ref := schema.get("$ref"), str):
            read = ref in self._read
            self._read.add(ref)
            return not read and self.collect(find_part(self._root, ref), depth + 1)
        if choices := [one for word in ("anyOf", "oneOf", "allOf") for one in schema.get(word, ())]:
            return any([self.collect(one, depth + 1) for one in choices])
        kind, fields = schema.get("type"), schema.get("properties")
        if kind == "array":
            return self.collect(schema.get("items"), depth + 1)
        if kind == "object" and isinstance(fields, dict) and not schema.get("additionalProperties"):
            self.names.update(fields)
            return any([self.collect(one, depth + 1) for one in fields.values()])
        return kind == "object" or not (isinstance(kind, str) or {"enum", "const"} & schema.keys())
