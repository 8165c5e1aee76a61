"""Lists of JSON objects between tokens of their own: Command R7B and Command A, Command R, and Apertus."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from talm_sim.models.formats.base import CallToWrite, ParsedCall, Piece
from talm_sim.models.formats.families.base import Opening, cut
from talm_sim.models.formats.literals import BrokenError, json_text, read_json, skip_space
from talm_sim.models.formats.shown import ShownParameters

_TOOL_NAME = re.compile(r"\"tool_name\"\s*+:\s*+\"(?P<name>[^\"\n]{1,256}+)")
_FIRST_KEY = re.compile(r"\[\s*+\{\s*+\"(?P<name>[^\"\n]{1,256}+)")
_NAME_CHARS = 600
"""Characters after a mark in which the name of the first call is searched for."""
_DIRECTLY = "directly-answer"
"""The tool of Command R that calls nothing."""


def write_command_r7b(calls: Sequence[CallToWrite]) -> str:
    """Write calls as Command R7B and Command A do."""
    each = (json_text({"tool_call_id": str(number), "tool_name": call.name, "parameters": call.arguments}) for number, call in enumerate(calls))
    lines = ",\n    ".join(each)
    return f"<|START_ACTION|>[\n    {lines}\n]<|END_ACTION|>"


def write_command_r(calls: Sequence[CallToWrite]) -> str:
    """Write calls as Command R and Command R+ do."""
    written = [{"tool_name": call.name, "parameters": call.arguments} for call in calls]
    return f"Action:\n```json\n{json_text(written, indent=4)}```"


def write_apertus(calls: Sequence[CallToWrite]) -> str:
    """Write calls as Apertus does: a name is a key."""
    return f"<|tools_prefix|>[{', '.join(json_text({call.name: call.arguments}) for call in calls)}]<|tools_suffix|>"


def _read_named(value: Any) -> list[ParsedCall]:
    """Read calls of `{"tool_name": f, "parameters": {...}}`."""
    found = []
    for one in value if isinstance(value, list) else [value]:
        name = one.get("tool_name") if isinstance(one, dict) else None
        if not isinstance(name, str) or not name:
            raise BrokenError(0)
        found.append(ParsedCall(name, one.get("parameters") or {}))
    return [one for one in found if one.name != _DIRECTLY]


def _read_keyed(value: Any) -> list[ParsedCall]:
    """Read calls of `{f: {...}}`."""
    found = []
    for one in value if isinstance(value, list) else [value]:
        if not isinstance(one, dict):
            raise BrokenError(0)
        found += [ParsedCall(name, arguments) for name, arguments in one.items()]
    return found


def _reader(
    form: str, calls: Callable[[Any], list[ParsedCall]], name: re.Pattern[str], ends: str, opening: str
) -> Callable[[re.Match[str], ShownParameters], Piece]:
    closed, stop = re.compile(rf"\s*+(?:{ends}|\Z)"), re.compile(rf"(?P<end>{ends})|{opening}")

    def read(match: re.Match[str], _: ShownParameters) -> Piece:
        text, at = match.string, skip_space(match.string, match.end())
        try:
            value, end = read_json(text, at)
            found, ended = calls(value), closed.match(text, end)
            if ended is None:
                raise BrokenError(end)
        except BrokenError:
            named = name.search(text, at, at + _NAME_CHARS)
            return cut(match, at, stop, form, named["name"] if named else "")
        return Piece(match.start(), ended.end(), tuple(found), form)

    return read


_R7B, _R, _APERTUS = r"<\|START_ACTION\|>", r"(?m:^)Action:\s*+```(?>(?:json)?)\s*+(?=\[)", r"<\|tools_prefix\|>"
OPENINGS: tuple[Opening, ...] = (
    (_R7B, _reader("command-r7b", _read_named, _TOOL_NAME, r"<\|END_ACTION\|>", _R7B)),
    (_R, _reader("command-r", _read_named, _TOOL_NAME, "```", _R)),
    (_APERTUS, _reader("apertus", _read_keyed, _FIRST_KEY, r"<\|tools_suffix\|>", _APERTUS)),
)
