"""Find where a text gives a thing that a person knows.

A day may be given without naming it: a day of the month, a month, a day of the week, a day counted from another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise

from talm_sim.agent.person.knowledge import Knowledge, KnownThing
from talm_sim.language.calendar_words import MONTHS, WEEKDAYS
from talm_sim.language.facts.claims import gives, is_rejected
from talm_sim.language.facts.cldr_spellings import month_of
from talm_sim.language.facts.dates import iso_parts
from talm_sim.language.facts.names import normalize
from talm_sim.language.facts.statements import AnswerText, Value, kind_of
from talm_sim.language.facts.units import unit_of
from talm_sim.language.question_words import stem
from talm_sim.language.said.counts import bounded, counted, counts_in_words, follows, is_ordinal, stems
from talm_sim.language.said.spoken_values import names_in, spelt_numbers, turns, values_in
from talm_sim.types import Fact

_LONG_NUMBER = 8
_CONTROLS = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*[0-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
"""What a terminal reads as commands; no person says it."""
_EXCEPT = re.compile(
    r"\b(?:any|anything|everything|all|nothing|anywhere|everywhere|anyone|everyone)\b[^.,;!?]{0,30} "
    r"(?:but|except|besides|other than|apart from) (?:for |in |the |a )*#?$"
    r"|\b(?:near|close to|next to|outside|not far from|around) (?:the )?#?$",
    re.IGNORECASE,
)
"""Words that make a value one that is not meant."""
_WEEKDAY = re.compile(rf"\b({'|'.join(WEEKDAYS)})\b", re.IGNORECASE)
_MONTHS = "|".join(MONTHS)
_MONTH = re.compile(
    rf"\b(?:in|of|mid|early|late|next|this|last|until|by|from|since|around|during)[ -](?:(?:early|mid|late)[ -])?({_MONTHS})\b"
    rf"|^\W*({_MONTHS})\b",
    re.IGNORECASE,
)
_RELATIVE = re.compile(
    r"\b(?:tomorrow|yesterday|today|tonight|this (?:weekend|week|month|year)|(?:next|last|coming|previous) (?:week(?:end)?|month|year)"
    r"|in (?:a|an|\w+) (?:days?|weeks?|months?|years?)|(?:days?|weeks?|months?|years?) (?:from now|ago))\b",
    re.IGNORECASE,
)
_BESIDE = re.compile(r"\b(?:days?|nights?|weeks?|months?|mornings?) (?:right |just )?(?:after|before|later|earlier)\b", re.IGNORECASE)
_SHIFT = re.compile(
    r"\b(?:days?|nights?|weeks?|months?|years?|mornings?|evenings?|hours?|minutes?) (?:right |just )?"
    r"(?:after|before|past|following|prior to|from)(?: (?:the|on|that))?\W*$",
    re.IGNORECASE,
)
_OF_MONTH = re.compile(r"(?<![\w.,])(\d{1,2})(?:st|nd|rd|th)\b")
_ON = re.compile(r"\b(?:on|from|by|until|since|till)(?: \w+day,?)? (?:the )?$|\bnot (?:on )?(?:the )?$|\bthe $", re.IGNORECASE)
_UNSURE = re.compile(r"\?|\b(?:know|sure|idea|tell|ask|check|can(?:no|['\u2019])?t|won['\u2019]t|why)\b", re.IGNORECASE)
_FEW_WORDS = 9
_LENGTH = re.compile(r"[ -](?:\w+ )?(nights?|days?|weeks?)\b", re.IGNORECASE)


def read_text(text: str, knowledge: Knowledge, request: str = "") -> AnswerText:
    """Read what was said of a scenario; a date may be given without its year."""
    years = " ".join(str(day.year) for day in map(day_of, knowledge.things) if day)
    return AnswerText(_CONTROLS.sub("", text), f"{request}\n{years}".strip())


def day_of(thing: KnownThing) -> date | None:
    """Return the day that a thing is; None if it is none."""
    for fact in thing.facts:
        if (parts := iso_parts(str(fact.value))) and parts[0]:
            return parts[0]
    return None


def number_of(thing: KnownThing) -> Decimal | None:
    """Return the number that a thing is; None if it is none."""
    return next((Decimal(str(fact.value)) for fact in thing.facts if kind_of(fact) == "number"), None)


def gives_thing(text: AnswerText, thing: KnownThing, *, by_the_way: bool = False) -> bool:
    """Return whether a text gives a thing's value, surely or in doubt; if nobody asked (`by_the_way`), a number must count nothing else."""
    if any(True for _ in _grouped(text, thing)) or _gives_in_parts(text, thing):
        return True
    if number_of(thing) is not None:
        places = list(right_places(text, thing, by_the_way=by_the_way))
        values = [Value(start, end, right=True) for start, end in places]
        meant = [value for value in values if not _is_not_meant(text.text, value.start)]
        return any(not is_rejected(text, value, values) and not _is_taken_back(text, value) for value in meant)
    day = day_of(thing)
    if (
        day is not None
        and len(thing.facts) == 1
        and any(not _is_denied(text, *place) for place in _days_of_month(text, day, by_the_way=by_the_way))
    ):
        return True
    given = any(gives(text, fact) or _gives_words(text, fact) for fact in thing.facts)
    places = list(right_places(text, thing))
    if given and places:
        return any(not _is_not_meant(text.text, start) and not _is_denied(text, start, end) for start, end in places)
    return given or _gives_name(text, thing)


