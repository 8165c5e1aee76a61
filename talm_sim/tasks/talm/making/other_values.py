"""Find other values for arguments whose values the tools' descriptions give away, each tried by calling the tool."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from talm_sim.common.json_values import named_leaves
from talm_sim.language.question_words import name_stems
from talm_sim.schemas import Schema
from talm_sim.tasks.talm.making.drafts import CalledTool, Draft, can_leave_out, could_be_stated, draft_scenarios
from talm_sim.tasks.talm.making.giveaways import find_giveaway
from talm_sim.types import JsonObject, ToolSpec

_CallAgain = Callable[[CalledTool, JsonObject], Awaitable[Sequence[Any]]]
"""Calls a tool as often as before, with other arguments, and returns its answers; empty if it failed or may not be called."""
MOST_TRIES = 12
"""Values of one argument that a tool is called with."""
ROUNDS = 2
"""Rounds; the second one takes values from the answers of the first one's calls."""
_MOST_KNOWN = 200
"""Values of one answer that are used."""
_STEPS = (1, -1, 2, -2, 3, -3, 7, -7, 10, -10)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


class _KnownValue(NamedTuple):
    """A value that a tool of some source was called with, or answered."""

    place: int
    """Position of the tool among all: neighbours are about the same things."""
    source: str
    name: str
    value: Any


async def retry_with_other_values(tried: Sequence[CalledTool], specs: Mapping[str, ToolSpec], call_again: _CallAgain) -> list[CalledTool]:
    """Call tools again whose scenarios can leave no argument out because a description says its value.

    Other values come from what tools of the same source were called with and answered, from enums, and from neighbouring numbers and dates.

    Returns:
        The tools in the same order; if another value was found, with the calls made with it.
    """
    found = list(tried)
    seen: dict[str, list[JsonObject]] = {one.spec.name: [one.arguments] for one in tried}
    for _ in range(ROUNDS):
        drafts = [(place, one) for place, one in enumerate(draft_scenarios(found, specs)) if one.lost]
        known = [*_known_values(found)]
        searches = (_search(found[place], found, draft, known, seen[draft.tool], call_again) for place, draft in drafts)
        better = await asyncio.gather(*searches)
        if not any(better):
            break
        for (place, _), one in zip(drafts, better, strict=True):
            found[place] = one or found[place]
    return found


async def _search(
    tried: CalledTool, others: Sequence[CalledTool], draft: Draft, known: Sequence[_KnownValue], seen: list[JsonObject], call_again: _CallAgain
) -> CalledTool | None:
    offered = [one.spec for one in others if one.spec.name in draft.scenarios[0].tools]
    own = next(number for number, one in enumerate(others) if one.spec.name == tried.spec.name)
    theirs = sorted((one for one in known if one.source == tried.source), key=lambda one: abs(one.place - own))
    for name in (one for one in draft.given_away if one not in tried.kept):
        schema = tried.spec.parameters.get("properties", {}).get(name, {})
        stated = Schema(schema)
        values = (value for value in _candidates(schema, name, tried.arguments[name], theirs) if stated.fits(value) is not False)
        hidden = (value for value in values if not find_giveaway(value, name, [tried.spec], offered, anywhere=True))
        wanted = ({**tried.arguments, name: value} for value in hidden)
        for arguments in islice((one for one in wanted if one not in seen), MOST_TRIES):
            seen.append(arguments)
            answers = await call_again(tried, arguments)
            instead_of = {**tried.instead_of, name: tried.arguments[name]}
            again = replace(tried, arguments=arguments, answers=answers, instead_of=instead_of)
            if answers and can_leave_out(again, others):
                return again
    return None


def _candidates(schema: Mapping[str, Any], name: str, value: Any, known: Sequence[_KnownValue]) -> Iterator[Any]:
    """Return values that an argument could have, the likeliest first."""
    if isinstance(enum := schema.get("enum"), list):
        yield from enum
        return
    ranked = sorted(((_distance(one, name, value), one.value) for one in known), key=lambda pair: pair[0])
    yield from (one for distance, one in ranked if distance == 0)
    yield from _neighbours(value)
    yield from (one for distance, one in ranked if distance > 0)


def _distance(known: _KnownValue, name: str, value: Any) -> int:
    """Return how far a known value is from being one of the argument: by its name, then by its form."""
    if type(known.value) is not type(value):
        return 4
    same_form = _form(str(known.value)) == _form(str(value))
    if known.name == name:
        return 0 if same_form else 2
    return (1 if name_stems(known.name) & name_stems(name) else 2) if same_form else 3


@lru_cache(4096)  # each argument is compared with the same values
def _form(text: str) -> str:
    """Return the form of a value: kinds of characters, and how many of a short code."""
    kinds = "".join("A" if char.isupper() else "a" if char.isalpha() else "0" if char.isdigit() else char for char in text)
    return kinds if kinds.isupper() and len(kinds) < 5 else re.sub(r"(.)\1+", r"\1", kinds)


def _neighbours(value: Any) -> Iterator[Any]:
    if isinstance(value, int | float):
        yield from (value + step for step in _STEPS)
        return
    if value.isascii() and value.isdecimal():
        yield from (str(int(value) + step).zfill(len(value)) for step in _STEPS if int(value) + step >= 0)
    if found := _DATE.search(value):
        with contextlib.suppress(ValueError, OverflowError):
            day = date.fromisoformat(found[0])
            yield from (value.replace(found[0], (day + timedelta(days=step)).isoformat(), 1) for step in _STEPS)


def _known_values(tried: Sequence[CalledTool]) -> Iterator[_KnownValue]:
    """Return every short value in arguments and answers, each once."""
    for place, one in enumerate(tried):
        found: dict[tuple[str, str], _KnownValue] = {}
        for name, value in (*one.arguments.items(), ("", one.answers[0])):
            written = (leaf for leaf in named_leaves(value, name) if isinstance(leaf[1], str | int | float) and not isinstance(leaf[1], bool))
            for leaf in islice(written, _MOST_KNOWN):
                if could_be_stated(str(leaf[1])):
                    found.setdefault((leaf[0], repr(leaf[1])), _KnownValue(place, one.source, *leaf))
        yield from found.values()
