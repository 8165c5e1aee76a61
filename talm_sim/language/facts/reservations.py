"""Decide whether an English answer takes a value back, dates it, doubts it or gives it for somebody else: surely, or perhaps."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from talm_sim.language.calendar_words import MONTHS, WEEKDAYS
from talm_sim.language.facts.asserted import Sentences
from talm_sim.language.facts.names import normalize

Place = tuple[int, int]
_CAPITAL = re.compile(r"(?<![.!?:\n] )(?<!^)(?<![\n\w'’|])[^\W\da-z_][\w'’-]*(?: (?:[^\W\da-z_][\w'’-]*|\d[\w-]*))*")
CODE = re.compile(r"(?<![\w.,-])(?=[\w-]*\d)(?=[\w-]*[A-Z])[\w-]{2,}")
_SEGMENT = re.compile(r"[;.!?](?=\s|$)|\n|,(?= )|\bbut\b|\bwhile\b|\bwhereas\b|\band\b|[()|—]| - ", re.IGNORECASE)
_LISTED = re.compile(r"[\s,;&]*(?:(?:the|and|or|nor|[^\W\da-z_][\w'’-]*|\d[\d.,]*)[\s,;&]*)*")
_SAME = re.compile(r" *(?:it|that|this|they|these|he|she|however|but|since|now|then|actually|correction|strike|scratch|sorry)\b", re.IGNORECASE)
_TURN = re.compile(r"\b(?:but|now|today|currently|while|whereas)\b|;", re.IGNORECASE)
_JOINED = re.compile(rf"{_LISTED.pattern}(?:is|are|was|were|has been|have been) (?:all |both |already |each )?")
_BOX = re.compile(r"\[ ?\] ?$")
_FIRST_NAME = re.compile(r"^\W*([^\W\da-z_][\w-]*(?: [^\W\da-z_][\w'’-]*)*)")
_WAS_THE = re.compile(r" (?:was|were) (?:the|an?|our|your|my|his|her|their|its)\b")
_SUBJECT = re.compile(r"\W*(?:the|your|my|our|his|her|its) ((?:[a-z]+ )?[a-z]+) (?:is|was|are|were|costs?|has|have)\b", re.IGNORECASE)
_STEM = re.compile(r"(?<=\w\w\w)(?:ren|ies|es|s|ed|ing|er|e)$")
_SAME_WORD = {"first": "one", "second": "two", "third": "three", "fourth": "four", "fifth": "five"}
_SAME_WORD |= {day[:3]: day for day in WEEKDAYS[:-1]}


class Reservation(NamedTuple):
    """What stands against a value: surely, or so that nobody can tell."""

    why: str
    sure: bool


@cache
def words_of(table: str, key: str) -> re.Pattern[str]:
    """Return one pattern for a list of the table's patterns."""
    return re.compile("|".join(rf"(?<!\w)(?:{word})(?!\w)" for word in tables()[table].get(key, ())) or "(?!)", re.IGNORECASE)


@cache
def tables() -> Mapping[str, Mapping[str, Any]]:
    """Return the words of the table."""
    return tomllib.loads(files("talm_sim.language.facts").joinpath("reservations.toml").read_text(encoding="utf-8"))


class _Spot(NamedTuple):
    """A value in an answer, with what is around it."""

    sentences: Sentences
    request: str
    place: Place
    others: Sequence[Place]
    """Where other values of its kind are, that may be meant instead."""
    topics: Sequence[str]
    """What the fact is called."""

    @property
    def text(self) -> str:
        return self.sentences.text

    @property
    def span(self) -> Place:
        """Where its sentence begins and ends."""
        return self.sentences.span(self.sentences.number_at(self.place[0]))

    @property
    def following(self) -> str:
        """The next sentence."""
        number = self.sentences.number_at(self.place[0]) + 1
        return self.text[slice(*self.sentences.span(number))] if number < len(self.sentences) else ""

    @property
    def again(self) -> bool:
        """Whether another value follows."""
        return any(start >= self.place[1] for start, _ in self.others)

    def said(self, table: str, key: str, text: str) -> str:
        """Return the first of a list's words in a text that the request does not have."""
        return next((match[0] for match in words_of(table, key).finditer(text) if match[0].lower() not in self.request.lower()), "")

    def is_now(self, start: int) -> bool:
        """Return whether something is said to be so today, soon behind a place."""
        return words_of("present", "sure").search(self.text, start, start + 200) is not None


