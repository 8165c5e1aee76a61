"""Read the tools that come with items as JSON text, in the forms that published data has.

They are bare or wrapped, name types as Python or JSON Schema does, and say what is required in the schema or beside it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from talm_sim.models.formats.shown import TYPE_NAMES
from talm_sim.scenarios.jsonl import parse
from talm_sim.types import JsonObject

_WORD = re.compile(r"\s*([a-z]+)")


def spec_of(tool: str) -> JsonObject:
    """Return a tool's specification from its JSON text, without the wrapping `{"type": "function", "function": ...}` some data has."""
    spec = parse(tool)
    inner = spec.get("function") if isinstance(spec, dict) else None
    found = inner if isinstance(inner, dict) else spec
    return found if isinstance(found, dict) else {}


def parameters_of(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return schemas of a tool's parameters by name, in any of the forms the data has."""
    parameters = spec.get("parameters")
    properties = parameters.get("properties") if isinstance(parameters, dict) else None
    return properties if isinstance(properties, dict) else {}


def required_of(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """Return names of the parameters a tool requires; some data names them beside the schema, not in it."""
    parameters = spec.get("parameters")
    named = parameters.get("required") if isinstance(parameters, dict) else None
    named = spec.get("required") if named is None else named
    return tuple(name for name in named if isinstance(name, str)) if isinstance(named, list) else ()


def json_schema(schema: Any) -> JsonObject:
    """Return the schema with every type by its JSON Schema name; a type JSON does not know ("any") is left open.

    >>> json_schema({"type": "dict", "properties": {"n": {"type": "List[int], optional"}, "x": {"type": "any"}}})
    {'type': 'object', 'properties': {'n': {'type': 'array'}, 'x': {}}}
    """
    if not isinstance(schema, dict):
        return {}
    found: JsonObject = {}
    for key, value in schema.items():
        if key == "type":
            if name := _json_type(value):
                found[key] = name
        elif key == "properties":
            found[key] = {name: json_schema(part) for name, part in value.items()} if isinstance(value, dict) else {}
        elif key == "items":
            found[key] = json_schema(value)
        elif key != "optional":
            found[key] = value
    return found


def _json_type(value: Any) -> str | list[str]:
    """Return the name of a type, or those of a list of types that JSON knows; empty if it knows none."""
    if isinstance(value, list):
        return [name for name in map(_json_type, value) if isinstance(name, str) and name]
    word = _WORD.match(value.lower()) if isinstance(value, str) else None
    return TYPE_NAMES.get(word[1], "") if word else ""


def tool_name(tool: str) -> str:
    """Return the name in a tool's JSON text, even inside `function`; empty if there is none."""
    name = spec_of(tool).get("name")
    return name if isinstance(name, str) else ""


def describe_tool(text: str) -> str:
    """Return what distinguishes a tool, from its specification; the text itself if it is none."""
    try:
        spec = parse(text)
        needs = ", ".join(map(str, spec.get("parameters", {}).get("required", [])))
        return f"{spec.get('name')}: {spec.get('description')} Needs: {needs or 'nothing'}."
    except (ValueError, TypeError, AttributeError):
        return text
