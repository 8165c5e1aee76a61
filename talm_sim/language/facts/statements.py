"""Decide whether an answer states a fact: the deterministic half of the `reference` judge; docs/talm.md gives the rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from talm_sim.language.facts.asserted import Sentences, cues_of, language_of
from talm_sim.language.facts.cldr_spellings import normalize_answer
from talm_sim.language.facts.dates import ClockTime, WrittenDate, WrittenTime, find_dates, find_slashed, find_times, iso_parts, time_is_stated
from talm_sim.language.facts.names import (
    Words,
    colors,
    find_spelled_number,
    normalize,
    places_in_other_order,
    places_of,
    places_of_surname,
)
from talm_sim.language.facts.numbers import (
    WrittenNumber,
    find_numbers,
    find_ratios,
    find_spelled_numbers,
    is_more_exact,
    is_negated,
    states_number,
)
from talm_sim.language.facts.topics import StatedFact, is_about_opposite, is_about_other_fact, topics_of
from talm_sim.language.facts.truths import find_nothing, find_truth
from talm_sim.language.facts.units import convert, unit_of
from talm_sim.language.facts.whole_lists import names_another_item
from talm_sim.types import Fact

_WHOLE_NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d*)(?:\.\d+)?")
_FILLER = re.compile(
    r"\b(?:at|on|in|about|around|approximately|roughly|even|the|um|am|à|a las|las|le|el|il|os|as|alle|às|possibly|perhaps|maybe|either)\b",
    re.IGNORECASE,
)
_LIST = re.compile(r"[\s,;/\u2022*\u3001|-]*")
_YEARS = re.compile(r"(?<![\d.,:-])(?:19|20|21)\d\d(?![\d.:-])")
NAMED = re.compile(r"(?<!\w)[^\W\da-z_][\w'-]*(?: [^\W\da-z_][\w'-]*){0,3}")
"""Words that begin with a capital: a name."""
_WHO = re.compile(r"\bwho(?:se|m)?\b|\bname\b", re.IGNORECASE)
_PERCENT = re.compile(r"percent|per_cent|pct", re.IGNORECASE)
SPAN = re.compile(r"(?: ?[ap]\.?m\b\.?)? ?(?:-|to|until|till|through|up to) ?(?:\w+day,? )?", re.IGNORECASE)
_MANY = 200
"""Places of one value that are read; what a longer answer repeats adds nothing."""
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a fact's kind that was found in an answer, and whether it is the fact's."""

    start: int
    end: int
    right: bool
    unsure: str = ""
    """Why nobody can tell whether it is; empty if it can be told."""


class Weighed(NamedTuple):
    """What an answer says of a fact, the values with which it says so, and all values of the fact's kind."""

    claim: bool | None
    stated: Sequence[Value]
    values: Sequence[Value]


