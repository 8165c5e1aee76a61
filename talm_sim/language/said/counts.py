"""Read counts in what a person says: what a number counts, bounds on it, sums, and words such as "just me" and "nobody"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise

from talm_sim.language.facts.names import normalize
from talm_sim.language.facts.statements import AnswerText
from talm_sim.language.facts.units import unit_of
from talm_sim.language.question_words import GENERIC, STOP, stem
from talm_sim.language.said.spoken_values import spelt_numbers


def stems(text: str) -> frozenset[str]:
    """Return the stems of a text's words, less those that say nothing."""
    return frozenset(stem(word) for word in normalize(text).split()) - STOP


_BEHIND = re.compile(r"(?:[ -](?!(?:and|or|plus|but|for|in|on|at|of|from|with)\b)[^\W\d_][\w'\u2019]*){1,2}")
_UNITS = re.compile(
    r"(?:[ -](?!(?:and|or)\b)\w+)? ?-?"
    r"(?:(?:night|day|week|month|year|hour|hr|minute|min|second)s?\b|h\b|[ap]\.? ?m\b|o['\u2019]clock|%|percent\b)",
    re.IGNORECASE,
)
"""What makes a number a time, a duration or a share."""
_BOUND_BEFORE = re.compile(
    r"\b(?:at (?:least|most)|(?:more|less|fewer|greater|other) than|over|under|up to|above|below|beyond|nearly|almost|close to|half of|twice"
    r"|(?:a )?(?:max|(?:max|min)imum)(?: of)?) (?:the |about |some )?$",
    re.IGNORECASE,
)
_BOUND_BEHIND = re.compile(
    r"\+|(?: (?!and\b|or\b)\w+){0,2}?"
    r"(?: or (?:more|less|fewer|above|below)| at (?:least|most)| and (?:up|more|over)| plus$| max| (?:max|min)imum)\b",
    re.IGNORECASE,
)
_PEOPLE = stems(
    "guest people person adult child children kid baby infant toddler friend passenger traveller traveler visitor participant man men"
    " woman women boy girl teenager senior seat ticket wife husband partner son daughter brother sister mother father parent colleague"
)
_CARDINAL = r"\d{1,3}|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|no"
_ITEM = (
    rf"(?:(?:me|myself|I)\b|(?:(?:my|our|his|her) )?(?:(?:{_CARDINAL})\b|an?\b|(?<=my )|(?<=our ))"
    r"(?: ?(?!(?:and|plus|with|for)\b)[a-z]+\b){0,2})"
)
_JOINS = r"(?:,? (?:and|plus|with|&|\+) |, )"
_ENUMERATED = re.compile(rf"(?<!\w){_ITEM}(?:{_JOINS}{_ITEM})+", re.IGNORECASE)
_NUMBER = re.compile(rf"\b(?:{_CARDINAL})\b", re.IGNORECASE)
_NAMED = re.compile(r"([^\W\d_]+) #?$")
_SELF = re.compile(r"\b(?:me|myself|I|my|our)\b", re.IGNORECASE)
_GROUPS = (
    (re.compile(r"\b(?:just|only) (?:me|myself|I)\b|\b(?:alone|solo|single)\b|\b(?:by myself|on my own)\b", re.IGNORECASE), 1, True),
    (re.compile(r"\b(?:couple|pair|duo|twosome)\b|\bboth of us\b", re.IGNORECASE), 2, False),
    (re.compile(r"\b(?:trio|threesome)\b", re.IGNORECASE), 3, False),
    (re.compile(r"\b(?:quartet|foursome)\b", re.IGNORECASE), 4, False),
    (re.compile(r"\bhalf a dozen\b", re.IGNORECASE), 6, False),
    (re.compile(r"(?<!half )\ba dozen\b", re.IGNORECASE), 12, False),
)
"""Words for a number, the number, and whether they are of people alone."""
_NOBODY = re.compile(r"(?:^|[.!?;] )\W*(?:none|nobody|no[- ]one|nil)(?: at all| of us)?\W*(?:$|(?=[.!]))", re.IGNORECASE)
_NO_NOUN = re.compile(r"(?:^|[.!?;,] |\b(?:have|are|be|is) )no ([^\W\d_]+)", re.IGNORECASE)


def is_ordinal(words: str) -> bool:
    """Return whether a number in words is one of an order."""
    return words.lower().endswith(("first", "second", "third", "th"))


def counted(text: str, end: int) -> frozenset[str]:
    """Return the stems of the words that say what a number counts.

    >>> sorted(counted("three long nights, please", 5))
    ['long', 'night']
    """
    behind = _BEHIND.match(text, end)
    return stems(behind[0]) if behind else frozenset()


