"""Decide whether a value stands beside the subject of another fact: two values swapped between two questions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from talm_sim.language.facts.asserted import Sentences
from talm_sim.language.facts.units import unit_of
from talm_sim.types import Fact

_REACH = 400
"""Characters of a sentence that are read on either side of a value."""
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class StatedFact:
    """A fact, and the place of its value in an answer."""

    fact: Fact
    places: Sequence[Place]


def topics_of(fact: Fact) -> tuple[str, ...]:
    """Return the words that say what a fact answers: its `asks`, and its name without units.

    >>> topics_of(Fact(name="distance_km", value=3187))
    ('distance',)
    """
    name = " ".join(word for word in fact.name.split("_") if not unit_of(word))
    return tuple(dict.fromkeys([*fact.asks, name])) if len(name) > 1 else fact.asks


@cache
def _pattern(topics: tuple[str, ...]) -> re.Pattern[str]:
    ordered = sorted(topics, key=len, reverse=True)
    # One letter is a name only where a value follows it: `a = 8.76`.
    words = (re.sub(r"\\?[ -]", "[ -]", re.escape(topic)) if len(topic) > 1 else rf"(?-i:{topic})(?= ?[=:])" for topic in ordered)
    return re.compile(rf"(?<!\w)(?:{'|'.join(words) or '(?!)'})(?:e?s|e?n|['\u2019]s)?(?!\w)", re.IGNORECASE)


_OPPOSITES = (
    ("rises?|rising|sunrise|comes? up", "sets?|setting|sunset|goes down"),
    ("opens?|opened|opening", "closes?|closed|closing|shuts?"),
    (
        "arrives?|arrived|arrival|arriving|lands?|landed|landing",
        "departs?|departed|departure|departing|leaves?|left|leaving|takes? off|took off",
    ),
    ("starts?|begins?|began", "ends?|ended|finish(?:es)?"),
    ("highest|largest|maximum|most", "lowest|smallest|minimum|least"),
    ("oldest|eldest", "youngest|newest"),
    ("longest|tallest", "shortest"),
    ("biggest|heaviest|best|fastest|hottest|warmest", "smallest|lightest|worst|slowest|coldest|coolest"),
    ("cheapest", "dearest|most expensive"),
    ("melts?|melting", "boils?|boiling"),
    ("latitude", "longitude"),
    ("north(?:ern)?", "south(?:ern)?"),
    ("east(?:ern)?", "west(?:ern)?"),
)
_SIDES = (
    ("latitude", re.compile(r" ?\u00b0? ?(?:[EWO]|[Ee]ast|[Ww]est|Ost|Est)\b")),
    ("longitude", re.compile(r" ?\u00b0? ?(?:[NS]|[Nn]orth|[Ss]outh|Nord|Sud)\b")),
)
"""Letters after a coordinate that say it is the other one."""


@cache
def _opposites(topics: tuple[str, ...]) -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    """Return words of the fact's matter, with those for the opposite."""
    found = []
    for pair in _OPPOSITES:
        one, other = (re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for words in pair)
        text = " ".join(topics)
        if bool(one.search(text)) != bool(other.search(text)):
            found.append((one, other) if one.search(text) else (other, one))
    return tuple(found)


def is_about_opposite(sentences: Sentences, place: Place, fact: Fact) -> bool:
    """Return whether a value is beside the opposite of what the fact answers: the closing time instead of the opening time."""
    begin, end = sentences.clause(*place)
    clause = sentences.text[begin:end]
    for topic, other in _SIDES:
        if topic in topics_of(fact) and other.match(sentences.text, place[1]):
            return True
    return any(other.search(clause) and not one.search(clause) for one, other in _opposites(fact.asks or topics_of(fact)))


def is_about_other_fact(sentences: Sentences, place: Place, own: StatedFact, others: Sequence[StatedFact]) -> bool:
    """Return whether a value's sentence is about another fact's matter, and not its own.

    In a sentence that names as many matters as it gives values, they belong together in their order. A sentence that names none, or that can
    be read in several ways, says nothing here.
    """
    rivals = [other for other in others if not set(other.fact.asks) & set(own.fact.asks)]
    first, last = sentences.span(sentences.number_at(place[0]))
    first, last = max(first, place[0] - _REACH), min(last, place[1] + _REACH)

    def named(said: StatedFact, begin: int, end: int) -> list[int]:
        return [match.start() for match in _pattern(topics_of(said.fact)).finditer(sentences.text, begin, end)]

    def given(said: StatedFact, begin: int, end: int) -> list[int]:
        return [start for start, _ in said.places if begin <= start < end]

    if not (present := [rival for rival in rivals if named(rival, first, last)]):
        return False
    if not named(own, first, last):
        return all(not given(rival, first, last) for rival in present)
    facts = [own, *present]
    matters = sorted((at, index) for index, said in enumerate(facts) for at in named(said, first, last))
    order = [index for at, (_, index) in enumerate(matters) if not at or matters[at - 1][1] != index]
    values = sorted((at, index) for index, said in enumerate(facts) for at in given(said, first, last))
    if len(order) == len(values):
        return order[[at for at, _ in values].index(place[0])] != 0 if place[0] in [at for at, _ in values] else False
    begin, end = sentences.clause(*place)
    named_here = [rival for rival in present if named(rival, begin, end)]
    return bool(named_here) and not named(own, begin, end) and all(not given(rival, begin, end) for rival in named_here)
