"""Read Java values from their source text, as far as BFCL does: numbers, and arrays, lists and maps that are created with their content."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from talm_sim.tasks.refusal.call_checks.source_text import INTEGER, boolean_or_text, found_int, number_or_text, text_between

JAVA_TYPES: Mapping[str, type] = {
    "byte": int,
    "short": int,
    "integer": int,
    "long": int,
    "float": float,
    "double": float,
    "boolean": bool,
    "char": str,
    "String": str,
    "Array": list,
    "ArrayList": list,
    "HashMap": dict,
}
"""What values of a declared type become. Sets, queues and stacks, which BFCL names and does not read, are texts, like `any`."""
_LONG = re.compile(r"(-?\d+)[lL]$")
_DOUBLE = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$")
_FLOAT = re.compile(r"(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)[fF]$")
_ARRAY = re.compile(r"new\s+\w+\[\]\s*\{")
_AS_LIST = re.compile(r"new\s+ArrayList<\w*>\(Arrays\.asList\(")
_ADDING = re.compile(r"new\s+ArrayList<\w*>\(\)\s*\{\{\s*")
_ADD = re.compile(r"add\(([\s\S][^)]*)\)")
_EMPTY_LIST = re.compile(r"new\s+ArrayList<\w*>\(\)")
_MAP = re.compile(r"new\s+HashMap<")
_MADE = re.compile(r">\s*\(\)")
_PUTTING = re.compile(r">\s*\(\)\s*\{")
_PUT = re.compile(r'put\("([^"\n]*)",\s*([^)]*)\)')


def java_value(text: str, declared: str, item: str = "any") -> Any:
    """Read the source of a value.

    >>> java_value("new int[]{1, 2}", "Array", "integer"), java_value("7L", "long"), java_value("count", "integer")
    ([1, 2], 7, 'count')
    """
    if read := _READERS.get(declared):
        return read(text)
    if declared == "Array":
        body = text_between(_ARRAY, "}", text)
        return text if body is None else [java_value(one.strip(), item) for one in body.split(",") if one.strip()]
    return _list(text, item) if declared == "ArrayList" else text


def _read_double(text: str) -> float | str:
    return float(text) if _DOUBLE.match(text) else text


def _float(text: str) -> float | str:
    found = _FLOAT.match(text)
    return float(found.group(1)) if found else text


def _list(text: str, item: str) -> Any:
    if (listed := text_between(_AS_LIST, "))", text, least=1)) is not None:
        return [_item(one.strip(), item) for one in listed.split(",")]
    adding = _ADDING.search(text)
    end = text.find("}}", adding.end() + 1) if adding else -1
    if adding and end >= 0:
        return [_item(one.strip(), item) for one in _ADD.findall(text, adding.end(), _last_close(text, end)) if "\n" not in one]
    return [] if _EMPTY_LIST.search(text) else text


def _item(text: str, declared: str) -> Any:
    """Return an item of a list: a text or a character is assumed to be quoted."""
    return text[1:-1] if declared in {"char", "String"} else java_value(text, declared)


def _map(text: str) -> Any:
    if not (start := _MAP.search(text)):
        return text
    putting = _PUTTING.search(text, start.end())
    end = text.find("}", putting.end()) if putting else -1
    if putting and end >= 0:
        puts = _PUT.findall(text, putting.end(), _last_close(text, end))
        return {key: _untyped(value.strip()) for key, value in puts if "\n" not in value}
    return {} if _MADE.search(text, start.end()) else text


def _last_close(text: str, end: int) -> int:
    """Return the end of the last `)` before `end`: a search up to there finds each opened one closed, and so never repeats itself."""
    return text.rfind(")", 0, end) + 1


def _untyped(text: str) -> Any:
    """Read a value without a declared type, by its looks."""
    if text.startswith('"') and text.endswith('"'):
        return text[1:-1]
    for read in (boolean_or_text, partial(found_int, _LONG), _float):
        if (value := read(text)) is not text:
            return value
    return number_or_text(text)


_READERS: Mapping[str, Callable[[str], Any]] = {
    **dict.fromkeys(("byte", "short", "integer"), partial(found_int, INTEGER)),
    "long": partial(found_int, _LONG),
    "double": _read_double,
    "float": _float,
    "boolean": boolean_or_text,
    "HashMap": _map,
}
