"""Separate calls from text in what a model wrote."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from talm_sim.models.formats.base import ParsedCall
from talm_sim.models.formats.readers import CLOSING, pieces_of, read_alone
from talm_sim.models.formats.shown import ShownParameters
from talm_sim.models.parsing import MOST_LONG, MOST_NAMED, parse_call, replace_surrogates
from talm_sim.types import JsonObject, ToolCall, UnparsableCall

_SPECIAL = re.compile(r"<\|[A-Za-z_]++\|>|<\uff5c[\w▁]++\uff5c>|</s>|<turn\|>|<end_of_turn>|<\|tool_response>|<start_function_response>")
_EMPTY_FENCE = re.compile(r"```\w*+\s*+```")
_SEPARATORS = re.compile(r"[\s,;]*+\Z")


@dataclass(frozen=True, slots=True)
class ParsedText:
    """What a model wrote.

    Attributes:
        text: The text without its calls; unchanged if there are none.
        unparsable: Texts that are meant as calls and cannot be read.
        form: The format of the first call, a name of `FORMATS`; empty if there is none.
        place: Where the calls in that format begin and end.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    unparsable: tuple[UnparsableCall, ...] = ()
    form: str = ""
    place: tuple[int, int] = (0, 0)


def read_calls(text: str, tools: Sequence[JsonObject] = (), turn: int = 0) -> ParsedText:
    """Read the calls in what a model wrote, in whichever format; it never raises, and nothing is evaluated.

    Calls with a mark of their own (a tag, a token) and JSON objects with a name and arguments are read anywhere, lists of calls in
    Python's syntax at the beginning of a line, and calls in Python's syntax without brackets if the text is nothing else. A call as an
    argument's value is only that value: its text in Python's syntax, its object in JSON.

    >>> written = read_calls('<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>')
    >>> written.calls[0].name, written.calls[0].arguments, written.form
    ('f', {'a': 1}, 'hermes')
    """
    shown = ShownParameters(tools)
    if not (pieces := pieces_of(text, shown)):
        alone = read_alone(text)
        pieces = [alone] if alone is not None else []
    if not pieces:
        return ParsedText(text)
    found = [one._replace(name=_tools_name(one.name, shown)) for piece in pieces for one in piece.found]
    read = [_read(f"call-{turn}-{number}", one) for number, one in enumerate(found)]
    starts, ends = [piece.start for piece in pieces], [0, *(piece.end for piece in pieces)]
    rest = "".join(text[end:start] for end, start in zip(ends, [*starts, len(text)], strict=True))
    return ParsedText(
        text=_strip_frame(rest),
        calls=tuple(call for call in read if isinstance(call, ToolCall)),
        unparsable=tuple(call for call in read if isinstance(call, UnparsableCall)),
        form=pieces[0].form,
        place=(pieces[0].start, pieces[0].end),
    )


def _tools_name(name: str, shown: ShownParameters) -> str:
    """Return a tool's name without what Gemini adds before it and Llama after it; a shown tool's name stays as it is."""
    if name in shown:
        return name
    bare = name.removeprefix("default_api.")
    without = bare.removesuffix(".call")
    return without if without in shown else bare


def _read(call_id: str, found: ParsedCall) -> ToolCall | UnparsableCall:
    if not found.raw:
        return parse_call(call_id, found.name, found.arguments)
    raw, reason = replace_surrogates(found.raw[:MOST_LONG]), "not a call: it needs a name and an object of arguments"
    return UnparsableCall(id=call_id, name=replace_surrogates(found.name[:MOST_NAMED]), raw=raw, reason=reason)


def _strip_frame(rest: str) -> str:
    """Return the text without what only framed the calls."""
    rest = _EMPTY_FENCE.sub("", CLOSING.sub("", _strip_end_tokens(rest)))
    return "" if _SEPARATORS.match(rest) else rest.strip()


def _strip_end_tokens(text: str) -> str:
    """Return the text without the special tokens at its end."""
    end = len(text)
    for token in reversed(list(_SPECIAL.finditer(text))):
        if text[token.end() : end].strip():
            break
        end = token.start()
    return text[:end]