def reservation(sentences: Sentences, request: str, place: Place, others: Sequence[Place], topics: Sequence[str]) -> Reservation | None:
    """Return what stands against a value, the surest first; None for a value that is simply given.

    Args:
        sentences: Those of the answer.
        request: What the user said: words of it are no reservation.
        place: Where the value is.
        others: Where other values of its kind are, that may be meant instead.
        topics: What the fact is called.
    """
    spot = _Spot(sentences, request, place, others, topics)
    found = [
        one for read in (_denied, _taken_back, _of_another_time, _corrected, _of_somebody_else, _doubted) if (one := read(spot)) is not None
    ]
    return min(found, key=lambda one: not one.sure, default=None)


def _denied(spot: _Spot) -> Reservation | None:
    """Find an empty box, "none of" a list with the value, "it is not that one", and the opposite of what was asked for."""
    text, place, (first, last) = spot.text, spot.place, spot.span
    if _BOX.search(text[max(0, place[0] - 5) : place[0]]):
        return Reservation("its box is not ticked", sure=True)
    for match in words_of("before", "sure").finditer(text, first, place[0]):
        if _LISTED.fullmatch(text[match.end() : place[0]]) and match[0].lower() not in spot.request.lower():
            return Reservation(f"'{match[0]}'", sure=True)
    if (
        text[first : place[0]].endswith(" from ")
        and text.startswith(" to ", place[1])
        and words_of("moves", "words").search(text, first, place[0])
    ):
        return Reservation("it has been changed", sure=True)
    stop = spot.sentences.clause(*place)[1]
    for said in (text[place[1] : stop], spot.following[:40]):
        if cue := words_of("behind", "sure").search(said):
            return Reservation(f"'{cue[0]}'", sure=True)
    asked = {*re.findall(r"\w+", f"{spot.request} {' '.join(spot.topics)}".lower())} & {*tables()["antonyms"]}
    opposite = next((cue for word in asked if (cue := words_of("antonyms", word).search(text, place[1], last))), None)
    if opposite and (opposite.start() < stop or _JOINED.fullmatch(text[place[1] : opposite.start()])):
        return Reservation(f"'{opposite[0]}'", sure=spot.sentences.affirms(*opposite.span()))
    return None


def _taken_back(spot: _Spot) -> Reservation | None:
    """Find words of change behind the value or at the beginning of the next sentence, and words of the past before it."""
    text, place, (first, last) = spot.text, spot.place, spot.span
    cue = spot.said("behind", "unsure", re.split(", (?:who|which|whose|where)\\b", text[place[1] : last][:90])[0])
    if spot.again and not cue and _SAME.match(spot.following):
        cue = spot.said("behind", "unsure", spot.following[:60])
    turns = (match.end() for match in _TURN.finditer(text, first, place[0]))
    near = max([first, place[0] - 60, *(end for _, end in spot.others if end <= place[0]), *turns])
    if not (cue := cue or spot.said("before", "unsure", text[near : place[0]])):
        return None
    now = spot.is_now(place[1]) or any(text[start - 4 : start] == " to " for start, _ in spot.others)
    return Reservation(f"'{cue}'", sure=spot.again and now)


def _of_another_time(spot: _Spot) -> Reservation | None:
    """Find that the value's part of its sentence says how it was, where the request asks how it is; or that another value is of today."""
    text, place, request = spot.text, spot.place, spot.request
    begin, end = _part(spot.sentences, place)
    then = words_of("then", "times").search(text, *spot.span) or _WAS_THE.match(text, place[1])
    if then and not spot.again and not re.search(r"\d{4}", then[0]):
        then = None
    is_past = words_of("then", "verbs").search(text, begin, end) and then is not None and then[0].lower() not in request.lower()
    if then and is_past and words_of("then", "present").search(request) and not words_of("then", "past").search(request):
        return Reservation(f"'{then[0]}' is of another time", sure=spot.again and spot.is_now(end))
    for now in words_of("present", "sure").finditer(text, place[1], place[1] + 160):
        if not words_of("present", "sure").search(text[begin : place[0]]) and any(0 <= start - now.end() <= 25 for start, _ in spot.others):
            return Reservation(f"'{now[0]}'", sure=False)
    return None


