"""Calls that name their tool in words: GLM-4 9B, a name above a JSON object; and `[Calling tool: f({...})]`, which models copy from logs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from talm_sim.models.formats.base import CallToWrite, ParsedCall, Piece
from talm_sim.models.formats.families.base import NAME, Opening, cut
from talm_sim.models.formats.literals import BrokenError, json_text, read_json
from talm_sim.models.formats.python_calls import read_bare
from talm_sim.models.formats.shown import ShownParameters

_TURN = r"<\|(?:assistant|observation|user)\|>"
_NAMED = re.compile(rf"(?:<\|assistant\|>)?\s*+(?P<name>{NAME})[ \t]*+\n\s*+")
_ENDS = re.compile(rf"\s*+(?:(?={_TURN})|\Z)")
_STOP = re.compile(rf"(?P<end>(?!))|{_TURN}")
_IDENTIFIER = re.compile(r"(?!\S*\.json\b)[A-Za-z][A-Za-z0-9]*(?:[._]\w|(?<=[a-z0-9])[A-Z])")
"""Pattern that matches no word of prose and no label of a listing."""


def write_glm_4(calls: Sequence[CallToWrite]) -> str:
    """Write calls; each is its own turn."""
    return "<|assistant|>".join(f"{call.name}\n{json_text(call.arguments)}" for call in calls)


def _lines(match: re.Match[str], shown: ShownParameters) -> Piece:
    """Match a tool's name at the beginning of a turn that has nothing else: a shown tool's, or any that looks like one."""
    text, named = match.string, _NAMED.match(match.string, match.start())
    assert named is not None
    if named["name"] not in shown and not _IDENTIFIER.match(named["name"]):
        return Piece(match.start(), named.end(), (), "")
    try:
        arguments, end = read_json(text, named.end())
    except BrokenError:
        return cut(match, named.end(), _STOP, "glm-4", named["name"])
    if ends := _ENDS.match(text, end):
        return Piece(match.start(), ends.end(), (ParsedCall(named["name"], arguments),), "glm-4")
    if named["name"] in shown:
        return cut(match, named.end(), _STOP, "glm-4", named["name"])
    return Piece(match.start(), end, (), "")  # a name and an object, and prose that continues


_CALLING = re.compile(rf"(?P<quote>[\"'`]?)(?P<name>{NAME})(?P=quote)\s*+(?:\(|(?:with\s)?(?:args|arguments|parameters|input):?)\s*+(?=\{{)")
_CALLING_ENDS = re.compile(r"\s*+\)?\s*+(?:\]|\Z)")


def _announced(match: re.Match[str], shown: ShownParameters) -> Piece:
    """Read a call in brackets; what is none, of a tool that is not shown, is text."""
    text, named = match.string, _CALLING.match(match.string, match.end())
    try:
        if named is not None:
            arguments, end = read_json(text, named.end())
            found = [ParsedCall(named["name"], arguments)]
        else:
            found, end = read_bare(text, match.end())
        if (closed := _CALLING_ENDS.match(text, end)) is not None:
            return Piece(match.start(), closed.end(), tuple(found), "json")
    except BrokenError:
        pass
    return Piece(match.start(), match.end(), (), "")


OPENINGS: tuple[Opening, ...] = (
    (rf"(?:\A|<\|assistant\|>)\s*+{NAME}[ \t]*+\n\s*+(?=\{{)", _lines),
    (
        r"\[(?i:(?:call(?:ing|ed)?|us(?:ing|ed)|invok(?:ing|ed))\s(?:tool|function)|(?:tool|function)[ _]?calls?+)\s*+:?\s*+(?=[\w\"'`])",
        _announced,
    ),
)
