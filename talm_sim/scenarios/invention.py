"""Invent a plausible wrong value for an argument that nobody gave, as a model would that never notices."""

from __future__ import annotations

import re
from typing import Any

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DAYS = ("2024-03-15", "2023-11-02")


def invent(schema: dict[str, Any], gold: Any) -> Any:
    """Return a value that fits the schema and is not `gold`.

    It comes from the schema's examples, enum or default; if these contain nothing but `gold`, it is a placeholder of the same shape.

    >>> invent({"type": "string", "examples": ["HAN", "CDG"]}, "HAN")
    'CDG'
    >>> invent({"type": "integer"}, 7)
    8
    """
    candidates = [*_list_of(schema, "examples"), *_list_of(schema, "enum"), *([schema["default"]] if schema.get("default") is not None else [])]
    for option in schema.get("anyOf", ()):
        candidates += [*_list_of(option, "examples"), *_list_of(option, "enum")]
    return next((value for value in candidates if value is not None and not _is_equal(value, gold)), _placeholder(schema, gold))


def _list_of(schema: dict[str, Any], key: str) -> list[Any]:
    values = schema.get(key)
    return list(values) if isinstance(values, list | tuple) else []


def _is_equal(value: Any, gold: Any) -> bool:
    if isinstance(value, str) and isinstance(gold, str):
        return value.casefold() == gold.casefold()
    return bool(value == gold)


def _placeholder(schema: dict[str, Any], gold: Any) -> Any:
    """Return a value shaped like `gold`: the one next to it, the other truth value, another date, the same letters in another order."""
    if isinstance(gold, bool):
        return not gold
    if isinstance(gold, int | float):
        return gold - 1 if gold + 1 > schema.get("maximum", gold + 1) else gold + 1
    if isinstance(gold, list):
        items = schema.get("items", {})
        return [_placeholder(items, item) for item in gold] or ["something"]
    if not isinstance(gold, str):
        return "something"
    if _DATE.match(gold):
        return next(day for day in _DAYS if day != gold[:10]) + gold[10:]
    shuffled = gold[1:] + gold[:1]
    longest = schema.get("maxLength", len(gold) + 1)
    return shuffled if not _is_equal(shuffled, gold) else (gold + "a")[-longest:]
