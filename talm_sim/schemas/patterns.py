r"""Match patterns of JSON Schemas in linear time: read as ECMA-262's, by the Rust engine that pydantic brings.

Python's own engine takes for ever over `^(a+)+$`, and holds the whole process while it does. What the other engine cannot read, or would
read in another way than ECMA-262, is not checked.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

from talm_sim.schemas.work import current_work

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator

LONGEST = 10_000
"""Characters of a pattern, and of a text that is matched."""

_LARGEST = 50_000
"""States that a pattern may have, its counted repetitions written out."""

_TO_MAKE = 200
"""Steps to make the automaton of a pattern, beside one for each state."""

_UNKNOWN = "an engine that takes linear time does not know it"
_SPACES = r"\t\n\x0b\x0c\r\x20\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}"
_ALIKE = {
    **{rf"\{sign}": f"[{signs}]" for sign, signs in (("d", "0-9"), ("w", "0-9A-Za-z_"), ("s", _SPACES))},
    **{rf"\{sign}": f"[^{signs}]" for sign, signs in (("D", "0-9"), ("W", "0-9A-Za-z_"), ("S", _SPACES))},
}
_PLACES = {".": r"[^\n\r\x{2028}\x{2029}]", r"\b": r"(?-u:\b)", r"\B": r"(?-u:\B)", r"\Z": r"\z"}
_TOKEN = re.compile(r"\\.|\[\^?|--|.", re.DOTALL)
_POSSESSIVE = re.compile(r"[\d,]\}\+")
_COUNT = re.compile(r"(\)?)\{(\d{1,9})?,?(\d{1,9})?\}")
_WIDE = re.compile(r"[.]|\[\^|\\[sSDW]|[^\x00-\x7f]|\(\?i")
_OTHER_DIALECT = (
    "bad escape",
    "incomplete escape",
    "unknown extension",
    "missing group name",
    "bad character in group name",
    "bad character range \\",
)
"""Beginnings of what Python says of a pattern that is one in JavaScript."""


class NoPattern(ValueError):
    """A text is no regular expression; says why."""


class NotMatched(ValueError):
    """A pattern cannot be matched in linear time, or a text not with it; says why."""


class Pattern:
    """A pattern that was read.

    Attributes:
        size: States of its automaton, at most: what a search costs for each character, and the automaton itself once.
    """

    def __init__(self, engine: SchemaValidator, size: int) -> None:
        self._engine = engine
        self.size = size

    def found_in(self, text: str) -> bool:
        """Return whether some part of a text matches.

        Raises:
            NotMatched: The text is longer than is searched.
        """
        if len(text) > LONGEST:
            raise NotMatched(f"a text of more than {LONGEST:,} characters")
        return self._engine.isinstance_python(text)


def check_pattern(source: str) -> None:
    """Refuse a text that is no regular expression, as far as Python's parser can tell.

    Raises:
        NoPattern: It is none.
    """
    if len(source) > LONGEST:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(source)
    except re.error as err:
        if not err.msg.startswith(_OTHER_DIALECT):
            raise NoPattern(err.msg) from None
    except (OverflowError, RecursionError):
        return  # how large it is, is said where it is matched


def pattern_of(source: str) -> Pattern:
    """Read a pattern, at the cost of the current work.

    Raises:
        NotMatched: The engine cannot express it, or it is too large.
        NotChecked: No work is left.
    """
    size = _size_of(source)
    if len(source) > LONGEST or size > _LARGEST:
        raise NotMatched("it is too large, with its counted repetitions written out")
    current_work().spend(len(source) + _TO_MAKE + size)
    if (engine := _engine_of(source)) is None:
        raise NotMatched(_UNKNOWN)
    return Pattern(engine, size)


def _size_of(source: str) -> int:
    """Return a bound of a pattern's states: each count of a group may repeat all others."""
    counts = [(group, max(int(least or 1), int(most or 1))) for group, least, most in _COUNT.findall(source)]
    wide, categories = len(_WIDE.findall(source)), source.lower().count(r"\p")
    folds = "(?i" in source and not source.isascii()
    each = 600 if categories or folds else 15 if wide else 1
    once = len(source) + each * (wide + categories + sum(most for group, most in counts if not group))
    return once * prod(most for group, most in counts if group)


@lru_cache(maxsize=16)  # one may take a few megabytes
def _engine_of(source: str) -> SchemaValidator | None:
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    try:
        return SchemaValidator(core_schema.str_schema(pattern="".join(_translate(source)), regex_engine="rust-regex"))
    except (NotMatched, SchemaError, UnicodeError):
        return None


def _translate(source: str) -> Iterator[str]:
    """Yield the parts of a pattern as the other engine writes them."""
    inside, before = False, ""
    source.encode()  # the other engine has no halves of characters
    if _POSSESSIVE.search(source):
        raise NotMatched(_UNKNOWN)
    for token in _TOKEN.findall(source):
        possessive = not inside and token == "+" and before in ("*", "+", "?")
        if possessive or (inside and token == "--") or (token == "]" and before in ("[", "[^")):
            raise NotMatched(_UNKNOWN)
        if token in _ALIKE:
            yield _ALIKE[token]
        elif len(token) == 2 and token[0] == "\\" and token.isascii() and not token[1].isalnum():
            yield f"\\x{{{ord(token[1]):x}}}"
        elif inside:
            inside = token != "]"
            yield "".join(f"\\{sign}" if sign in "[&~^" else sign for sign in token)
        else:
            inside = token in ("[", "[^")
            yield _PLACES.get(token, token)
        before = token
