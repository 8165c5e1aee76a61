"""Read values in what a person says (numbers, days, clock times, colors and names), and whether they were said before."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Literal

from talm_sim.language.calendar_words import MONTHS, WEEKDAYS
from talm_sim.language.facts.claims import is_rejected
from talm_sim.language.facts.names import colors, countries, normalize
from talm_sim.language.facts.statements import AnswerText, Value
from talm_sim.language.question_words import STOP, stem

Kind = Literal["number", "day", "time", "color", "name"]

_NAME = re.compile(r"(?<!\w)(?!I\b)[a-z]?[^\W\da-z_][\w'\u2019.-]*\w|(?<!\w)[A-Z]{2,}\d*|(?<!\w)[A-Z][#b]?\d(?!\w)")
"""A word with a capital, a code, or a note."""
_NUMBERED = re.compile(r"(?<=[^\W\d_]{3}-)\d{1,4}(?![\w-])(?!\.\d)")
"""The number of "Chlorine-35"."""
_OPENS = re.compile(r"(?:^|[.!?\u2026\n][\"'\u201d\u2019)]*\s+)$")
"""What comes before a word that has its capital from its place."""
_MAY_OPEN = re.compile(r"(?:[:*\u2013\u2014-]\s+|[\"\u201c(])$")


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_COMMON = frozenset((*MONTHS, *WEEKDAYS)) | frozenset(
    _words(
        "i'm i'll i've i'd ai ok okay mr mrs ms dr pdf utc gmt am pm tv faq usa eu christmas easter english celsius fahrenheit"
        " yes no hello hi hey well sure fine thanks sorry oh ah oops hm hmm god internet google wikipedia css hex rgb iban ecb user assistant"
    )
)
"""Names that say nothing of a scenario, and words that a person writes with a capital anywhere."""
_PEOPLE = re.compile(r"(?<=\w{3})(?:ians?|ans?|ese|ish|ic|is?|ns?)$")
"""Endings that make a name of people or of their language from that of a country."""
_ONES = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
)
_ORDINALS = _words(
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth"
    " seventeenth eighteenth nineteenth"
)
_TENS = {name: 10 * ten for ten, name in enumerate(_words("twenty thirty forty fifty sixty seventy eighty ninety"), 2)}
_SPELT = (
    {name: number for number, name in enumerate(_ONES)}
    | {name: number for number, name in enumerate(_ORDINALS)}
    | _TENS
    | {name.removesuffix("y") + "ieth": number for name, number in _TENS.items()}
)
_MANY = 300
"""Values of a text that are read; a longer one is no answer of a person."""
_IN_WORDS = re.compile(rf"\b(?:({'|'.join(_TENS)})[- ])?({'|'.join(sorted(_SPELT, key=len, reverse=True))})\b", re.IGNORECASE)
_SCALES = {"hundred": 100, "thousand": 1000, "million": 1_000_000, "dozen": 12}
_MORE = re.compile(rf"[- ]({'|'.join(_SCALES)})\b|( and a half\b)", re.IGNORECASE)
"""What follows a number in words and changes it."""
_SHORT_DAY = re.compile(r"(?<![\d/.])(\d{1,2})/(\d{1,2})(?![\d/.])")
_TURNS = re.compile(
    r"(?:[\s,.;:?!\u2026\u2013\u2014-]|\b(?:oh|hm+|er|um|ah|well|the|it['\u2019]?s|it is)\b)*\b(?:no|nope|not|wait|sorry|rather|actually|i mean"
    r"|i meant|make (?:it|that)|correction|scratch that)\b(?:[\s,.;:?!\u2026\u2013\u2014-]|\b(?:no|wait|sorry|rather|actually|i mean|i meant"
    r"|make (?:it|that)|it['\u2019]?s|it is|the|in|on|at|to|a|an)\b)*",
    re.IGNORECASE,
)
"""What stands between a value and the one that takes its place."""
_NOT = re.compile(r"\bnot\W*(?:the |a |an |in |on |at |to )?$", re.IGNORECASE)
_ORDINAL = re.compile(r"(?<![\w.,])(\d{1,4})(?:st|nd|rd|th)\b")


@dataclass(frozen=True, slots=True)
class SaidValue:
    """A value in a text.

    Attributes:
        kind: What it is.
        start: Its place in the cleaned text.
        end: Where it ends.
        value: A number; year, month and day, the year None where it is not said; hour and minute; a color's digits; a name in normal form.
        spelt: Whether it is a number in words, which are also idioms.
        measured: Whether a number has a unit.
        opens: Whether a name opens its sentence, so that it may be any word.
    """

    kind: Kind
    start: int
    end: int
    value: object
    spelt: bool = False
    measured: bool = False
    opens: bool = False


def spelt_numbers(text: str) -> Iterator[tuple[int, int, Decimal]]:
    """Yield the numbers in words with their places: "thirty-one", "three hundred", "seven and a half".

    >>> [str(number) for _, _, number in spelt_numbers("Three hundred, or seven and a half.")]
    ['300', '7.5']
    """
    end = 0
    for match in _IN_WORDS.finditer(text):
        if match.start() < end:
            continue
        number, end = Decimal(_TENS.get((match[1] or "").lower(), 0) + _SPELT[match[2].lower()]), match.end()
        while more := _MORE.match(text, end):
            number, end = number * _SCALES[more[1].lower()] if more[1] else number + Decimal("0.5"), more.end()
        yield match.start(), end, number


def turns(between: str) -> bool:
    """Return whether the words between two values put the second in place of the first.

    >>> turns(", no, "), turns("? No, it's "), turns(", not "), turns(" and ")
    (True, True, False, False)
    """
    return _TURNS.fullmatch(between) is not None and not _NOT.search(between)


def values_in(text: AnswerText) -> list[SaidValue]:
    """Return the values that a text affirms or leaves in doubt, in order; those that it rejects or corrects are left out."""
    found: list[SaidValue] = []
    for one in sorted(_all_values(text), key=lambda one: (one.start, one.start - one.end)):
        if not found or one.start >= found[-1].end:
            found.append(one)
    found = found[:_MANY]
    # A word that only opens a sentence corrects nothing.
    own = [Value(one.start, one.end, right=False) for one in found if not one.opens]
    taken_back = {
        one.start for one, later in pairwise(found) if one.kind == later.kind and not later.opens and turns(text.text[one.end : later.start])
    }
    return [one for one in found if one.start not in taken_back and not is_rejected(text, Value(one.start, one.end, right=False), own)]


def _all_values(text: AnswerText) -> Iterator[SaidValue]:
    for day in text.dates:
        yield SaidValue("day", day.start, day.end, (day.year, day.month, day.day))
    for time in text.times:
        yield SaidValue("time", time.start, time.end, time.clock[:2])
    for color, (start, end) in colors(text.text):
        yield SaidValue("color", start, end, color)
    for number in text.numbers:
        yield SaidValue("number", number.start, number.end, number.value, measured=bool(number.unit))
    for match in _ORDINAL.finditer(text.text):
        yield SaidValue("number", *match.span(), Decimal(match[1]))
    for start, end, value in spelt_numbers(text.text):
        yield SaidValue("number", start, end, value, spelt=True)
    for match in _SHORT_DAY.finditer(text.text):
        first, second = int(match[1]), int(match[2])
        # "3/4" may be a part, and either may be the month.
        if 1 <= min(first, second) <= 12 < max(first, second) <= 31:
            yield SaidValue("day", *match.span(), (None, min(first, second), max(first, second)))
    for match in _NUMBERED.finditer(text.text):
        yield SaidValue("number", *match.span(), Decimal(match[0]))
    for match in _NAME.finditer(text.text):
        name = normalize(_NUMBERED.sub("", match[0])).strip()
        if name and name not in _COMMON and match[0].split("'")[0].split("\u2019")[0].lower() not in {"i", "it", "that", "there", "what"}:
            before = text.text[max(0, match.start() - 8) : match.start()]
            opens = bool(_OPENS.search(before)) or (bool(_MAY_OPEN.search(before)) and stem(name) in STOP) or match.start() == 0
            numbered = _NUMBERED.search(match[0])
            end = match.end() if numbered is None else match.start() + numbered.start() - 1
            yield SaidValue("name", match.start(), end, name, opens=opens)


class Remembered:
    """What was said before, to tell whether a value is new."""

    def __init__(self, text: str) -> None:
        self._text = AnswerText(text)

    @cached_property
    def _values(self) -> Sequence[SaidValue]:
        return list(_all_values(self._text))

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(normalize(self._text.text).split())

    @cached_property
    def _folded(self) -> frozenset[str]:
        return frozenset(map(_fold, self._words))

    @cached_property
    def _countries(self) -> frozenset[str]:
        return frozenset(code for code, _ in countries(self._text.words))

    def has(self, said: SaidValue, text: AnswerText) -> bool:
        """Return whether it has a value of `text`."""
        if said.kind == "number":
            # A part of "11 hours and 10 minutes", which is one number, is known, too.
            alike = any(one.kind == "number" and one.value == said.value for one in self._values) or str(said.value) in self._words
            return alike or self._has_part(said.value)
        if said.kind == "day":
            days = [one.value for one in self._values if one.kind == "day" and _same_day(one.value, said.value)]
            # "On 22 April" does not make any year of that day known, where another place names the year.
            return said.value in days or (bool(days) and not self._has_other_year(said.value))
        if said.kind != "name":
            return any(one.kind == said.kind and one.value == said.value for one in self._values)
        words = str(said.value).split()
        if all(word in self._words or _fold(word) in self._folded for word in words):
            return True
        here = {code for code, place in countries(text.words) if place[0] < said.end and said.start < place[1]}
        return bool(here) and here <= self._countries

    def _has_other_year(self, day: object) -> bool:
        assert isinstance(day, tuple)
        years = {one.value[0] for one in self._values if one.kind == "day" and isinstance(one.value, tuple) and one.value[1:] == day[1:]} - {
            None
        }
        return day[0] is not None and bool(years) and day[0] not in years

    def _has_part(self, number: object) -> bool:
        """Return whether a number is the year, the day or the hour of a date or time."""
        return any(number in (part for part in one.value if part is not None) for one in self._values if isinstance(one.value, tuple))


@lru_cache(maxsize=256)
def remember(text: str) -> Remembered:
    """Return what was said before; a text that was read lately is not read again."""
    return Remembered(text)


@lru_cache(maxsize=256)
def names_in(text: str) -> frozenset[object]:
    """Return the names in a text, in normal form, but for words that open a sentence."""
    found = values_in(AnswerText(text))
    return frozenset(one.value for one in found if one.kind == "name" and not one.opens and stem(str(one.value)) not in STOP)


def _fold(word: str) -> str:
    return _PEOPLE.sub("", stem(word)) if len(word) > 4 else word


def _same_day(one: object, other: object) -> bool:
    assert isinstance(one, tuple) and isinstance(other, tuple)
    return one[1:] == other[1:] and (None in (one[0], other[0]) or one[0] == other[0])