def right_places(text: AnswerText, thing: KnownThing, *, by_the_way: bool = False) -> Iterator[tuple[int, int]]:
    """Yield where a text has a thing's value, affirmed or denied."""
    number = number_of(thing)
    own = stems(f"{thing.words} {thing.name.replace('_', ' ')} {'' if by_the_way else thing.description}")
    spelt = [one for one in spelt_numbers(text.text) if not is_ordinal(text.text[one[0] : one[1]])]
    found = {(value.start, value.end) for fact in thing.facts for value in text.values(fact) if value.right}
    if number is not None:
        found |= {(start, end) for start, end, value in spelt if value == number}
        other = [(start, end) for start, end, value in spelt if value != number]
        found = {place for place in found if not any(start <= place[0] < end for start, end in other)}
        found = {place for place in found if follows(text, *place, own, by_the_way=by_the_way)}
        if not by_the_way:
            found |= {(start, end) for start, end, value in counts_in_words(text.text, own) if value == number}
    if (day := day_of(thing)) is not None:
        found |= {*_days_of_month(text, day, by_the_way=by_the_way)}
    yield from sorted(found)
    yield from (match.span() for match in _grouped(text, thing))


def is_bound(text: AnswerText, thing: KnownThing) -> bool:
    """Return whether a text gives a number only as a bound: "at least three"."""
    places = list(right_places(text, thing))
    known = any(bounded(thing.words, match.start(), match.end()) for match in re.finditer(r"\d+", thing.words))
    return number_of(thing) is not None and bool(places) and not known and all(bounded(text.text, *place) for place in places)


def other_unit(text: AnswerText, thing: KnownThing, request: str) -> bool:
    """Return whether a text gives a number with another unit or currency than the person knows of: dollars for yen."""
    number, known = number_of(thing), AnswerText(thing.words)
    same = [one for one in known.numbers if one.value == number]
    own = {unit for one in same for unit in one.unit.split()}
    nouns = {noun for one in same for noun in counted(known.text, one.end)}
    # A currency may have its whole name in the request: "Japanese yen".
    own |= {unit for pair in pairwise(normalize(request).split()) if stem(pair[1]) in nouns for unit in unit_of(" ".join(pair)).split()}
    said = [set(one.unit.split()) for one in text.numbers if one.value == number and one.unit]
    return bool(own) and any(units.isdisjoint(own) for units in said)


def _is_taken_back(text: AnswerText, value: Value) -> bool:
    return any(one.kind == "number" and one.start > value.end and turns(text.text[value.end : one.start]) for one in values_in(text))


def _is_not_meant(text: str, start: int) -> bool:
    return _shifted(text, start) or bool(_EXCEPT.search(text[max(0, start - 60) : start]))


def _is_denied(text: AnswerText, start: int, end: int) -> bool:
    return is_rejected(text, Value(start, end, right=True), [])


def _gives_name(text: AnswerText, thing: KnownThing) -> bool:
    """Return whether a text has a name that the person would answer with: the city beside its airport's code."""
    return any(one.kind == "name" and one.value in names_in(thing.words) and not _is_not_meant(text.text, one.start) for one in values_in(text))


