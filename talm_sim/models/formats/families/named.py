"""GLM-4 9B: a tool's name on a line, and a JSON object on the next."""

from __future__ import annotations

import re
from collections.abc import Sequence

from talm_sim.models.formats.base import CallToWrite, ParsedCall, Piece
from talm_sim.models.formats.families.base import NAME, Opening, cut
from talm_sim.models.formats.literals import BrokenError, json_text, read_json
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
    ends = _ENDS.match(text, end)
    if ends:
        return Piece(match.start(), ends.end(), (ParsedCall(named["name"], arguments),), "glm-4")
    if named["name"] in shown:
        return cut(match, named.end(), _STOP, "glm-4", named["name"])
    return Piece(match.start(), end, (), "")  # a name and an object, and prose that continues


OPENINGS: tuple[Opening, ...] = ((rf"(?:\A|<\|assistant\|>)\s*+{NAME}[ \t]*+\n\s*+(?=\{{)", _lines),)
