"""Read the day that a person gives without naming it: a day of the month, a month, a day of the week, a day counted from another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal

from talm_sim.agent.person.counts import is_ordinal
from talm_sim.agent.person.values import spelt_numbers
from talm_sim.facts.spellings import month_of
from talm_sim.facts.statements import AnswerText

__all__ = ["days_of_month", "derived_days", "is_relative", "other_day", "shifted"]

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAY = re.compile(rf"\b({'|'.join(_WEEKDAYS)})\b", re.IGNORECASE)
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
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


def days_of_month(text: AnswerText, day: date, *, by_the_way: bool) -> Iterator[tuple[int, int]]:
    """Yield where a text gives only the day of the month: "the 14th".

    Args:
        text: What was said.
        day: The day.
        by_the_way: Whether nobody asked for it, so that only "on the 14th" is one.
    """
    places = [(*match.span(), Decimal(match[1])) for match in _OF_MONTH.finditer(text.text)]
    places += [one for one in spelt_numbers(text.text) if is_ordinal(text.text[one[0] : one[1]])]
    for start, end, number in places:
        inside = any(one.start <= start < one.end for one in text.dates)
        noun = re.match(r"[ -](?:of )?([^\W\d_]{3,})", text.text[end:])
        other = noun is not None and month_of(noun[1]) != day.month
        if number == day.day and not inside and not other and (_ON.search(text.text[:start]) or not by_the_way):
            yield start, end


def shifted(text: str, start: int) -> bool:
    """Return whether a value is only what another one is counted from.

    >>> shifted("The day after 14 March", 14), shifted("On 14 March", 3)
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
    """Return whether a text says, in place of a day or beside it, another month, day of the week or day counted from somewhere.

    Args:
        text: What was said.
        day: The day that is known.
        question: What was asked.
        given: Whether the text gives the day, so that only a day of the week beside it can be wrong.
    """
    for match in _WEEKDAY.finditer(text.text):
        beside = any(-2 < one.start - match.end() <= 8 or 0 <= match.start() - one.end <= 3 for one in text.dates)
        if _WEEKDAYS[day.weekday()] != match[1].lower() and (beside or not given) and _is_stated(text, *match.span()):
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
