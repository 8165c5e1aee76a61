"""Match patterns of JSON Schemas in linear time: read as ECMA-262's, and written for the Rust engine that pydantic brings.

Python's own engine takes for ever over `^(a+)+$`, and holds the whole process while it does.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator

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
_CONTROLS = {"b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "0": 0}
_PLACES = {"^": "^", "$": "$", "|": "|", r"\b": r"(?-u:\b)", r"\B": r"(?-u:\B)", r"\A": r"\A", r"\Z": r"\z", r"\z": r"\z"}
_NOT_A_LINE_END = r"[^\n\r\x{2028}\x{2029}]"
_COUNTS = {"*": "0,", "+": "1,", "?": "0,1"}
_ESCAPE = r"(?>\\(?:[pP]\{[A-Za-z0-9_=]{1,60}\}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|c[A-Za-z]|0[0-9]|.?))"
_MEMBER = rf"(?:{_ESCAPE}|[^\\])"
_RANGE = re.compile(rf"({_MEMBER})(?:-({_MEMBER}))?", re.DOTALL)
_PART = re.compile(
    rf"""(?P<escape>{_ESCAPE})
    |(?P<set>\[\^?(?:{_ESCAPE}|[^\]\\])*+\])
    |(?P<flags>\(\?-?i\))
    |(?P<group>\((?:\?(?:P?<[^\W\d]\w*>|(?:-?i)?:)|(?!\?)))
    |(?P<count>(?:[*+?]|\{{(?:[0-9]{{1,9}}(?:,[0-9]{{0,9}})?|,[0-9]{{1,9}})\}})[?+]?)
    |(?P<char>.)""",
    re.VERBOSE | re.DOTALL,
)


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
        """Return whether some part of a text matches.

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
        return _Translation(source).pattern()
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


class _Translation:
    """A pattern that is written for the other engine, one part after the other.

    `size` counts the states of the group that is open; `last` those of the part that a quantifier would repeat, 0 where there is none.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.parts: list[str] = []
        self.size = 1
        self.last = 0
        self.open: list[int] = []

    def pattern(self) -> Pattern:
        """Translate the pattern."""
        for found in _PART.finditer(self.source):
            part = found[0]
            if part in _PLACES:
                self._add(_PLACES[part], 0)
                self.size += 1
            elif found.lastgroup == "group":
                self._open(part)
            elif found.lastgroup == "count":
                self._repeat(part)
            elif part == ")":
                self._close()
            else:
                self._add(*_translate(found.lastgroup, part))
            if self.size > _LARGEST:
                raise NotMatched("its counted repetitions are too large")
        if self.open:
            raise NoPattern("a group is not closed")
        return Pattern("".join(self.parts), self.size)

    def _add(self, part: str, size: int) -> None:
        self.parts.append(part)
        self.size += size
        self.last = size

    def _open(self, part: str) -> None:
        self.parts.append(part if part in ("(?i:", "(?-i:") else "(?:")
        self.open.append(self.size)
        if len(self.open) > _DEEPEST:
            raise NotMatched("its groups are nested too deeply")
        self.size = self.last = 0

    def _close(self) -> None:
        if not self.open:
            raise NoPattern("a group is closed that was not opened")
        inside = self.size + 1
        self.size = self.open.pop()
        self._add(")", inside)

    def _repeat(self, part: str) -> None:
        if not self.last:
            raise NoPattern("there is nothing to repeat")
        if part[1:].endswith("+"):
            raise NotMatched("it gives nothing back that it has matched (possessive)")
        # Whether it is lazy says where a match ends, which is nobody's question here.
        low, comma, high = _COUNTS.get(part[0], part.strip("{}?")).partition(",")
        least, most = int(low or 0), int((high if comma else low) or 0)
        if most < least and high:
            raise NoPattern("a repetition ends below its beginning")
        self.parts.append(f"{{{least},{high if comma else low}}}")
        self.size += self.last * (max(least, most, 1) - 1) + 1
        self.last = 0


def _translate(kind: str | None, part: str) -> tuple[str, int]:
    """Return a part that is none of the others for the other engine, and its states."""
    if kind == "flags":
        return part, 0
    if kind == "set":
        return _translate_set(part)
    if part == ".":
        return _NOT_A_LINE_END, _WIDE
    if part == "(":
        raise NotMatched("it looks ahead or back, or uses another group that takes more than linear time")
    if part == "[":
        raise NoPattern("a class is not closed")
    return _translate_member(part)


def _translate_set(part: str) -> tuple[str, int]:
    negated, inside = part.startswith("[^"), part[1:-1].removeprefix("^")
    if not inside and not negated:
        raise NotMatched("a class begins with ], which can be read in two ways")
    if not inside:
        return r"[\x{0}-\x{10ffff}]", _WIDE
    members, size = "", _WIDE * negated
    for first, last in _RANGE.findall(inside):
        low, high = _code_of(first), _code_of(last) if last else None
        if low is not None and high is not None:
            if high < low:
                raise NoPattern("a range ends before its beginning")
            members += f"{_literal(low)}-{_literal(high)}"
            size += 1 if high < 128 else _WIDE
            continue
        for one in (first, "-", last) if last else (first,):  # `[\w-.]`: the hyphen means itself
            written, states = _translate_member(one)
            members += written
            size += states
    return f"[{'^' * negated}{members}]", size


def _translate_member(part: str) -> tuple[str, int]:
    """Return a character, or an escape, for the other engine, in a class or out of one, and its states."""
    code = _code_of(part)
    if code is not None:
        return _literal(code), 1 if code < 128 else 4
    if part[1] in "pP":
        if not _is_known(part):
            raise NotMatched(_UNKNOWN)
        return part, _PROPERTY
    inside = _SETS[part[1].lower()]
    return (f"[{inside}]" if part[1] in _SETS else f"[^{inside}]"), 1 if part[1] in "dw" else _WIDE


def _code_of(part: str) -> int | None:
    """Return the code of a character, or of the one that an escape stands for; None for an escape that stands for a set."""
    kind, rest = part[1:2], part[2:]
    if not part.startswith("\\"):
        return ord(part)
    if not kind:
        raise NoPattern("it ends in a backslash")
    if kind.lower() in _SETS or (rest and kind in "pP"):
        return None
    if rest and kind in "xu":
        return int(rest.strip("{}"), 16)
    if rest and kind == "c":
        return ord(rest) % 32
    if kind in _CONTROLS and not rest:
        return _CONTROLS[kind]
    if kind == "k" or kind.isdecimal():
        raise NotMatched("it refers back to a group")
    if kind.isascii() and kind.isalpha():
        raise NoPattern(f"\\{kind} means nothing")
    return ord(kind)


def _literal(code: int) -> str:
    if 0xD800 <= code < 0xE000 or code > 0x10FFFF:
        raise NotMatched(_UNKNOWN)
    char = chr(code) if code < 128 else ""
    return char if char.isalnum() else f"\\x{{{code:x}}}"
