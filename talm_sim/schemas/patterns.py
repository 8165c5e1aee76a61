"""Patterns of JSON Schemas, matched in linear time: ECMA-262's, read here and written for the Rust engine that pydantic brings.

Python's own engine takes for ever over `^(a+)+$`, and holds the whole process while it does.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator

__all__ = ["LONGEST", "NoPattern", "NotMatched", "Pattern", "pattern_of"]

LONGEST = 10_000
"""Characters of a pattern, and of a text that is matched."""
_LARGEST = 50_000
"""States that a pattern may have, its counted repetitions written out."""
_WIDE = 15
"""States of a class with characters beyond ASCII, about."""
_PROPERTY = 600
"""States of a class like `\\p{L}`, about."""

_DEEPEST = 100
"""Groups in each other; the engine takes 250 groups and repetitions."""
_KEPT = 16
"""Patterns that are kept from one check to the next; one may take a few megabytes."""
_UNKNOWN = "an engine that takes linear time does not know it"

_SPACES = r"\t\n\x0b\x0c\r\x20\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}"
_SETS = {"d": "0-9", "w": "0-9A-Za-z_", "s": _SPACES}
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "0": 0}
_PLACES = {"b": r"(?-u:\b)", "B": r"(?-u:\B)", "A": r"\A", "Z": r"\z", "z": r"\z"}
_NOT_A_LINE_END = r"[^\n\r\x{2028}\x{2029}]"
_CODE = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}")
_LOW_HALF = re.compile(r"\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})")
_CONTROL = re.compile(r"c([A-Za-z])")
_CATEGORY = re.compile(r"[pP]\{[\w=]{1,60}\}", re.ASCII)
_COUNT = re.compile(r"\{(\d{1,9})?(,)?(\d{1,9})?\}", re.ASCII)
_GROUP = re.compile(r"\(\?(?:P?<[^\W\d]\w*>|:|(-?i)(:|\)))")


class NoPattern(ValueError):
    """A text is no regular expression; says why."""


class NotMatched(ValueError):
    """A pattern cannot be matched in linear time, or a text not with it; says why."""


class Pattern:
    """A pattern that was read; the engine makes an automaton of it with the first search, as that takes time and memory.

    Attributes:
        size: States of its automaton, about: what a search costs for each character, and the automaton itself once.
    """

    def __init__(self, written: str, size: int) -> None:
        self._written = written
        self.size = size

    @cached_property
    def _engine(self) -> SchemaValidator:
        return _engine_of(self._written)

    def found_in(self, text: str) -> bool:
        """Whether some part of a text matches.

        Raises:
            NotMatched: The text is longer than is searched, or the engine cannot take the pattern.
        """
        if len(text) > LONGEST:
            raise NotMatched(f"a text of more than {LONGEST:,} characters")
        return self._engine.isinstance_python(text)


def pattern_of(source: str) -> Pattern:
    """Read a pattern.

    Raises:
        NoPattern: It is none.
        NotMatched: The engine cannot express it, or it is too large.
    """
    found = _read(source)
    if isinstance(found, ValueError):
        raise found.with_traceback(None)
    return found


@lru_cache(maxsize=_KEPT)
def _read(source: str) -> Pattern | NoPattern | NotMatched:
    if len(source) > LONGEST:
        return NotMatched(f"a pattern of more than {LONGEST:,} characters")
    try:
        return Pattern(*_Reader(source).translate())
    except (NoPattern, NotMatched) as err:
        return err


@lru_cache(maxsize=1024)
def _is_known(category: str) -> bool:
    try:
        _engine_of(category)
    except NotMatched:
        return False
    return True


def _engine_of(written: str) -> SchemaValidator:
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    try:
        return SchemaValidator(core_schema.str_schema(pattern=written, regex_engine="rust-regex"))
    except (SchemaError, UnicodeError):
        raise NotMatched(_UNKNOWN) from None


class _Reader:
    """Reads a pattern and writes it for the other engine, one part after the other.

    `size` counts the states of the group that is open; `last` those of the part that a quantifier would repeat, 0 where there is none.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.parts: list[str] = []
        self.size = 1
        self.last = 0
        self.open: list[int] = []

    def translate(self) -> tuple[str, int]:
        """The pattern for the other engine, and its size."""
        while self.at < len(self.source):
            char = self.source[self.at]
            if char == "(":
                self._group()
            elif char == ")":
                self._close()
            elif char in "*+?" or (char == "{" and _opens_repetition(self.source, self.at)):
                self._repeat()
            else:
                self.at += 1
                self._translate_char(char)
            if self.size > _LARGEST:
                raise NotMatched("its counted repetitions are too large")
        if self.open:
            raise NoPattern("a group is not closed")
        return "".join(self.parts), self.size

    def _translate_char(self, char: str) -> None:
        if char == "\\":
            self._escape()
        elif char == "[":
            self._class()
        elif char == ".":
            self._add(_NOT_A_LINE_END, _WIDE)
        elif char in "^$|":
            self._add(char, 0)
            self.size += 1
        else:
            self._add(_literal(ord(char)), _size_of(ord(char)))

    def _add(self, part: str, size: int) -> None:
        self.parts.append(part)
        self.size += size
        self.last = size

    def _group(self) -> None:
        opening = "(?:"
        if self.source.startswith("(?", self.at):
            found = _GROUP.match(self.source, self.at)
            if found is None:
                raise NotMatched("it looks ahead or back, or uses another group that takes more than linear time")
            self.at = found.end()
            if found[2] == ")":
                self._add(f"(?{found[1]})", 0)
                return
            opening = f"(?{found[1]}:" if found[1] else opening
        else:
            self.at += 1
        self.parts.append(opening)
        self.open.append(self.size)
        if len(self.open) > _DEEPEST:
            raise NotMatched("its groups are nested too deeply")
        self.size = self.last = 0

    def _close(self) -> None:
        if not self.open:
            raise NoPattern("a group is closed that was not opened")
        self.at += 1
        inside = self.size + 1
        self.size = self.open.pop()
        self._add(")", inside)

    def _repeat(self) -> None:
        if not self.last:
            raise NoPattern("there is nothing to repeat")
        low, high, self.at = _bounds(self.source, self.at)
        if high is not None and high < low:
            raise NoPattern("a repetition ends below its beginning")
        if self.source.startswith("+", self.at):
            raise NotMatched("it gives nothing back that it has matched (possessive)")
        self.at += self.source.startswith("?", self.at)  # lazy: where a match ends is nobody's question here
        if _is_repetition(self.source, self.at):
            raise NoPattern("a repetition is repeated")
        self.parts.append(f"{{{low},{'' if high is None else high}}}")
        self.size += self.last * (max(low, high or 1) - 1) + 1
        self.last = 0

    def _escape(self) -> None:
        char = self.source[self.at : self.at + 1]
        if char in _PLACES:
            self.at += 1
            self._add(_PLACES[char], 0)
            self.size += 1
            return
        written, code = self._read_escape()
        if code is not None:
            self._add(_literal(code), _size_of(code))
        else:
            self._add(f"[{written}]", _set_size(written))

    def _read_escape(self) -> tuple[str, int | None]:
        """Read what follows a backslash, in a class or out of one: a set as the inside of a class, or the code of one character."""
        source, at = self.source, self.at
        char = source[at : at + 1]
        if not char:
            raise NoPattern("it ends in a backslash")
        if char.lower() in _SETS:
            self.at += 1
            return (_SETS[char] if char in _SETS else f"[^{_SETS[char.lower()]}]"), None
        if found := _CATEGORY.match(source, at):
            self.at = found.end()
            if not _is_known(f"\\{found[0]}"):
                raise NotMatched(_UNKNOWN)
            return f"\\{found[0]}", None
        if found := _CODE.match(source, at):
            self.at = found.end()
            return "", self._join_surrogates(int(found[1] or found[2] or found[3], 16))
        if found := _CONTROL.match(source, at):
            self.at = found.end()
            return "", ord(found[1]) % 32
        self.at += 1
        if char in _CONTROLS and not source[at + 1 : at + 2].isdecimal():
            return "", _CONTROLS[char]
        if char == "k" or char.isdecimal():
            raise NotMatched("it refers back to a group")
        if char.isascii() and char.isalpha():
            raise NoPattern(f"\\{char} means nothing")
        return "", ord(char)

    def _join_surrogates(self, code: int) -> int:
        """The character of a code; where that is the first half of a pair, with the second one."""
        second = _LOW_HALF.match(self.source, self.at) if 0xD800 <= code < 0xDC00 else None
        if second:
            self.at = second.end()
            return 0x10000 + ((code - 0xD800) << 10) + int(second[1], 16) - 0xDC00
        return code

    def _class(self) -> None:
        negated = self.source.startswith("^", self.at)
        self.at += negated
        if self.source.startswith("]", self.at):
            if not negated:
                raise NotMatched("a class begins with ], which can be read in two ways")
            self.at += 1
            self._add(r"[\x{0}-\x{10ffff}]", _WIDE)
            return
        parts: list[str] = []
        size = 0
        while not self.source.startswith("]", self.at):
            written, first = self._member()
            if first is None:
                parts.append(written)
                size += _set_size(written)
                continue
            last = first
            if self.source.startswith("-", self.at) and not self.source.startswith("-]", self.at):
                self.at += 1
                written, end = self._member()
                if end is None:  # `[\w-.]`: the hyphen means itself
                    parts += [r"\x{2d}", written]
                    size += _set_size(written)
                elif end < first:
                    raise NoPattern("a range ends before its beginning")
                else:
                    last = end
            parts.append(f"{_literal(first)}-{_literal(last)}")
            size += 1 if last < 128 else _WIDE
        self.at += 1
        self._add(f"[{'^' * negated}{''.join(parts)}]", size + _WIDE * negated)

    def _member(self) -> tuple[str, int | None]:
        """One character of a class, or one set in it."""
        char = self.source[self.at : self.at + 1]
        self.at += 1
        if not char:
            raise NoPattern("a class is not closed")
        if char != "\\":
            return "", ord(char)
        if self.source.startswith("b", self.at):
            self.at += 1
            return "", 8
        return self._read_escape()