class AnswerText:
    """A text an agent said to its user, read once and then asked for any number of facts.

    Args:
        answer: The text.
        request: What the user said: a year in it may be left out.
        facts: All facts of the scenario: the value of one does not contradict another.
        locale: The scenario's language: `en-US` and `en-GB` say how a day in digits is read.
    """

    def __init__(self, answer: str, request: str = "", facts: Sequence[Fact] = (), locale: str = "") -> None:
        self._locale = locale
        self.text = normalize_answer(answer)
        self.request = normalize_answer(request)
        self.language = language_of(self.text, self.request)
        self._cues = cues_of(self.language)
        self.facts = facts
        self.sentences = Sentences(self.text, self.language)

    @cached_property
    def words(self) -> Words:
        """Its words."""
        return Words(self.text)

    @cached_property
    def numbers(self) -> list[WrittenNumber]:
        """Its numbers."""
        return find_numbers(self.text, self.language)

    @cached_property
    def _spelled(self) -> list[WrittenNumber]:
        return find_spelled_numbers(self.text, self.words)

    @cached_property
    def dates(self) -> list[WrittenDate]:
        """Its days."""
        return find_dates(self.text, self.language)[:_MANY]

    @cached_property
    def times(self) -> list[WrittenTime]:
        """Its clock times."""
        return find_times(self.text, self.language)[:_MANY]

    @cached_property
    def _question_numbers(self) -> list[WrittenNumber]:
        return find_numbers(self.request)

    @cached_property
    def _question_dates(self) -> list[WrittenDate]:
        return find_dates(self.request)

    @cached_property
    def _question_times(self) -> list[WrittenTime]:
        return find_times(self.request)

    def states(self, fact: Fact) -> bool:
        """Return whether the answer states the fact.

        >>> answer = AnswerText("Noi Bai lies 39 ft above the sea; the flight is on February 10, 2024.")
        >>> answer.states(Fact(name="elevation", value=39)), answer.states(Fact(name="day", value="2024-02-10"))
        (True, True)
        >>> AnswerText("It does not lie at 39 ft.").states(Fact(name="elevation", value=39))
        False
        """
        return self.find_claim(fact) is True

    def find_claim(self, fact: Fact) -> bool | None:
        """Return what the answer says of a fact: True for its value, False for another, several or a denied one, None for nothing."""
        if isinstance(fact.value, bool):
            truth = find_truth(self.sentences, self.words, fact)
            return None if truth is None else truth is fact.value
        read = [self.weigh(part) for part in split_fact(fact)]
        said = [None if one.claim and all(value.unsure for value in one.stated) else one.claim for one in read]
        return False if False in said else None if None in said else True

    def weigh(self, fact: Fact) -> Weighed:
        """Return what the answer says of a fact that is one value, no truth, and the values that decide it."""
        # Of two readings of one place the right one counts.
        at = {value.start: value for value in sorted(self.values(fact), key=lambda value: (value.right, not value.unsure))}
        values = sorted(at.values(), key=lambda value: value.start)
        if not (right := [value for value in values if value.right][:_MANY]):
            return Weighed(False if self.is_about(fact, values) else None, (), values)
        stated = [value for value in right if self.sentences.affirms(value.start, value.end) and not self.is_corrected(value, values)]
        stated = [value for value in stated if not self._elsewhere(fact, value, right)]
        several = (
            self._several(values, kind_of(fact))
            or self._refers_elsewhere(values)
            or names_another_item(self.sentences, self.words, self.request, self.facts, fact)
        )
        return Weighed(bool(stated) and not several, stated, values)

    def values(self, fact: Fact) -> Iterator[Value]:
        """Yield the values of the fact's kind, right and wrong; only kinds with a clear form can be wrong."""
        value = fact.value
        for spelling in fact.accepted:
            if iso_parts(str(value)) is None or not _is_day_without_year(spelling):
                yield from (Value(*place, True) for place in places_of(spelling, self.text, self.words)[:_MANY])
        if (number := number_of(value)) is not None:
            yield from self._number_values(fact, number)
            return
        if (parts := iso_parts(str(value))) is not None:
            day, time = parts
            if day is not None:
                yield from (Value(one.start, one.end, self._is_day(one, day)) for one in self.dates if not self._of_another(fact, one))
                said = find_slashed(self.text, self._locale) if self.language == "en" else ()
                yield from (Value(one.start, one.end, True, why) for one, why in said if (one.year, one.month, one.day) == day.timetuple()[:3])
            elif time is not None:
                yield from (Value(t.start, t.end, time_is_stated(time, t.clock)) for t in self.times if not self._of_another(fact, t))
            return
        right = places_of(str(value), self.text, self.words)[:_MANY]
        yield from (Value(*place, True) for place in right)
        if not right and self.language == "en":
            why = "" if _WHO.search(self.request) else "its words stand in another order"
            yield from (Value(*place, True, why) for place in places_in_other_order(str(value), self.words))
            yield from (Value(*place, True, "only a part of the name is said") for place in places_of_surname(str(value), self.text))
        if re.fullmatch("#[0-9a-fA-F]{6}", str(value)):
            known = {str(one.value).lower().removeprefix("#") for one in self.facts} | {color for color, _ in colors(self.request)}
            own = str(value).lower().removeprefix("#")
            yield from (Value(*place, False) for color, place in colors(self.text) if color != own and color not in known)

    def _number_values(self, fact: Fact, number: Decimal | int | float) -> Iterator[Value]:
        unit = fact.unit or ("%" if _PERCENT.search(fact.name) else "")
        wanted = unit_of(unit)
        others = [(one, number_of(one.value)) for one in self.facts if one is not fact]
        numbers = self.numbers if len(self.numbers) < 2000 else [one for one in self.numbers if _gives_number(one, number, fact.unit)][:_MANY]
        for one in numbers:
            # A quantity of the request that is to be converted is not an answer if it is only repeated.
            repeated = (
                bool(one.unit and wanted)
                and one.unit != wanted
                and any((one.value, one.unit) == (asked.value, asked.unit) for asked in self._question_numbers)
            )
            if repeated:
                continue
            if _gives_number(one, number, unit):
                yield Value(one.start, one.end, True, self._why_unit_is_unsure(one, fact))
            elif self._may_be(one, wanted) and not states_number(one, number, unit, least=1):
                if any(value is not None and _gives_number(one, value, other.unit) for other, value in others):
                    continue
                if not any(one.value == asked.value for asked in self._question_numbers):
                    yield Value(one.start, one.end, False)
        if (minutes := convert(float(number), wanted, "minute") if wanted else None) is not None:
            yield from (Value(one.start, one.end, True) for one in self.times if 60 * one.clock[0] + one.clock[1] == minutes)
        if self.language == "en":
            shares = find_ratios(self.text) if wanted == "percent" or 0 < number < 1 else []
            whole = wanted == "percent"  # "one of them" is not 100 %
            said = (one for one in self._spelled if one.unit or not (whole and one.value == 1))
            spelled = (one for one in (*said, *shares) if _gives_number(one, number, unit))
            yield from (Value(one.start, one.end, True, self._why_unit_is_unsure(one, fact)) for one in spelled)
            asked = normalize(f"{' '.join(topics_of(fact))} {self.request}").split()
            yield from (Value(*place, True, why) for place, why in (find_nothing(self.sentences, {*asked}) if number == 0 else ()))
        elif number == int(number) and (isinstance(fact.value, int) or _WHOLE_NUMBER.fullmatch(str(fact.value))):
            for start, end in find_spelled_number(abs(int(number)), self.words, self._cues.numbers):
                if is_negated(self.text, start) is (number < 0):
                    yield Value(start, end, True)

    def _why_unit_is_unsure(self, number: WrittenNumber, fact: Fact) -> str:
        """Return why nobody can tell whether a number is in the fact's unit; nothing if it can be told."""
        known, behind = unit_of(fact.unit), self.text[number.end :].lstrip(" -")
        if not fact.unit or self.language != "en" or behind.startswith(fact.unit):
            return ""
        said = number.unknown if known else number.unknown or number.unit
        if said or not known or number.unit or (value := number_of(fact.value)) is None:
            return f"the unit '{said}' is not known" if said else ""
        others = [(number_of(one.value), one.unit) for one in self.facts if one.name != fact.name] + [(value, fact.unit)]
        span = SPAN.match(self.text, number.end)  # "30 to 60 km"
        rivals = [one for one in self.numbers if one.unit and self._may_be(one, known) and not (span and span.end() == one.start)]
        rivals = [one for one in rivals if not any(other is not None and _gives_number(one, other, unit) for other, unit in others)]
        return f"it has no unit beside {self.text[rivals[0].start : rivals[0].end]} {rivals[0].unit}" if rivals else ""

    def _may_be(self, number: WrittenNumber, unit: str) -> bool:
        """Return whether a number could be given for a fact: nothing says that it is of another kind."""
        if not number.unit or not unit:
            return True
        above, wanted = number.unit.partition("/")[0], unit.partition("/")[0]
        return above == wanted or bool(set(above.split()) & set(wanted.split())) or convert(1.0, unit, number.unit) is not None

    def _is_day(self, said: WrittenDate, day: date) -> bool:
        """Compare days; a year may be left out if the request or the sentence names it, and no other."""
        if (said.month, said.day) != (day.month, day.day):
            return False
        if said.year is not None:
            return said.year == day.year
        first, last = self.sentences.span(self.sentences.number_at(said.start))
        whole = [one for one in self.dates if one.year is not None and first <= one.start < last]
        span = SPAN.match(self.text, said.end)
        if span and (same := [one.year for one in self.dates if one.start == span.end() and one.year]):
            return day.year in same
        near = self.text[max(first, said.start - 120) : min(last, said.end + 60)]
        if years := {int(year) for year in _YEARS.findall(near)} - {one.year for one in whole}:
            return day.year in years
        return re.search(rf"(?<!\d){day.year}(?!\d)", self.request) is not None

    def _of_another(self, fact: Fact, said: WrittenDate | WrittenTime) -> bool:
        """Return whether a day or time is one that the request names, or another fact's value, and not this one's."""
        values = [(one.name == fact.name, iso_parts(str(one.value))) for one in self.facts or (fact,)]  # a day with a time is asked by parts
        matches = {own for own, parts in values if parts is not None and self._is_part(said, parts)}
        if True in matches:
            return False
        if False in matches:
            return True
        asked = self._question_dates if isinstance(said, WrittenDate) else self._question_times
        if isinstance(said, WrittenDate):
            return any(
                (said.month, said.day) == (one.month, one.day) and said.year in {None, one.year}
                for one in asked
                if isinstance(one, WrittenDate)
            )
        return any(said.clock[:2] == one.clock[:2] for one in asked if isinstance(one, WrittenTime))

    def _is_part(self, said: WrittenDate | WrittenTime, parts: tuple[date | None, ClockTime | None]) -> bool:
        day, time = parts
        if isinstance(said, WrittenDate):
            return day is not None and self._is_day(said, day)
        return time is not None and time_is_stated(time, said.clock)

    def _several(self, values: Sequence[Value], kind: str) -> bool:
        """Return values beside each other that are candidates: two with "or" between them, or three in a row."""
        row = 1
        for at, (earlier, later) in enumerate(pairwise(values), 1):
            if (between := self._text_between(earlier, later)) is None:
                row = 1
                continue
            dash = kind not in {"day", "time"} and re.fullmatch(" ?- ?", between)
            if earlier.right != later.right and (self._cues.either.search(between) or dash):
                return True
            row = row + 1 if _LIST.fullmatch(between) else 1
            if row >= 3 and len({value.right for value in values[at - row + 1 : at + 1]}) == 2:
                return True
        return False

    def _text_between(self, earlier: Value, later: Value) -> str | None:
        """Return the text between two values, without their units and small words; None if they are not beside each other."""
        if not 0 <= later.start - earlier.end <= 40:
            return None
        text = self.text[earlier.end : later.start]
        for word in re.findall(r"[^\s,;]+", text):
            if unit_of(word):
                text = text.replace(word, " ", 1)
        text = _FILLER.sub(" ", text)
        left = self._cues.either.sub(" ", text)
        return text if _LIST.fullmatch(left) else None

    def is_corrected(self, value: Value, values: Sequence[Value]) -> bool:
        """Return whether a value is corrected to another one later."""
        cue = self._cues.corrects.search(self.text, value.end, value.end + 200)
        return cue is not None and any(not one.right and 0 <= one.start - cue.end() <= 80 for one in values)

    def _refers_elsewhere(self, values: Sequence[Value]) -> bool:
        """Return whether another value is said to be given elsewhere."""
        if not (wrong := [value.start for value in values if not value.right][:_MANY]):
            return False
        return any(0 <= start - cue.end() <= 80 for cue in self._cues.others.finditer(self.text) for start in wrong)

    def _elsewhere(self, fact: Fact, value: Value, right: Sequence[Value]) -> bool:
        """Return whether a value is the answer to another fact of its kind."""
        ends = [*(time.end for time in self.times), *(day.end for day in self.dates)]
        in_span = any(SPAN.fullmatch(self.text[end : value.start]) for end in ends if end <= value.start)
        if not in_span and is_about_opposite(self.sentences, (value.start, value.end), fact):
            return True
        others = [one for one in self.facts if one is not fact and kind_of(one) == kind_of(fact) and one.value != fact.value]
        if not others or len(right) == _MANY:
            return False
        said = [StatedFact(one, [(value.start, value.end) for value in self.values(one) if value.right][:_MANY]) for one in others]
        own = StatedFact(fact, [(one.start, one.end) for one in right])
        return is_about_other_fact(self.sentences, (value.start, value.end), own, said)

    def is_about(self, fact: Fact, values: Sequence[Value]) -> bool:
        """Return whether one of the values is in or near a sentence about the fact."""
        words = [set(normalize(topic).split()) for topic in topics_of(fact)]
        for value in values[:_MANY]:
            first, last = self.sentences.span(self.sentences.number_at(value.start))
            said = set(normalize(self.text[max(first, value.start - 300) : min(last, value.end + 200)]).split())
            if any(topic and topic <= said for topic in words):
                return True
        return False


