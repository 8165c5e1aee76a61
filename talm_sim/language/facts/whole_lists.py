"""Decide whether an answer names more than the items of a whole list."""

from __future__ import annotations

import re
from collections.abc import Sequence

from talm_sim.language.facts.asserted import Sentences
from talm_sim.language.facts.cldr_spellings import country_of
from talm_sim.language.facts.names import Words, countries, normalize, places_of
from talm_sim.types import Fact

NAMED = re.compile(r"(?<!\w)[^\W\da-z_][\w'-]*(?: [^\W\da-z_][\w'-]*){0,3}")
"""Words that begin with a capital: a name."""
_JOINS = re.compile(r"[,;\s]*(?:(?:and|or|und|et|y|e|ed|as well as|plus|&)\s)?")
_MANY = 200
Place = tuple[int, int]


def names_another_item(sentences: Sentences, words: Words, request: str, facts: Sequence[Fact], fact: Fact) -> bool:
    """Return whether an extra item follows a complete list, of which a fact is one item."""
    if not fact.complete:
        return False
    items = [str(one.value) for one in facts if one.complete and one.asks == fact.asks]
    spots = [place for item in items for place in places_of(item, sentences.text, words)[:_MANY]]
    numbers = {sentences.number_at(start) for start, _ in spots}
    known = {country_of(normalize(item).strip()) for item in items}
    if "" in known:
        return any(_has_other_item(sentences, number, [spot for spot in spots if sentences.number_at(spot[0]) == number]) for number in numbers)
    known |= {code for code, _ in countries(Words(request))}
    for code, (start, end) in countries(words):
        number = sentences.number_at(start)
        # An item of a list has its own line, next to theirs.
        if number not in numbers and number - 1 in numbers and _is_alone(sentences, number, start, end):
            numbers.add(number)
        if code not in known and number in numbers and sentences.affirms(start, end):
            return True
    return False


def _is_alone(sentences: Sentences, number: int, start: int, end: int) -> bool:
    """Return whether a place is all that its sentence says, except the mark of a list."""
    first, last = sentences.span(number)
    return last - first < 200 and re.search(r"[^\W\d]", sentences.text[first:start] + sentences.text[end:last]) is None


def _has_other_item(sentences: Sentences, number: int, spots: Sequence[Place]) -> bool:
    """Return whether a name in the items' row is none of them: `North, South and West` if South is not an item."""
    last = max(end for _, end in spots)
    stop = min(sentences.span(number)[1], last + 120)
    for match in NAMED.finditer(sentences.text, min(start for start, _ in spots), stop):
        start, end = match.span()
        own = any(start < spot_end and spot_start < end for spot_start, spot_end in spots)
        if start >= last:
            if not _JOINS.fullmatch(sentences.text[last:start]):
                return False
            last = end
        if not own and sentences.affirms(start, end):
            return True
    return False
