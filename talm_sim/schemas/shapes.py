"""Write JSON Schemas in a few words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_DEEPEST, _MOST_WORDS, _FEW = 12, 600, 6
_WORDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "null", "object": "{...}"}
_FORMATS = {"date": "date as YYYY-MM-DD"}


def shape_of(schema: Mapping[str, Any]) -> str:
    """Return what a value of a schema without references looks like, on one line; empty if the schema says nothing.

    >>> shape_of({"type": "object", "properties": {"feet": {"type": "integer"}, "names": {"type": "array", "items": {"type": "string"}}}})
    '{"feet": whole number, "names": [text, ...]}'
    """
    if not schema:
        return ""
    said = _shape(schema, 0)
    return said if len(said) <= _MOST_WORDS else f"{said[: _MOST_WORDS - 1]}…"


def _shape(schema: Any, depth: int) -> str:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return "anything"
    kind, properties = schema.get("type"), schema.get("properties")
    alternatives = _alternatives(schema, depth)
    if alternatives:
        return " or ".join(dict.fromkeys(alternatives))
    if isinstance(properties, Mapping):
        parts = [f"{json.dumps(str(name), ensure_ascii=False)}: {_shape(part, depth + 1)}" for name, part in properties.items()]
        return f"{{{', '.join(parts)}}}"
    if kind == "array":
        return f"[{_shape(schema.get('items'), depth + 1)}, ...]"
    return _FORMATS.get(str(schema.get("format")), "") or _WORDS.get(str(kind), "anything")


def _alternatives(schema: Mapping[str, Any], depth: int) -> list[str]:
    if "const" in schema or isinstance(schema.get("enum"), list):
        values = [schema["const"]] if "const" in schema else schema["enum"]
        return [json.dumps(value, ensure_ascii=False) for value in values[:_FEW]] + (["..."] if len(values) > _FEW else [])
    parts = next((found for key in ("anyOf", "oneOf") if isinstance(found := schema.get(key), list)), None)
    if parts is None and isinstance(schema.get("type"), list):
        own = {"object": "properties", "array": "items"}
        parts = [
            {"type": kind, **{key: schema[key] for key in (own.get(kind, ""), "format") if key in schema}}
            for kind in dict.fromkeys(map(str, schema["type"]))
        ]
    return [_shape(part, depth + 1) for part in (parts or [])[:_FEW]]
