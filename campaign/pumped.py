"""Texts that make patterns work: pieces of all formats, written many times, between a beginning and an end."""

from __future__ import annotations

import importlib
import json
import random
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

# the parts of a pattern; there is no public way to them
from re import _constants as op, _parser  # type: ignore[attr-defined]
from typing import Any, Final

FRAGMENTS: Final = tuple(
    piece for line in Path(__file__).with_name("fragments.jsonl").read_text(encoding="utf-8").splitlines() for piece in json.loads(line)
)
"""Pieces of JSON, calls, marks, tags, Java, JavaScript, words, dates, numbers, Markdown and Unicode; `{i}` stands for a number that counts."""
_ENDS: Final = ("", "", "", "x", "!", '"', "'", "}", "]", ")", "\n", ".", "\x00", "</tool_call>", '"}}', "1", " yes", "?", "```")
_MOST: Final = 40
"""Characters of a piece drawn from a pattern."""


def pumped(rng: random.Random, own: tuple[str, ...], patterns: tuple[re.Pattern[str], ...]) -> tuple[str, str, str]:
    """Draw a text: a beginning, a piece that is written again and again, and an end.

    Args:
        rng: All chance.
        own: The reader's own texts, beside those of all formats.
        patterns: Pieces are drawn from what they match, too.

    Returns:
        Beginning, piece and end; `written` makes the text of them.
    """
    pieces = []
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        source = rng.random()
        if patterns and source < 0.45:
            pieces.append(_sample(rng.choice(patterns), rng))
        elif own and source < 0.6:
            pieces.append(rng.choice(own))
        else:
            pieces.append(rng.choice(FRAGMENTS))
    begin = rng.choice(own) if own and rng.random() < 0.7 else rng.choice(("", "", rng.choice(FRAGMENTS)))
    end = rng.choice(_ENDS) if rng.random() < 0.7 or not patterns else _sample(rng.choice(patterns), rng)
    if len(pieces) > 1 and rng.random() < 0.25:
        return begin, "\x01".join(("".join(pieces[:-1]), pieces[-1])), end
    return begin, "".join(pieces) or "a", end


def written(parts: tuple[str, str, str], length: int) -> str:
    """The text: the piece, or the two parts of it one behind the other, fill `length` characters."""
    begin, piece, end = parts
    middles = [one for one in piece.split("\x01") if one] or ["a"]
    return begin + "".join(_repeated(one, length // len(middles)) for one in middles) + end


def _repeated(piece: str, length: int) -> str:
    if "{i}" not in piece:
        return (piece * (length // len(piece) + 1))[: max(length, len(piece))]
    numbers = range(1_000, 1_000 + length // (len(piece) + 1))  # all of four digits, so that only their number grows
    return "".join(piece.replace("{i}", str(number)) for number in numbers)


@cache
def patterns_near(module: str) -> tuple[re.Pattern[str], ...]:
    """The patterns of a module, those of the modules it reads with twice removed, each once."""
    importlib.import_module(module)
    seen: dict[str, None] = {}
    level = [module]
    for _ in range(3):
        level = [one for name in level for one in _used_by(name, seen)]
    return tuple(dict.fromkeys(found for name in seen for found in _patterns_in(vars(sys.modules[name]).values())))


def _used_by(name: str, seen: dict[str, None]) -> list[str]:
    if name in seen or name not in sys.modules:
        return []
    seen[name] = None
    values = vars(sys.modules[name]).values()
    found = {str(getattr(value, "__module__", "")) for value in values} | {value.__name__ for value in values if isinstance(value, type(sys))}
    return sorted(one for one in found if one.startswith("talm_sim.") and not one.startswith("talm_sim.types"))


def _patterns_in(values: Iterable[Any], deep: int = 0) -> Iterator[re.Pattern[str]]:
    for value in values:
        if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
            yield value
        elif isinstance(value, tuple | list) and deep < 3:
            yield from _patterns_in(value, deep + 1)
        elif isinstance(value, dict) and deep < 3:
            yield from _patterns_in(value.values(), deep + 1)


def _sample(pattern: re.Pattern[str], rng: random.Random) -> str:
    """A text that the pattern matches, or a part of one; what looks around is left out."""
    text = "".join(_drawn(_parsed(pattern), rng, {}))
    if len(text) > 2 and rng.random() < 0.3:
        cut = rng.randrange(1, len(text))
        text = rng.choice((text[:cut], text[cut:]))
    return text[:_MOST]


@cache
def _parsed(pattern: re.Pattern[str]) -> Any:
    return _parser.parse(pattern.pattern, pattern.flags)


def _drawn(parts: Iterable[Any], rng: random.Random, groups: dict[int, str]) -> Iterator[str]:
    for kind, value in parts:
        if kind in {op.LITERAL, op.NOT_LITERAL}:
            yield chr(value) if kind is op.LITERAL else rng.choice([one for one in "ab1 -\n" if ord(one) != value])
        elif kind is op.ANY:
            yield rng.choice("a1 .\"'")
        elif kind is op.IN:
            yield _one_of(value, rng)
        elif kind is op.BRANCH:
            yield from _drawn(rng.choice(value[1]), rng, groups)
        elif kind is op.SUBPATTERN:
            groups[value[0] or 0] = inner = "".join(_drawn(value[3], rng, groups))
            yield inner
        elif kind is op.ATOMIC_GROUP:
            yield from _drawn(value, rng, groups)
        elif kind in {op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT}:
            low, high, inner = value
            for _ in range(rng.randint(low, min(int(high), low + rng.choice((0, 1, 1, 2, 4))))):
                yield from _drawn(inner, rng, groups)
        elif kind is op.GROUPREF:
            yield groups.get(value, "")


def _one_of(choices: list[Any], rng: random.Random) -> str:
    if choices[0][0] is op.NEGATE:
        refused = re.compile("".join(("[", *(_class(one) for one in choices[1:]), "]")))
        return rng.choice([one for one in "aZ1 -_.,:\n\"'({é" if not refused.match(one)] or ["\u2603"])
    kind, value = rng.choice(choices)
    if kind is op.LITERAL:
        return chr(value)
    if kind is op.RANGE:
        return chr(rng.randint(value[0], min(value[1], value[0] + 25)))
    return rng.choice({op.CATEGORY_DIGIT: "0123456789", op.CATEGORY_SPACE: "  \n\t", op.CATEGORY_WORD: "abcXYZ_019é"}.get(value, "-.,!\"'"))


def _class(one: tuple[Any, Any]) -> str:
    kind, value = one
    if kind is op.LITERAL:
        return re.escape(chr(value))
    if kind is op.RANGE:
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    names = {op.CATEGORY_DIGIT: r"\d", op.CATEGORY_SPACE: r"\s", op.CATEGORY_WORD: r"\w"}
    return names.get(value) or {op.CATEGORY_NOT_DIGIT: r"\D", op.CATEGORY_NOT_SPACE: r"\S", op.CATEGORY_NOT_WORD: r"\W"}.get(value, "")
