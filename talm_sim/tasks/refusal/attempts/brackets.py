"""Where brackets and quoted texts end, found in one pass over a text."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["closings", "split_arguments"]

_TOKEN = re.compile(r"""(?<=[(,=:\[{])[ \t\n]*+(?P<text>"(?>(?:[^"\\]++|\\.)*)"|'(?>(?:[^'\\]++|\\.)*)')|[()\[\]{}]""", re.DOTALL)
_STOP = re.compile(r"""[,(\[{"']""")
_CLOSES = {")": "(", "]": "[", "}": "{"}
_MOST_READ = 500
"""Characters of a call's arguments that are read."""


def closings(text: str, start: int) -> dict[int, int]:
    """Return the places of opening brackets and quotes from `start` on, with those of their closing ones; unclosed ones are absent.

    A quote opens a text only where a value may be: an apostrophe in prose does not.
    """
    found: dict[int, int] = {}
    opened: dict[str, list[int]] = {"(": [], "[": [], "{": []}
    for token in _tokens(text, start):
        if token.lastgroup:
            found[token.start("text")] = token.end() - 1
            continue
        bracket = token[0]
        if bracket in opened:
            opened[bracket].append(token.start())
        elif opened[_CLOSES[bracket]]:
            found[opened[_CLOSES[bracket]].pop()] = token.start()
    return found


def _tokens(text: str, start: int) -> list[re.Match[str]]:
    return list(_TOKEN.finditer(text, start))


def split_arguments(text: str, opening: int, closing: int | None, pairs: Mapping[int, int]) -> list[str]:
    """Return the arguments between the parentheses of a call; `closing` is None if it was cut off; at most 500 characters are read."""
    end = min(len(text) if closing is None else closing, opening + 1 + _MOST_READ)
    parts: list[str] = []
    begun = place = opening + 1
    while found := _STOP.search(text, place, end):
        place = found.start()
        if text[place] == ",":
            parts.append(text[begun:place])
            begun = place + 1
        place = pairs.get(place, place) + 1
    parts.append(text[begun:end])
    return [part.strip() for part in parts if part.strip()]
