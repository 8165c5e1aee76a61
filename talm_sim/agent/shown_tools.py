"""Tools that come with a scenario as text, as specifications a chat model's provider takes.

Published data writes Python's names for types ("dict", "float") and dots in names; the OpenAI protocol takes neither.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from talm_sim.errors import PrerequisiteError
from talm_sim.types import JsonObject, ToolSpec

__all__ = ["json_schema", "tool_specs"]

_TYPES = {
    "dict": "object",
    "str": "string",
    "int": "integer",
    "float": "number",
    "double": "number",
    "bool": "boolean",
    "list": "array",
    "tuple": "array",
    "set": "array",
}
_JSON_TYPES = frozenset({"object", "string", "integer", "number", "boolean", "array", "null"})
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")


def tool_specs(texts: Sequence[str]) -> list[ToolSpec]:
    """Read the tools a scenario shows.

    Raises:
        PrerequisiteError: A text is no JSON object with a name.
    """
    return [_spec(text) for text in texts]


def _spec(text: str) -> ToolSpec:
    try:
        tool = json.loads(text)
        name = _NOT_IN_NAMES.sub("_", tool["name"])[:64]
    except (ValueError, TypeError, KeyError):
        raise PrerequisiteError(f"tool '{text[:60]}': is no JSON object with a name; mend the scenario's tools.") from None
    parameters = json_schema(tool.get("parameters") or {})
    # Training rows carry `required` beside `parameters`.
    required = parameters.get("required") or tool.get("required") or []
    properties = parameters.get("properties", {})
    schema = parameters | {"type": "object", "properties": properties, "required": [one for one in required if one in properties]}
    return ToolSpec(name=name, description=str(tool.get("description", "")), parameters=schema, method="POST")


def json_schema(schema: Any) -> JsonObject:
    """The schema with every type by its JSON Schema name; a type JSON does not know ("any") is left open.

    >>> json_schema({"type": "dict", "properties": {"n": {"type": "float"}, "x": {"type": "any"}}})
    {'type': 'object', 'properties': {'n': {'type': 'number'}, 'x': {}}}
    """
    if not isinstance(schema, dict):
        return {}
    found: JsonObject = {}
    for key, value in schema.items():
        if key == "type":
            name = _TYPES.get(str(value).partition(",")[0].strip().casefold(), value)
            if name in _JSON_TYPES:
                found[key] = name
        elif key == "properties" and isinstance(value, dict):
            found[key] = {name: json_schema(part) for name, part in value.items()}
        elif key == "items":
            found[key] = json_schema(value)
        elif key != "optional":
            found[key] = value
    return found