def _gives_words(text: AnswerText, fact: Fact) -> bool:
    """Return whether a text has all words of a name of several, in any order."""
    words = set(text.words.words)
    return any(
        len(set(one)) > 1 and words.issuperset(one) for one in (normalize(name).split() for name in fact.accepted) if "".join(one).isalpha()
    )


def _grouped(text: AnswerText, thing: KnownThing) -> Iterator[re.Match[str]]:
    """Yield where a long number is written in groups of digits."""
    for fact in thing.facts:
        digits = str(fact.value)
        if digits.isdigit() and len(digits) >= _LONG_NUMBER:
            yield from re.finditer(rf"(?<!\d){'[ .-]?'.join(digits)}(?!\d)", text.text)


def _gives_in_parts(text: AnswerText, thing: KnownThing) -> bool:
    """Return whether a text gives all numbers of a quantity that was written with two: 11 hours and 10 minutes."""
    if {"number"} != {kind_of(fact) for fact in thing.facts}:
        return False
    written = [number.value for number in AnswerText(thing.missing.removed_text).numbers]
    said = {number.value for number in text.numbers}
    return len(written) > 1 and said.issuperset(written)


def _days_of_month(text: AnswerText, day: date, *, by_the_way: bool) -> Iterator[tuple[int, int]]:
    """Yield where a text gives only the day of the month: "the 14th"; if nobody asked for it (`by_the_way`), only "on the 14th" is one."""
    places = [(*match.span(), Decimal(match[1])) for match in _OF_MONTH.finditer(text.text)]
    places += [one for one in spelt_numbers(text.text) if is_ordinal(text.text[one[0] : one[1]])]
    for start, end, number in places:
        inside = any(one.start <= start < one.end for one in text.dates)
        noun = re.match(r"[ -](?:of )?([^\W\d_]{3,})", text.text[end:])
        other = noun is not None and month_of(noun[1]) != day.month
        if number == day.day and not inside and not other and (_ON.search(text.text[:start]) or not by_the_way):
            yield start, end


def _shifted(text: str, start: int) -> bool:
    """Return whether a value is only what another one is counted from.

    >>> _shifted("The day after 14 March", 14), _shifted("On 14 March", 3)
    (True, False)
    """
    return bool(_SHIFT.search(text[max(0, start - 40) : start]))


def derived_days(request: AnswerText, day: date) -> frozenset[date]:
    """Return the days that follow from a day and the lengths of time that the request names: two nights later."""
    found = set()
    for end, value in [*((one.end, one.value) for one in request.numbers), *((end, value) for _, end, value in spelt_numbers(request.text))]:
        length = _LENGTH.match(request.text, end)
        if length and abs(value) < Decimal(1000) and value == int(value):
            step = timedelta(days=int(value) * (7 if length[1].lower().startswith("week") else 1))
            try:
                found |= {day + step, day - step}
            except OverflowError:
                continue
    return frozenset(found)


def other_day(text: AnswerText, day: date, question: AnswerText, *, given: bool) -> bool:
    """Return whether a text says, in place of a day or beside it, another month, day of the week or day counted from somewhere."""
    for match in _WEEKDAY.finditer(text.text):
        beside = any(-2 < one.start - match.end() <= 8 or 0 <= match.start() - one.end <= 3 for one in text.dates)
        if WEEKDAYS[day.weekday()] != match[1].lower() and (beside or not given) and _is_stated(text, *match.span()):
            return True
    if given:
        return False
    for match in _MONTH.finditer(text.text):
        if month_of(match[1] or match[2]) != day.month and _is_stated(text, *match.span()):
            return True
    counted = not question.dates and any(_is_stated(text, *match.span()) for match in _BESIDE.finditer(text.text))
    return counted or is_relative(text)


def is_relative(text: AnswerText) -> bool:
    """Return whether a text gives a day or a year only by today's: "tomorrow", "next year"."""
    return any(_is_stated(text, *match.span()) for match in _RELATIVE.finditer(text.text))


def _is_stated(text: AnswerText, start: int, end: int) -> bool:
    """Return whether a short sentence states something at a place."""
    first, last = text.sentences.span(text.sentences.number_at(start))
    sentence = text.text[first : last + 1]
    return len(sentence.split()) <= _FEW_WORDS and not _UNSURE.search(sentence) and text.sentences.affirms(start, end)
