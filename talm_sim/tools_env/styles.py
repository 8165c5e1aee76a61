"""Write an argument as its OpenAPI style says, which RFC 6570 defines: in a path, a query, a header, a cookie or a form."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

STYLES = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
"""The styles of each part of a request, its default first. A `*` behind one says that it is exploded, a `+` that reserved signs stay."""
JSON_STYLE = "json"
"""What is declared by a media type is written as JSON in one piece."""
_BETWEEN = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}
_AHEAD = {"label": ".", "matrix": ";"}
_RESERVED = ":/?@!$'()*,;="
"""The reserved signs that a query may contain; of the others, `#` would end it, and brackets, `&` and `+` would mean something else."""


def text_of(value: Any) -> str:
    """Return a single value as text, and any other as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def in_path(name: str, value: Any, style: str = "simple") -> str:
    """Return what stands in a path for an argument.

    >>> [in_path("c", ["a", "b/c"], style) for style in ("simple", "label", "label*", "matrix", "matrix*")]
    ['a,b%2Fc', '.a,b%2Fc', '.a.b%2Fc', ';c=a,b%2Fc', ';c=a;c=b%2Fc']
    """
    ahead = _AHEAD.get(style.removesuffix("*"), "")
    pieces = _pieces(name, value, style, lambda text: quote(text, safe=""), "simple")
    pieces = [piece.removesuffix("=") for piece in pieces] if ahead == ";" else pieces
    return "".join(ahead + piece for piece in pieces) if ahead else ",".join(pieces)


def in_query(name: str, value: Any, style: str = "form*") -> list[str]:
    """Return the pairs of a query, a cookie or a form that an argument makes; none for null and for an empty list.

    >>> [in_query("c", {"r": 1, "g": None, "b": "x y"}, style) for style in ("form*", "form", "pipeDelimited", "deepObject*")]
    [['r=1', 'b=x+y'], ['c=r,1,b,x+y'], ['c=r%7C1%7Cb%7Cx+y'], ['c%5Br%5D=1', 'c%5Bb%5D=x+y']]
    >>> in_query("u", "/a?b=c&d#", "form*+")
    ['u=/a?b=c%26d%23']
    """
    safe = _RESERVED if style.endswith("+") else ""
    return _pieces(name, value, style.removesuffix("+"), lambda text: quote_plus(text, safe=safe), "form")


def in_header(name: str, value: Any, style: str = "simple") -> str:
    """Return the value of a header; a line break would end it, and what follows be another one, so that control characters are spaces."""
    text = ",".join(_pieces(name, value, style, str, "simple"))
    return " ".join("".join(one if one >= " " and one != "\x7f" else " " for one in text).split())


def _pieces(name: str, value: Any, style: str, encode: Callable[[str], str], plain: str) -> list[str]:
    if style == JSON_STYLE:
        value, style = json.dumps(value), plain
    kind, exploded = style.removesuffix("*"), style.endswith("*")
    own = "" if kind in ("simple", "label") else f"{encode(name)}="
    if kind == "deepObject":
        return [f"{encode(key)}={encode(text_of(one))}" for key, one in _leaves(name, value)]
    if isinstance(value, dict):
        members = [(encode(str(key)), encode(text_of(one))) for key, one in value.items() if one is not None]
        if exploded:
            return [f"{key}={one}" for key, one in members]
        parts = [part for member in members for part in member]
    else:
        parts = [encode(text_of(one)) for one in (value if isinstance(value, list) else [value]) if one is not None]
        if exploded:
            return [own + part for part in parts]
    return [own + _BETWEEN.get(kind, ",").join(parts)] if parts else []


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _leaves(f"{name}[{key}]", one)
    elif isinstance(value, list):
        for one in value:
            yield from _leaves(f"{name}[]", one)
    elif value is not None:
        yield name, value
