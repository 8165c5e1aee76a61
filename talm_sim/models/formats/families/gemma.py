"""Gemma 4 and FunctionGemma: `call:NAME{key:value}`, with a token of its own in place of quotes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from talm_sim.models.formats.base import CallToWrite, ParsedCall, Piece
from talm_sim.models.formats.families.base import NAME, Opening, cut
from talm_sim.models.formats.literals import BrokenError, read_json, read_whole, skip_space
from talm_sim.models.formats.shown import ShownParameters
from talm_sim.models.parsing import MOST_DEEP

_CALLED = re.compile(rf"(?P<name>{NAME})\s*+\{{")
_NAMED = re.compile(rf"(?P<name>{NAME})")
_KEY = re.compile(r"[\w$@][\w$@.-]{0,255}+")
_BARE = re.compile(r"[^,{}\[\]<>]{1,500}+")


class Family(NamedTuple):
    """The marks of Gemma 4 or of FunctionGemma."""

    name: str
    opening: str
    closing: str
    quote: str
    """Mark on either side of a text."""

    def write(self, calls: Sequence[CallToWrite]) -> str:
        """Write calls; keys are sorted, as the chat template does."""
        return "".join(f"{self.opening}call:{call.name}{self._write_value(call.arguments)}{self.closing}" for call in calls)

    def _write_value(self, value: Any) -> str:
        if isinstance(value, str):
            return f"{self.quote}{value}{self.quote}"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, dict):
            items = sorted(value.items(), key=lambda item: item[0].lower())
            return f"{{{','.join(f'{self._key(key)}:{self._write_value(one)}' for key, one in items)}}}"
        if isinstance(value, list):
            return f"[{','.join(map(self._write_value, value))}]"
        return repr(value)

    def _key(self, key: str) -> str:
        return key if _KEY.fullmatch(key) else f"{self.quote}{key}{self.quote}"


GEMMA_4 = Family("gemma4", "<|tool_call>", "<tool_call|>", '<|"|>')
FUNCTION_GEMMA = Family("functiongemma", "<start_function_call>", "<end_function_call>", "<escape>")


def _reader(family: Family) -> Callable[[re.Match[str], ShownParameters], Piece]:
    stop = re.compile(rf"(?P<end>{re.escape(family.closing)})|{re.escape(family.opening)}")
    ends = re.compile(rf"\s*+(?:{re.escape(family.closing)}|(?=<)|\Z)")

    def read(match: re.Match[str], shown: ShownParameters) -> Piece:
        text, called = match.string, _CALLED.match(match.string, match.end())
        if called is None:
            named = _NAMED.match(text, match.end())
            return cut(match, match.end(), stop, family.name, named["name"] if named else "")
        try:
            arguments, end = _Values(text, family.quote).read_mapping(called.end(), MOST_DEEP + 1, called["name"], shown)
            if (closed := ends.match(text, end)) is None:
                raise BrokenError(end)
        except BrokenError:
            return cut(match, called.end(), stop, family.name, called["name"])
        return Piece(match.start(), closed.end(), (ParsedCall(called["name"], arguments),), family.name)

    return read


class _Values:
    """Reads values; every character is read once."""

    def __init__(self, text: str, quote: str) -> None:
        self.text, self.quote = text, quote

    def read_mapping(self, at: int, deep: int, tool: str = "", shown: ShownParameters | None = None) -> tuple[dict[str, Any], int]:
        """Read from after an opening brace to after its closing one; the shown tools give the types of bare words in the outermost."""
        values: dict[str, Any] = {}
        at = skip_space(self.text, at)
        while self.text[at : at + 1] != "}":
            key, at = self._key(at)
            at = skip_space(self.text, at)
            if self.text[at : at + 1] != ":":
                raise BrokenError(at)
            at = skip_space(self.text, at + 1)
            bare = _BARE.match(self.text, at) if shown is not None and self.text[at : at + 1] not in "\"'" else None
            if bare and shown is not None:
                values[key], at = shown.parse_bare(tool, key, bare[0].strip()), bare.end()
            else:
                values[key], at = self._value(at, deep)
            at = self._after_value(at, "}")
        return values, at + 1

    def _value(self, at: int, deep: int) -> tuple[Any, int]:
        if not deep:
            raise BrokenError(len(self.text))
        if self.text.startswith(self.quote, at):
            return self._read_quoted(at)
        first = self.text[at : at + 1]
        if first == "{":
            return self.read_mapping(at + 1, deep - 1)
        if first == "[":
            return self._list(at + 1, deep - 1)
        if first in ('"', "'"):
            return read_json(self.text, at)
        if (bare := _BARE.match(self.text, at)) is None:
            raise BrokenError(at)
        try:
            return read_whole(bare[0]), bare.end()
        except BrokenError:
            return bare[0].strip(), bare.end()

    def _list(self, at: int, deep: int) -> tuple[list[Any], int]:
        values = []
        at = skip_space(self.text, at)
        while self.text[at : at + 1] != "]":
            value, at = self._value(at, deep)
            values.append(value)
            at = self._after_value(at, "]")
        return values, at + 1

    def _key(self, at: int) -> tuple[str, int]:
        if self.text.startswith(self.quote, at):
            return self._read_quoted(at)
        if self.text[at : at + 1] in ('"', "'"):
            key, end = read_json(self.text, at)
            return str(key), end
        if (key := _KEY.match(self.text, at)) is None:
            raise BrokenError(at)
        return key[0], key.end()

    def _read_quoted(self, at: int) -> tuple[str, int]:
        begun = at + len(self.quote)
        end = self.text.find(self.quote, begun)
        if end < 0:
            raise BrokenError(len(self.text))
        return self.text[begun:end], end + len(self.quote)

    def _after_value(self, at: int, closing: str) -> int:
        """Return the place after a value's comma, or of the closing bracket."""
        at = skip_space(self.text, at)
        if self.text[at : at + 1] == ",":
            return skip_space(self.text, at + 1)
        if self.text[at : at + 1] != closing:
            raise BrokenError(at)
        return at


OPENINGS: tuple[Opening, ...] = (
    (r"<\|tool_call>\s*+call:", _reader(GEMMA_4)),
    (r"<start_function_call>\s*+(?>(?:call:)?)", _reader(FUNCTION_GEMMA)),
)
