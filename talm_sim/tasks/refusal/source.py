"""Values of accepted calls as Java and JavaScript source code: what a model that knows them would write for such functions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["source_of"]


def source_of(value: Any, schema: Mapping[str, Any], syntax: str) -> str:
    """Write a value in the syntax that its function is of.

    Args:
        value: JSON's; a text is source code already.
        schema: The parameter's, with its `type` and that of its `items`.
        syntax: `java` or `javascript`.

    >>> source_of([1, 2], {"type": "Array", "items": {"type": "integer"}}, "java"), source_of({"a": ["b"]}, {}, "javascript")
    ('new integer[]{1, 2}', '{a: ["b"]}')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | dict):
        return _java(value, schema) if syntax == "java" else _javascript(value)
    return f"{value}{_suffix(schema) if syntax == 'java' and not isinstance(value, str) else ''}"


def _java(value: Any, schema: Mapping[str, Any]) -> str:
    inner = schema.get("items")
    item = inner if isinstance(inner, Mapping) else {}
    if isinstance(value, list):
        array, kind = schema.get("type") == "Array", item.get("type", "Object")
        # Of the items of an array BFCL keeps the quotes, so that only bare texts are right there.
        items = ", ".join(one if array and isinstance(one, str) else _item(one, item, "java") for one in value)
        return f"new {kind}[]{{{items}}}" if array else f"new ArrayList<{kind}>(Arrays.asList({items}))"
    puts = " ".join(f"put({json.dumps(key)}, {_item(one, {}, 'java')});" for key, one in value.items())
    return f"new HashMap<String, Object>() {{{{ {puts} }}}}"


def _javascript(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_item(one, {}, 'javascript') for one in value)}]"
    pairs = (f"{key}: {_item(one, {}, 'javascript')}" for key, one in value.items())
    return f"{{{', '.join(pairs)}}}"


def _item(value: Any, schema: Mapping[str, Any], syntax: str) -> str:
    if not isinstance(value, str):
        return source_of(value, schema, syntax)
    if schema.get("type") == "any":
        return value
    return f"'{value}'" if schema.get("type") == "char" else json.dumps(value, ensure_ascii=False)


def _suffix(schema: Mapping[str, Any]) -> str:
    return {"long": "L", "float": "f"}.get(str(schema.get("type")), "")
