"""Explain why a request cannot be replayed: the nearest recording and what differs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from vcr.matchers import get_matchers_results
from vcr.request import Request

from talm_sim.recordings.matching import MATCHERS

__all__ = ["explain_miss"]

_URL_SHOWN = 160
_VALUE_SHOWN = 60


def explain_miss(asked: Request, recorded: Iterable[Request]) -> str:
    """Say in one line which of `recorded` is nearest to `asked`, and which matchers failed.

    Args:
        asked: The request, without secrets.
        recorded: The recorded requests, without secrets.
    """
    shown = f"{asked.method} {asked.uri[:_URL_SHOWN]}"
    ranked = [(get_matchers_results(asked, request, MATCHERS), request) for request in recorded]
    if not ranked:
        return f"{shown} was not recorded; the recording is empty or absent."
    (_, failures), nearest = max(ranked, key=lambda item: (len(item[0][0]), _common_prefix_length(asked.body or b"", item[1].body or b"")))
    names = [name for name, _ in failures]
    if not names:
        times = sum(1 for (_, failed), _ in ranked if not failed)
        return f"{shown} was recorded {times} time(s) and requested once more."
    where = _difference(asked.body, nearest.body) if "body" in names else ""
    what = "; ".join(f"{name} differs{where if name == 'body' else ''}" for name in names)
    return f"{shown} was not recorded. Nearest: {nearest.method} {nearest.uri[:_URL_SHOWN]} ({what})."


def _difference(asked: bytes | None, recorded: bytes | None) -> str:
    """Say where two bodies differ: ` at messages.1.content: 'a' against recorded 'b'`."""
    try:
        path, one, other = _first_difference(json.loads(asked or b"null"), json.loads(recorded or b"null"), "")
    except (ValueError, RecursionError):
        path, one, other = "", (asked or b"").decode(errors="replace"), (recorded or b"").decode(errors="replace")
    start = max(0, _common_prefix_length(one.encode(errors="replace"), other.encode(errors="replace")) - 20)
    pieces = [" ".join(text[start : start + _VALUE_SHOWN].split()) for text in (one, other)]
    dots = "..." if start else ""
    return f"{' at ' + path if path else ''}: '{dots}{pieces[0]}' against recorded '{dots}{pieces[1]}'"


def _first_difference(asked: Any, recorded: Any, path: str) -> tuple[str, str, str]:
    """Return the path of the first value that differs, and both values as text; lists and objects are compared as far as both go."""
    pairs: list[tuple[str, Any, Any]] = []
    if isinstance(asked, dict) and isinstance(recorded, dict):
        pairs = [(key, asked.get(key, ...), recorded.get(key, ...)) for key in sorted({*asked, *recorded})]
    elif isinstance(asked, list) and isinstance(recorded, list):
        length = max(len(asked), len(recorded))
        one, other = (values + [...] * (length - len(values)) for values in (asked, recorded))
        pairs = [(str(place), a, b) for place, (a, b) in enumerate(zip(one, other, strict=True))]
    for name, a, b in pairs:
        if a != b:
            return _first_difference(a, b, f"{path}.{name}" if path else name)
    return path, _format_value(asked), _format_value(recorded)


def _format_value(value: Any) -> str:
    return "nothing" if value is ... else value if isinstance(value, str) else json.dumps(value)


def _common_prefix_length(one: bytes, other: bytes) -> int:
    """Return the length of the common beginning, found by halving: bodies are long, and there may be many."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low
