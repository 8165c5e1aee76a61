"""Calls in Python's syntax, `f(a=1)`, found by walking over the text, so that any name and any cut is recognized."""

from __future__ import annotations

import re

from talm_sim.models.formats.base import ParsedCall
from talm_sim.models.formats.literals import BrokenError, read_expression, skip_space

_CALLED = r"(?P<name>[^\W\d][\w.-]*+)[ \t]*+\("
CALL_LIST = re.compile(rf"\[\s*+{_CALLED}")
"""How a list of calls begins."""
BARE_CALL = re.compile(_CALLED)
"""How a call alone begins."""
_KEY = re.compile(r"([\w$@][\w.$@-]*+)\s*+=(?![=>])")
_BETWEEN = re.compile(r"[\s,;]*+")
_DEEPEST_PRINT = 1


def read_list(text: str, at: int) -> tuple[list[ParsedCall], int]:
    """Read `[f(a=1), g()]` from its opening bracket on; return the calls, and the place after the closing bracket."""
    found = []
    at = skip_space(text, at + 1)
    while text[at : at + 1] != "]":
        call, at = _call(text, at)
        found.append(call)
        at = skip_space(text, at)
        if text[at : at + 1] == ",":
            at = skip_space(text, at + 1)
        elif text[at : at + 1] != "]":
            raise BrokenError(at)
    return found, at + 1


def read_bare(text: str, at: int) -> tuple[list[ParsedCall], int]:
    """Read `f(a=1)`, and those after it separated only by commas, semicolons or line breaks."""
    found = []
    while True:
        call, end = _call(text, at)
        found.append(call)
        between = _BETWEEN.match(text, end)
        at = between.end() if between else end
        if BARE_CALL.match(text, at) is None:
            return found, end


def _call(text: str, at: int, printed: int = 0) -> tuple[ParsedCall, int]:
    if (opened := BARE_CALL.match(text, at)) is None:
        raise BrokenError(at)
    at = skip_space(text, opened.end())
    if opened["name"] == "print" and printed < _DEEPEST_PRINT and BARE_CALL.match(text, at):  # Gemma prints what a call returns
        call, at = _call(text, at, printed + 1)
        at = skip_space(text, at)
        if text[at : at + 1] != ")":
            raise BrokenError(at)
        return call, at + 1
    arguments = {}
    while text[at : at + 1] != ")":
        if (key := _KEY.match(text, at)) is None:
            raise BrokenError(at)
        arguments[key[1]], at = read_expression(text, skip_space(text, key.end()))
        at = skip_space(text, at)
        if text[at : at + 1] == ",":
            at = skip_space(text, at + 1)
        elif text[at : at + 1] != ")":
            raise BrokenError(at)
    return ParsedCall(opened["name"], arguments), at + 1
