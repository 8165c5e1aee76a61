"""Calls in sections of special tokens, each a name and a JSON object: DeepSeek V3 (also R1 and models distilled from it), V3.1, and Kimi K2."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from talm_sim.models.formats.base import CallToWrite, ParsedCall, Piece
from talm_sim.models.formats.families.base import NAME, Opening, arguments_at, cut
from talm_sim.models.formats.literals import BrokenError, json_text
from talm_sim.models.formats.shown import ShownParameters

_OPEN, _CLOSE, _SEP = "<\uff5ctool▁call▁begin\uff5c>", "<\uff5ctool▁call▁end\uff5c>", "<\uff5ctool▁sep\uff5c>"
_ALL_OPEN, _ALL_CLOSE = "<\uff5ctool▁calls▁begin\uff5c>", "<\uff5ctool▁calls▁end\uff5c>"
_KIMI_OPEN, _KIMI_CLOSE, _KIMI_SEP = "<|tool_call_begin|>", "<|tool_call_end|>", "<|tool_call_argument_begin|>"
_KIMI_ALL_OPEN, _KIMI_ALL_CLOSE = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"

_V3 = re.compile(rf"\s*+function\s*+{_SEP}\s*+(?P<name>{NAME})\s*+(?>(?:```(?:json)?\s*+)?)")
_V31 = re.compile(rf"\s*+(?P<name>{NAME})\s*+{_SEP}\s*+")
_PARTLY = re.compile(rf"\s*+(?>(?:function\s*+{_SEP}\s*+)?)(?>(?:functions\.)?)(?P<name>{NAME})")
_ENDS = re.compile(rf"\s*+(?>(?:```\s*+)?)(?:{_CLOSE}(?>(?:\s*+{_ALL_CLOSE})?)|(?={_OPEN})|\Z)")
_STOP = re.compile(rf"(?P<end>{_CLOSE}(?>(?:\s*+{_ALL_CLOSE})?))|{_OPEN}")
_K2 = re.compile(rf"\s*+(?:functions\.)?(?P<name>{NAME})(?>(?::\d{{1,9}}+)?)\s*+{re.escape(_KIMI_SEP)}\s*+")
_K2_CLOSED = rf"{re.escape(_KIMI_CLOSE)}(?>(?:\s*+{re.escape(_KIMI_ALL_CLOSE)})?)"
_K2_ENDS = re.compile(rf"\s*+(?:{_K2_CLOSED}|(?={re.escape(_KIMI_OPEN)})|\Z)")
_K2_STOP = re.compile(rf"(?P<end>{_K2_CLOSED})|{re.escape(_KIMI_OPEN)}")


def write_deepseek_v3(calls: Sequence[CallToWrite]) -> str:
    """Write calls as DeepSeek V3, R1 and the models distilled from it do."""
    each = (f"{_OPEN}function{_SEP}{call.name}\n```json\n{json_text(call.arguments)}\n```{_CLOSE}" for call in calls)
    return f"{_ALL_OPEN}{chr(10).join(each)}{_ALL_CLOSE}"


def write_deepseek_v31(calls: Sequence[CallToWrite]) -> str:
    """Write calls as DeepSeek V3.1 does."""
    return f"{_ALL_OPEN}{''.join(f'{_OPEN}{call.name}{_SEP}{json_text(call.arguments)}{_CLOSE}' for call in calls)}{_ALL_CLOSE}"


def write_kimi(calls: Sequence[CallToWrite]) -> str:
    """Write calls as Kimi K2 does, which counts them."""
    each = (
        f"{_KIMI_OPEN}functions.{call.name}:{number}{_KIMI_SEP}{json_text(call.arguments)}{_KIMI_CLOSE}" for number, call in enumerate(calls)
    )
    return f"{_KIMI_ALL_OPEN}{''.join(each)}{_KIMI_ALL_CLOSE}"


def _reader(
    heads: Sequence[tuple[str, re.Pattern[str]]], ends: re.Pattern[str], stop: re.Pattern[str]
) -> Callable[[re.Match[str], ShownParameters], Piece]:
    def read(match: re.Match[str], _: ShownParameters) -> Piece:
        text, form = match.string, heads[-1][0]
        found = next(((name, head) for name, one in heads if (head := one.match(text, match.end()))), None)
        if found is None:
            named = _PARTLY.match(text, match.end())
            return cut(match, match.end(), stop, form, named["name"] if named else "")
        form, head = found
        try:
            arguments, end = arguments_at(text, head.end(), ends)
        except BrokenError:
            return cut(match, head.end(), stop, form, head["name"])
        return Piece(match.start(), end, (ParsedCall(head["name"], arguments),), form)

    return read


OPENINGS: tuple[Opening, ...] = (
    (rf"(?>(?:{_ALL_OPEN}\s*+)?){_OPEN}", _reader((("deepseek-v3", _V3), ("deepseek-v3.1", _V31)), _ENDS, _STOP)),
    (
        rf"(?>(?:{re.escape(_KIMI_ALL_OPEN)}\s*+)?){re.escape(_KIMI_OPEN)}(?=\s*+functions\.|[^<>\n]{{0,300}}+<\|tool_call_argument_begin)",
        _reader((("kimi-k2", _K2),), _K2_ENDS, _K2_STOP),
    ),
)
