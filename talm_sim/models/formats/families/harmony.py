"""Harmony, the format of gpt-oss: a call is a message to a tool, on a channel."""

from __future__ import annotations

import re
from collections.abc import Sequence

from talm_sim.models.formats.base import CallToWrite, ParsedCall, Piece
from talm_sim.models.formats.families.base import NAME, Opening, arguments_at, cut
from talm_sim.models.formats.literals import BrokenError, json_text
from talm_sim.models.formats.shown import ShownParameters

_BEGINS = r"(?>(?:<\|start\|>(?:assistant)?\s*+)?)(?>(?:<\|channel\|>\w++\s*+)?)"
_LED = r"(?:<\|start\|>(?:assistant)?\s*+(?>(?:<\|channel\|>\w++\s*+)?)|<\|channel\|>\w++\s*+)"
_TO = rf"{_LED}to=(?!user\b|assistant\b|all\b)|{_BEGINS}\bto=functions\."
_HEAD = re.compile(rf"(?:functions\.)?(?P<name>{NAME})[^<>{{]{{0,40}}+(?>(?:<\|(?:channel|constrain)\|>[^<>{{]{{0,40}}+){{0,4}})<\|message\|>")
_NAMED = re.compile(rf"(?:functions\.)?(?P<name>{NAME})")
_ENDS = re.compile(r"\s*+(?:<\|(?:call|end|return)\|>|(?=<\|(?:start|channel)\|>)|\Z)")
_STOP = re.compile(r"(?P<end><\|(?:call|end|return)\|>)|<\|start\|>|\bto=functions\.")


def write_harmony(calls: Sequence[CallToWrite]) -> str:
    """Write calls as the model does; each is a message of its own."""
    head = "<|channel|>commentary to=functions."
    return "<|call|><|start|>assistant".join(f"{head}{call.name} <|constrain|>json<|message|>{json_text(call.arguments)}" for call in calls)


def _message(match: re.Match[str], _: ShownParameters) -> Piece:
    text, head = match.string, _HEAD.match(match.string, match.end())
    if head is None:
        named = _NAMED.match(text, match.end())
        return cut(match, match.end(), _STOP, "harmony", named["name"] if named else "")
    try:
        arguments, end = arguments_at(text, head.end(), _ENDS)
    except BrokenError:
        return cut(match, head.end(), _STOP, "harmony", head["name"])
    return Piece(match.start(), end, (ParsedCall(head["name"], arguments),), "harmony")


OPENINGS: tuple[Opening, ...] = ((_TO, _message),)
