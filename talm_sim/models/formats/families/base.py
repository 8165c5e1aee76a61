"""Helpers that readers of families share: they recognize an opening, and mark calls that cannot be read."""

from __future__ import annotations

import re
from collections.abc import Callable

from talm_sim.models.formats.base import ParsedCall, Piece
from talm_sim.models.formats.literals import BrokenError, read_json, skip_space
from talm_sim.models.formats.shown import ShownParameters

NAME = r"[^\W\d][\w.-]{0,255}+"
"""A tool's name, as the source of a regular expression."""
Opening = tuple[str, Callable[[re.Match[str], ShownParameters], Piece]]
"""How calls of a family begin, as the source of a regular expression without named groups, and what reads them from there."""


def cut(match: re.Match[str], at: int, stop: re.Pattern[str], form: str, name: str = "") -> Piece:
    """Return a call that its mark identifies and that cannot be read."""
    text, found = match.string, stop.search(match.string, at)
    end = len(text) if found is None else found.end() if found["end"] else found.start()
    return Piece(match.start(), end, (ParsedCall(name or "unknown", raw=text[match.start() : end].strip() or "(empty)"),), form)


def arguments_at(text: str, at: int, ends: re.Pattern[str]) -> tuple[object, int]:
    """Read the object of arguments at `at`, up to what must follow it; return it, empty if only that follows, and the place after `ends`."""
    at = skip_space(text, at)
    given = text[at : at + 1] == "{"
    value, at = read_json(text, at) if given else ({}, at)
    if (closed := ends.match(text, at)) is None:
        raise BrokenError(at)
    if not given and closed.end() == len(text) and not closed[0].strip("` \t\r\n"):
        raise BrokenError(len(text))  # cut off where they would begin
    return value, closed.end()