def _corrected(spot: _Spot) -> Reservation | None:
    slip = spot.sentences.cues.corrects.search(spot.text, spot.place[1], spot.place[1] + 120)
    return Reservation(f"'{slip[0]}'", sure=False) if slip and any(0 <= start - slip.end() <= 80 for start, _ in spot.others) else None


def _doubted(spot: _Spot) -> Reservation | None:
    doubt = spot.said("doubts", "unsure", f"{spot.text[slice(*spot.span)]} {spot.following}")
    return Reservation(f"'{doubt}'", sure=False) if doubt else None


def _part(sentences: Sentences, place: Place) -> Place:
    """Return the part of a sentence around a value, between commas, brackets and the words that join sentences."""
    first, last = sentences.span(sentences.number_at(place[0]))
    if sentences.text[first:last].lstrip().startswith("|"):
        return first, last  # the row of a table
    cuts = [first, *(match.end() for match in _SEGMENT.finditer(sentences.text, first, last)), last]
    return max(cut for cut in cuts if cut <= place[0]), min((cut for cut in cuts if cut >= place[1]), default=last)


def stems(text: str) -> set[str]:
    """Return the words of a text that carry its matter, without their endings."""
    return {_STEM.sub("", _SAME_WORD.get(word, word)) for word in normalize(text).split() if word not in tables()["small"]["words"]}


def is_rivalled(
    sentences: Sentences, request: str, topics: Sequence[str], mine: Sequence[Place], others: Sequence[Place], *, beside: bool
) -> bool:
    """Return whether another value stands closer to the words of the request than the fact's or, where that counts, as close `beside` it."""
    named = stems(" ".join(topics))
    wanted = stems(request) - named

    def score(place: Place) -> tuple[int, int]:
        said = stems(sentences.text[slice(*_part(sentences, place))])
        return len(wanted & said), len(named & said)

    best, numbers = max(map(score, mine)), {sentences.number_at(start) for start, _ in mine}
    return any(score(other) > best or (beside and score(other) == best and sentences.number_at(other[0]) in numbers) for other in others)


def _names(text: str) -> list[str]:
    """Return the names and codes in a text, but for words that often begin with a capital."""
    found = (match[0] for pattern in (_CAPITAL, CODE) for match in pattern.finditer(text))
    return [name for name in found if name not in tables()["small"]["often"]]


def _of_somebody_else(spot: _Spot) -> Reservation | None:
    """Decide by the names: of those in the request, and of another in the value's part of its sentence."""
    text, request = spot.text, spot.request
    begin, end = _part(spot.sentences, spot.place)
    second = spot.said("roles", "second", text[begin:end])
    roles = "|".join(tables()["roles"]["words"])
    role = re.search(rf"(?:['’]s|\b(?:his|her|their|its|the)) (?:\w+ )?({roles})\b", text[begin : spot.place[0]], re.IGNORECASE)
    if second or (role and role[1].lower() not in f"{request} {' '.join(spot.topics)}".lower()):
        return Reservation(f"'{second or (role or [''])[0].strip()}'", sure=bool(spot.others) or bool(second))
    named, subject = stems(" ".join(spot.topics)), _SUBJECT.match(text[begin : spot.place[0]])
    rest = stems(f"{text[:begin]} {text[end:]}")
    if subject and named and named <= rest and not stems(subject[1]) & (named | stems(request)) and not named & stems(text[begin:end]):
        return Reservation(f"it is said of the {subject[1]}", sure=False)
    asked = [name for name in _names(request) if len(name) > 2 and name.lower().removesuffix("s") not in {*WEEKDAYS, *MONTHS}]
    if len({name.split()[-1] for name in asked}) != 1 or asked[0].lower() in text[begin:end].lower():
        return None
    others = [*_names(f". {text[begin : spot.place[0]]}"), *_FIRST_NAME.findall(text[begin : spot.place[0]])]
    often = tables()["small"]["often"]
    other = next((one for one in others if one not in asked[0] and one.lower() not in request.lower() and one not in often), "")
    elsewhere = any(asked[0].lower() in text[max(0, start - 80) : start].lower() for start, _ in spot.others)
    return Reservation(f"it is said of {other}", sure=True) if other and elsewhere else None
