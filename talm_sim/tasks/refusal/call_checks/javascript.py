"""Read JavaScript values from their source text, as far as BFCL does: numbers, texts, arrays up to two deep, objects one deep."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from talm_sim.tasks.refusal.call_checks.source_text import INTEGER, boolean_or_text, found_int, number_or_text

JAVASCRIPT_TYPES: Mapping[str, type] = {
    "String": str,
    "integer": int,
    "float": float,
    "Bigint": int,
    "Boolean": bool,
    "dict": dict,
    "array": list,
}
"""What values of a declared type become; others are texts, like `any`."""
_FLOAT = re.compile(r"-?\d+(?:\.\d+)?$")
_BIGINT = re.compile(r"(-?\d+)n$")
_NEW_ARRAY = re.compile(r"new\s+Array\(")
_ROWS_OPEN = re.compile(r"\[\s*\[|new\s+Array\(\s*\[")
_SPACE = re.compile(r"\s*")
_NEXT_ROW = re.compile(r",\s*\[")
_ROW = re.compile(r"\[([^\]\n]*)\]")


def javascript_value(text: str, declared: str, item: str = "any") -> Any:
    """Read the source of a value.

    >>> javascript_value("[1, 2]", "array", "integer"), javascript_value("{a: 'x'}", "dict"), javascript_value("items", "array")
    ([1, 2], {'a': 'x'}, 'items')
    """
    if read := _READERS.get(declared):
        return read(text)
    return _array(text.strip(), lambda one: javascript_value(one, item)) if declared == "array" else text


def _float(text: str) -> float | str:
    return float(text) if _FLOAT.match(text) else text


def _string(text: str) -> str:
    return text[1:-1] if text and text[0] == text[-1] and text[0] in "'\"" else text


def _array(text: str, read: Callable[[str], Any]) -> Any:
    if (rows := _rows(text)) is not None:
        return [[_untyped(one) for one in row.split(",")] for row in rows]
    made = _NEW_ARRAY.match(text)
    start = made.end() if made else 1
    end = text.find(")" if made else "]", start)
    if not (made or text.startswith("[")) or end < 0 or "\n" in text[start:end]:
        return text
    body = text[start:end].strip()
    return [read(one.strip()) for one in body.split(",")] if body else []


def _rows(text: str) -> list[str] | None:
    """Return the inside of each inner array; None if it is not an array of arrays.

    A bracket closes an inner array if the outer one ends after it, or the next one begins; otherwise it is part of the text.
    """
    if not (opened := _ROWS_OPEN.match(text)):
        return None
    last = "]" if text.startswith("[") else ")"
    at = opened.end()
    while True:
        end = text.find("]", at)
        if end < 0 or "\n" in text[at:end]:
            return None
        after = _skip_space(text, end + 1)
        if text.startswith(last, after):
            return _ROW.findall(text, opened.end() - 1, after + 1)
        following = _NEXT_ROW.match(text, after)
        at = following.end() if following else end + 1


def _skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _object(text: str) -> Any:
    text = text.strip()
    end = text.find("}")
    if not text.startswith("{") or end < 0 or "\n" in text[:end]:
        return text
    return {key.strip().strip("'\""): _property(value.strip()) for key, value in _properties(text[1:end])}


def _properties(body: str) -> Iterator[tuple[str, str]]:
    """Return keys and values, not yet stripped."""
    at = 0
    while True:
        while body.startswith(":", at):
            at += 1
        colon = body.find(":", at)
        if colon < 0:
            return
        start = _skip_space(body, colon + 1)
        end, following = _value_end(body, start)
        yield body[at:colon], body[start:end]
        if following < 0:
            return
        at = following


def _value_end(body: str, start: int) -> tuple[int, int]:
    """Return where a value ends and the next key begins (-1: nowhere): at a comma with a key after it, as an array has commas too."""
    comma = body.find(",", start)
    while comma >= 0:
        following = body.find(",", comma + 1)
        stop = len(body) if following < 0 else following
        if body.find(":", comma + 2, stop) >= 0:
            key = _skip_space(body, comma + 1)
            return comma, key if body.find(":", key + 1, stop) >= 0 else key - 1
        comma = following
    return len(body), -1


def _property(value: str) -> Any:
    if value.startswith("[") and value.endswith("]"):
        return _array(value, _untyped)
    return _untyped(value.strip("'\""))


def _untyped(text: str) -> Any:
    """Read a value without a declared type, by its looks."""
    text = text.strip()
    if text in {"true", "false"}:
        return text == "true"
    unquoted = _string(text)
    return number_or_text(text) if unquoted is text else unquoted


_READERS: Mapping[str, Callable[[str], Any]] = {
    "String": _string,
    "integer": partial(found_int, INTEGER),
    "float": _float,
    "Bigint": partial(found_int, _BIGINT),
    "Boolean": boolean_or_text,
    "dict": _object,
}
