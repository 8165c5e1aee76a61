"""Calls in Python's syntax between tags: OLMo 3, and SmolLM3 if its tools are Python functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from talm_sim.models.formats.base import CallToWrite, ParsedCall, Piece
from talm_sim.models.formats.families.base import Opening, cut
from talm_sim.models.formats.literals import BrokenError, json_text, read_expression, skip_space
from talm_sim.models.formats.python_calls import BARE_CALL, read_bare
from talm_sim.models.formats.shown import ShownParameters

_OLMO_STOP = re.compile(r"(?P<end></function_calls>)|<function_calls>")
_CODE_STOP = re.compile(r"(?P<end></code>)|<code>")
_KEY = re.compile(r"\s*+(?P<key>[^\W\d]\w{0,255}+)\s*+=\s*+(?P<quote>['\"]?)")
_TEXT_ENDS = {quote: re.compile(rf"{quote}\s*+(?:,(?=\s*+[^\W\d]\w*+\s*+=(?!=))|\)(?=\s*+(?:\Z|[^\W\d][\w.-]*+\()))") for quote in "'\""}
_KEYWORD = re.compile(r"\s*+(?:\)|[\w$@][\w.$@-]*+\s*+=(?!=))")


def write_olmo_3(calls: Sequence[CallToWrite]) -> str:
    """Write calls as OLMo 3 does: texts in single quotes, all else as JSON."""
    return f"<function_calls>\n{_lines(calls)}\n</function_calls>"


def write_smollm3_code(calls: Sequence[CallToWrite]) -> str:
    """Write calls as SmolLM3 does if its tools are Python functions."""
    return f"<code>\n{_lines(calls, repr)}\n</code>"


def _lines(calls: Sequence[CallToWrite], other: Any = json_text) -> str:
    return "\n".join(
        f"{call.name}({', '.join(f'{key}={repr(value) if isinstance(value, str) else other(value)}' for key, value in call.arguments.items())})"
        for call in calls
    )


def _olmo(match: re.Match[str], _: ShownParameters) -> Piece:
    text, start = match.string, skip_space(match.string, match.end())
    named = BARE_CALL.match(text, start)
    name = named["name"] if named else ""
    try:
        found, end = read_bare(text, start)
        if (closed := _OLMO_STOP.match(text, skip_space(text, end))) and closed["end"]:
            return Piece(match.start(), closed.end(), tuple(found), "olmo3")
    except BrokenError:
        pass
    if (stop := _OLMO_STOP.search(text, start)) is None or not stop["end"]:
        return cut(match, start, _OLMO_STOP, "olmo3", name)
    try:
        return Piece(match.start(), stop.end(), tuple(_read_unescaped(text[start : stop.start()].rstrip())), "olmo3")
    except BrokenError:
        return cut(match, start, _OLMO_STOP, "olmo3", name)


def _read_unescaped(body: str) -> list[ParsedCall]:
    """Read calls whose texts have unescaped quotes, as the chat template writes them: a text ends before what can only follow one."""
    found, at = [], 0
    while at < len(body):
        if (called := BARE_CALL.match(body, at)) is None:
            raise BrokenError(at)
        arguments, at = _arguments(body, skip_space(body, called.end()))
        found.append(ParsedCall(called["name"], arguments))
        at = skip_space(body, at)
    return found


def _arguments(body: str, at: int) -> tuple[dict[str, Any], int]:
    arguments: dict[str, Any] = {}
    while body[at : at + 1] != ")":
        if (key := _KEY.match(body, at)) is None:
            raise BrokenError(at)
        if not key["quote"]:
            arguments[key["key"]], at = read_expression(body, key.end())
            at = skip_space(body, at)
            at = skip_space(body, at + 1) if body[at : at + 1] == "," else at
            continue
        if (end := _TEXT_ENDS[key["quote"]].search(body, key.end())) is None:
            raise BrokenError(len(body))
        arguments[key["key"]] = body[key.end() : end.start()]
        at = end.end() - 1 if end[0].endswith(")") else end.end()
    return arguments, at + 1


def _code(match: re.Match[str], shown: ShownParameters) -> Piece:
    """Read calls with keywords and nothing else; any other code is text."""
    text, start = match.string, skip_space(match.string, match.end())
    named = BARE_CALL.match(text, start)
    if named is None or not (named["name"] in shown or _KEYWORD.match(text, named.end())):
        return Piece(match.start(), match.end(), (), "")
    stop = _CODE_STOP.search(text, start)
    try:
        found, end = read_bare(text, start)
        if (closed := _CODE_STOP.match(text, skip_space(text, end))) and closed["end"]:
            return Piece(match.start(), closed.end(), tuple(found), "smollm3-code")
    except BrokenError:
        pass
    if stop is not None and stop["end"] and named["name"] not in shown:
        return Piece(match.start(), match.end(), (), "")
    return cut(match, start, _CODE_STOP, "smollm3-code", named["name"])


OPENINGS: tuple[Opening, ...] = (
    (r"<function_calls>(?=\s*+(?:[^\W\d][\w.-]*+(?:\(|\s*+\Z)|\Z))", _olmo),
    (r"(?m:^)<code>(?=\s*+[^\W\d][\w.-]*+\()", _code),
)
