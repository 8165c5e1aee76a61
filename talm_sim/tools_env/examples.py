"""Arguments to try a tool with: what its description gives as examples, and where it gives none, the plainest that fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from talm_sim.types import JsonObject, ToolSpec

__all__ = ["example_arguments"]

_PLAIN: Mapping[str, Any] = {"string": "example", "boolean": False, "null": None}


def example_arguments(spec: ToolSpec) -> tuple[JsonObject, bool]:
    """Required arguments for a tool, and whether its description gives all of them.

    >>> example_arguments(ToolSpec(name="t", parameters={"properties": {"n": {"type": "integer", "minimum": 3}}, "required": ["n"]}))
    ({'n': 3}, False)
    """
    properties = spec.parameters.get("properties", {})
    needed = {name: properties.get(name, {}) for name in spec.required}
    return {name: _value(schema) for name, schema in needed.items()}, all(map(_is_given, needed.values()))


def _is_given(schema: Mapping[str, Any]) -> bool:
    return bool(schema.get("examples") or schema.get("enum")) or "default" in schema or "const" in schema


def _value(schema: Mapping[str, Any]) -> Any:
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    for key in ("examples", "enum"):
        if schema.get(key):
            return schema[key][0]
    for key in ("anyOf", "oneOf"):
        if schema.get(key):
            return _value(schema[key][0])
    kind = schema.get("type", "string")
    return _plain(kind[0] if isinstance(kind, list) else kind, schema)


def _plain(kind: str, schema: Mapping[str, Any]) -> Any:
    if kind in {"integer", "number"}:
        low = schema.get("minimum", schema.get("exclusiveMinimum"))
        value = 1 if low is None or low <= 1 <= schema.get("maximum", 1) else low
        return value + 1 if value == schema.get("exclusiveMinimum") else value
    if kind == "array":
        return [_value(schema.get("items", {}))] * max(1, schema.get("minItems", 1))
    if kind == "object":
        return {name: _value(schema.get("properties", {}).get(name, {})) for name in schema.get("required", ())}
    text = _PLAIN.get(kind, "example")
    return text[: schema.get("maxLength", len(text))].ljust(schema.get("minLength", 0), "e") if isinstance(text, str) else text