def follows(text: AnswerText, start: int, end: int, own: frozenset[str], *, by_the_way: bool) -> bool:
    """Return whether a number may count what words of `own` name: nothing beside it says otherwise.

    Args:
        text: The text.
        start: The number's place.
        end: Where it ends.
        own: Stems of what is known of the thing.
        by_the_way: Whether nobody asked for it, so that a number of anything else is no value of it.
    """
    if end - start < 3 and any(begin <= start < stop for begin, stop in _days_and_times(text)):
        return False
    beside = counted(text.text, end)
    if beside & own:
        return True
    unit = _UNITS.match(text.text, end)
    same = unit is not None and bool(unit_of(unit[0].strip(" -"))) and unit_of(unit[0].strip(" -")) in {unit_of(word) for word in own}
    if (unit and not same) or text.text[end : end + 1] == "/" or text.text[max(0, start - 1) : start] == "/":
        return False
    named = _NAMED.search(text.text[max(0, start - 24) : start]) if by_the_way and end - start < 3 else None
    if named and stem(named[1].lower()) not in STOP | GENERIC | own:
        return False
    return not by_the_way or not beside or (end - start >= 3 and text.text[start:end].isdecimal())


def bounded(text: str, start: int, end: int) -> bool:
    """Return whether a number is only a bound of what is meant.

    >>> bounded("At least three.", 9, 14), bounded("About three.", 6, 11), bounded("Three or more", 0, 5)
    (True, False, True)
    """
    return bool(_BOUND_BEFORE.search(text[max(0, start - 32) : start]) or _BOUND_BEHIND.match(text, end))


def counts_in_words(text: str, known: frozenset[str]) -> Iterator[tuple[int, int, int]]:
    """Yield numbers that are a sum or have no numeral, with their places: "two adults and a child", "just me", "nobody", "no guests".

    Args:
        text: What was said.
        known: Stems of the question and of what is known of the thing.
    """
    people = bool(known & _PEOPLE)
    for match in _ENUMERATED.finditer(text) if people else ():
        parts = re.split(_JOINS, match[0], flags=re.IGNORECASE)
        numbers = [_NUMBER.search(part) for part in parts]
        persons = [bool(stems(part) & _PEOPLE) or bool(_SELF.search(part)) for part in parts]
        # What follows a comma may only say who is meant: "three of us, my son and me".
        if re.match(",", match[0][len(parts[0]) :]) and numbers[0] and not all(numbers):
            continue
        if any(persons) and not any(_UNITS.search(part) for part in parts):
            values = [1 if number is None else _value(number[0]) for number in numbers]
            yield *match.span(), sum(values)
    for form, value, of_people in _GROUPS:
        yield from ((*match.span(), value) for match in form.finditer(text) if people or not of_people)
    yield from ((*match.span(), 0) for match in _NOBODY.finditer(text))
    yield from ((*match.span(), 0) for match in _NO_NOUN.finditer(text) if stem(match[1].lower()) in known - STOP - GENERIC)


def _value(word: str) -> int:
    if word.isdigit():
        return int(word)
    return next((int(value) for _, _, value in spelt_numbers(word)), 0)


def other_counts(text: AnswerText, request: AnswerText) -> Iterator[tuple[int, int]]:
    """Yield the numbers of a text that count what the request counts, and are others: "three nights" for "two nights"."""
    wanted: dict[str, set[Decimal]] = {}
    for _, end, value in _cardinals(request):
        for noun in counted(request.text, end) - GENERIC:
            wanted.setdefault(noun, set()).add(value)
    said = list(_cardinals(text))
    corrected = {
        start for (start, end, _), (later, _, _) in pairwise(said) if text.text[end:later].strip(" ,.").lower() in {"no", "sorry", "not"}
    }
    for start, end, value in said:
        nouns = counted(text.text, end) & wanted.keys()
        if nouns and start not in corrected and text.sentences.affirms(start, end) and not any(value in wanted[noun] for noun in nouns):
            yield start, end


def _days_and_times(text: AnswerText) -> list[tuple[int, int]]:
    return [*((day.start, day.end) for day in text.dates), *((time.start, time.end) for time in text.times)]


def _cardinals(text: AnswerText) -> Iterator[tuple[int, int, Decimal]]:
    apart = _days_and_times(text)
    for number in text.numbers:
        if not any(start <= number.start < end for start, end in apart):
            yield number.start, number.end, number.value
    yield from ((start, end, value) for start, end, value in spelt_numbers(text.text) if not is_ordinal(text.text[start:end]))
