"""Look up the types of arguments in the tools that were shown, if their written form does not tell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from talm_sim.models.formats.literals import BrokenError, read_whole
from talm_sim.types import JsonObject

TYPE_NAMES = {
    "dict": "object",
    "object": "object",
    "hashmap": "object",
    "float": "number",
    "double": "number",
    "number": "number",
    "int": "integer",
    "integer": "integer",
    "long": "integer",
    "bigint": "integer",
    "str": "string",
    "string": "string",
    "char": "string",
    "bool": "boolean",
    "boolean": "boolean",
    "list": "array",
    "array": "array",
    "arraylist": "array",
    "tuple": "array",
    "set": "array",
    "null": "null",
}
"""JSON Schema's names of types, by the names that tool data use: Python's, Java's, JavaScript's."""
_WORD = re.compile(r"\s*([a-z]+)")
_MOST_ALTERNATIVES = 64


class ShownParameters:
    """The parameters of the shown tools."""

    def __init__(self, tools: Sequence[JsonObject]) -> None:
        self._schemas: dict[str, Mapping[str, Any]] = {}
        for tool in tools:
            inner = tool.get("function")
            spec = inner if isinstance(inner, dict) else tool
            parameters = spec.get("parameters")
            properties = parameters.get("properties") if isinstance(parameters, dict) else None
            if isinstance(spec.get("name"), str):
                self._schemas[spec["name"]] = properties if isinstance(properties, dict) else {}

    def __contains__(self, tool: str) -> bool:
        return tool in self._schemas

    def parse_bare(self, tool: str, argument: str, written: str) -> Any:
        """Return the value of an argument that was written without quotes.

        It is read as JSON if the schema allows the result, and stays text if the schema allows only text, or nothing fits. An
        argument without a schema is text unless it reads as a number, a truth value, null, a list or an object.
        """
        types = set(_types(self._schemas.get(tool, {}).get(argument)))
        if types == {"string"}:
            return written
        try:
            value = read_whole(written.lower() if written.strip() in ("TRUE", "FALSE", "NULL") else written)
        except BrokenError:
            return written
        if isinstance(value, str) or (types and not types & _names(value)):
            return written
        return value


def _types(schema: Any) -> Iterator[str]:
    """Return the types that a schema allows; none if it does not say."""
    if not isinstance(schema, dict):
        return
    if isinstance(schema.get("enum"), list):
        for value in schema["enum"]:
            yield min(_names(value), key=len)
        return
    alternatives = [one for key in ("anyOf", "oneOf") if isinstance(schema.get(key), list) for one in schema[key]]
    for one in alternatives[:_MOST_ALTERNATIVES]:
        yield from _types({"type": one.get("type"), "enum": one.get("enum")} if isinstance(one, dict) else None)
    named = schema.get("type")
    for name in named if isinstance(named, list) else [named]:
        word = _WORD.match(name.lower()) if isinstance(name, str) else None
        if word and word[1] in TYPE_NAMES:
            yield TYPE_NAMES[word[1]]


def _names(value: Any) -> set[str]:
    if value is None:
        return {"null"}
    if isinstance(value, bool):
        return {"boolean"}
    if isinstance(value, int):
        return {"integer", "number"}
    if isinstance(value, float):
        return {"number", "integer"} if value.is_integer() else {"number"}
    if isinstance(value, list):
        return {"array"}
    return {"object"} if isinstance(value, dict) else {"string"}
