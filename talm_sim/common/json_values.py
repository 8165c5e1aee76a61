"""Read JSON values: a text that may hold none, parts of a value that may not be there, and whether two values are the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from jsonpointer import EndOfList, JsonPointerException, resolve_pointer

NOT_THERE: Final = object()
"""What `value_at` returns of a part that is not there; it is no JSON value."""


_DEEPEST = 100
"""Levels of a value; what is nested more deeply no tool means, and nothing that follows it level by level could."""


def read_json(text: str | bytes | None) -> Any:
    """Return the value of a JSON text; None if it is none, for example because a long result was cut, or is nested too deeply.

    >>> read_json('{"a": 1}'), read_json('{"a": 1'), read_json(None)
    ({'a': 1}, None, None)
    """
    try:
        value = None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return None
    return None if any(len(path) > _DEEPEST for path, _ in _ends(value)) else value


def read_result(text: str) -> Any:
    """Return the value of a tool's result as an agent read it: that of a JSON text, else the text itself.

    >>> read_result('{"a": 1}'), read_result("two words")
    ({'a': 1}, 'two words')
    """
    try:
        json.loads(text)
    except ValueError:
        return text
    except RecursionError:
        return None
    return read_json(text)


def same_value(left: Any, right: Any) -> bool:
    """Tell whether two arguments are the same.

    Numbers compare by value (1 is 1.0, and is not True), texts without regard to case and surrounding space.
    """
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, str) and isinstance(right, str):
        return left.strip().casefold() == right.strip().casefold()
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same_value, left, right))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same_value(value, right[key]) for key, value in left.items())
    return bool(left == right)


def leaves(value: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Return the values in a JSON value that are no object and no list, each with its path.

    >>> list(leaves({"a": [1, {"b": None}], "c": "x"}))
    [(('a', 0), 1), (('a', 1, 'b'), None), (('c',), 'x')]
    """
    return ((path, one) for path, one in _ends(value) if not isinstance(one, dict | list))


def named_leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Return the same values, each with the name of the field that it is in, of a list the list's; `name` where there is none.

    >>> list(named_leaves({"a": [1, {"b": None}]}))
    [('a', 1), ('b', None)]
    """
    return ((next((part for part in reversed(path) if isinstance(part, str)), name), one) for path, one in leaves(value))


def _ends(value: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield what contains nothing further, empty objects and lists too, each with its path."""
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while waiting:
        path, one = waiting.pop()
        if one and isinstance(one, dict):
            waiting += [((*path, name), part) for name, part in reversed(one.items())]
        elif one and isinstance(one, list):
            waiting += [((*path, place), part) for place, part in reversed([*enumerate(one)])]
        else:
            yield path, one


def value_at(document: Any, pointer: str) -> Any:
    """Return the part of a JSON value that a JSON pointer (RFC 6901) names, or `NOT_THERE`.

    >>> value_at({"a": [1, None]}, "/a/1"), value_at({"a": []}, "/a/0") is NOT_THERE, value_at(None, "") is NOT_THERE
    (None, True, True)
    """
    if document is None:
        return NOT_THERE
    try:
        found = resolve_pointer(document, pointer)
    except JsonPointerException:
        return NOT_THERE
    return NOT_THERE if isinstance(found, EndOfList) else found


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a JSON value with all its texts changed, the keys of objects included.

    >>> map_texts({"a": ["b", 1]}, str.upper)
    {'A': ['B', 1]}
    """
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(str(key)): map_texts(item, change) for key, item in value.items()}
    return [map_texts(item, change) for item in value] if isinstance(value, list | tuple) else value