def split_fact(fact: Fact) -> list[Fact]:
    """Split a fact: a day with a time is two facts."""
    parts = iso_parts(fact.value) if isinstance(fact.value, str) else None
    if parts is None or None in parts:
        return [fact]
    day, time = str(fact.value).strip()[:10], str(fact.value).strip()[11:]
    return [fact.model_copy(update={"value": day}), fact.model_copy(update={"value": re.sub(r"(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?$", "", time)})]


def _gives_number(number: WrittenNumber, value: Decimal | int | float, unit: str) -> bool:
    """Return whether a number is a value's, as it is, rounded, or more exact."""
    return states_number(number, value, unit) or is_more_exact(number, value, unit)


def number_of(value: str | int | float) -> Decimal | int | float | None:
    """Return the number that a fact's value is; None if it is a truth or any other text."""
    if isinstance(value, bool):
        return None
    if not isinstance(value, str):
        return value
    return Decimal(value.strip()) if _WHOLE_NUMBER.fullmatch(value.strip()) else None


def kind_of(fact: Fact) -> str:
    """Return what facts must share to be swapped: `number`, `day`, `time`, `color` or `text`."""
    if number_of(fact.value) is not None:
        return "number"
    if (parts := iso_parts(str(fact.value))) is not None:
        return "time" if parts[0] is None else "day"
    return "color" if re.fullmatch("#[0-9a-fA-F]{6}", str(fact.value)) else "text"


def _is_day_without_year(spelling: str) -> bool:
    days = find_dates(spelling)
    return len(days) == 1 and days[0].year is None and days[0].end - days[0].start == len(normalize_answer(spelling).strip())