def _literal(code: int) -> str:
    if 0xD800 <= code < 0xE000 or code > 0x10FFFF:
        raise NotMatched(_UNKNOWN)
    char = chr(code) if code < 128 else ""
    return char if char.isalnum() else f"\\x{{{code:x}}}"


def _size_of(code: int) -> int:
    return 1 if code < 128 else 4


def _set_size(written: str) -> int:
    return _PROPERTY if written.startswith(("\\p", "\\P")) else 1 if written in {_SETS["d"], _SETS["w"]} else _WIDE


def _opens_repetition(source: str, at: int) -> bool:
    """Whether a brace begins a repetition; any other means itself."""
    found = _COUNT.match(source, at)
    return found is not None and bool(found[1] or found[3])


def _is_repetition(source: str, at: int) -> bool:
    return source[at : at + 1] in {"*", "+", "?"} or (source.startswith("{", at) and _opens_repetition(source, at))


def _bounds(source: str, at: int) -> tuple[int, int | None, int]:
    """How often a part is repeated, at least and at most, and where the quantifier ends."""
    char = source[at]
    if char != "{":
        return (1 if char == "+" else 0), (1 if char == "?" else None), at + 1
    found = _COUNT.match(source, at)
    assert found is not None
    low = int(found[1] or 0)
    return low, (int(found[3]) if found[3] else None if found[2] else low), found.end()
