"""Make tool calls wrong in one place (When2Call, section 3.3.2): the rejected responses of preference training.

A damaged call must really be wrong. So only a parameter the tool requires is removed, and only an argument that the tool requires or the
question states is changed: an optional one that nobody asked for could be right either way. Values are distinguished by spelling: neither
may contain the other, but that "US" is "America" is not known here.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Any

from talm_sim.common.digests import canonical_json
from talm_sim.models.formats import CallToWrite
from talm_sim.scenarios.item_tools import parameters_of, required_of
from talm_sim.scenarios.jsonl import parse
from talm_sim.types import JsonObject

_NOTHING = object()
_ANY_TOOL = ""
_TRIES = 64
_DIGITS = re.compile(r"\d+")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


class DamageKind(StrEnum):
    """A kind of damage to a call."""

    REMOVED = "required parameter removed"
    CHANGED = "argument changed"
    DROPPED = "call dropped"


@dataclass(frozen=True, slots=True)
class Damage:
    """Calls with one wrong place."""

    kind: DamageKind
    calls: tuple[JsonObject, ...]

    @property
    def answer(self) -> tuple[CallToWrite, ...]:
        """The calls, to be written."""
        return tuple(CallToWrite(call["name"], call["arguments"]) for call in self.calls)


class ValuePool:
    """Arguments seen in the calls of a data set: plausible wrong values for each other."""

    def __init__(self, calls: Iterable[JsonObject]) -> None:
        seen: dict[tuple[str, str, type], dict[str, Any]] = {}
        for call in calls:
            for name, value in call["arguments"].items():
                for tool in (call["name"], _ANY_TOOL):
                    seen.setdefault((tool, name, type(value)), {})[canonical_json(value)] = value
        # Sorted, so that what is drawn does not depend on the data's order.
        self._values = {key: [values[text] for text in sorted(values)] for key, values in seen.items()}

    def draw(self, tool: str, name: str, value: Any, schema: Mapping[str, Any], rng: random.Random) -> Any:
        """Draw a value of the same JSON type that means something else and fits the schema; `_NOTHING` if there is none.

        It is one of the tool's own parameter or, if that has no other, of any parameter of that name.
        """

        def is_wrong(other: Any) -> bool:
            return _differ(other, value) and _fits_bounds(other, schema)

        for whose in (tool, _ANY_TOOL):
            seen = self._values.get((whose, name, type(value)), [])
            # Nearly every one of many values differs; looking at all of them for each argument takes the square of their number.
            tries = (rng.choice(seen) for _ in range(_TRIES if len(seen) > _TRIES else 0))
            for other in filter(is_wrong, tries):
                return other
            if found := [*filter(is_wrong, seen)]:
                return rng.choice(found)
        return _NOTHING


@dataclass(frozen=True, slots=True)
class _Slot:
    """The argument that a value belongs to, and the values to draw from."""

    tool: str
    name: str
    pool: ValuePool
    rng: random.Random


def as_objects(calls: Iterable[CallToWrite]) -> list[JsonObject]:
    """Return calls as they are damaged: each an object with `name` and `arguments`."""
    return [{"name": call.name, "arguments": call.arguments} for call in calls]


def calls_in(text: str) -> tuple[JsonObject, ...] | None:
    """Read a tool-call option, one call or a list of them; None if it is something else."""
    try:
        found = parse(text)
    except ValueError:
        return None
    calls = found if isinstance(found, list) else [found]
    for call in calls:
        if not isinstance(call, dict) or not isinstance(call.get("name"), str) or not isinstance(call.get("arguments"), dict):
            return None
    return tuple(calls) or None


def damages(
    calls: Sequence[JsonObject], specs: Mapping[str, Mapping[str, Any]], question: str, pool: ValuePool, rng: random.Random
) -> list[Damage]:
    """Return everything that one place of `calls` can be damaged to, each once; the kinds alternate."""
    kinds = [list(_remove_arguments(calls, specs)), list(_change_arguments(calls, specs, question, pool, rng)), list(_drop_calls(calls))]
    for kind in kinds:
        rng.shuffle(kind)
    rng.shuffle(kinds)
    in_turn = [kind[place] for place in range(max(map(len, kinds))) for kind in kinds if place < len(kind)]
    return list({canonical_json(damage.calls): damage for damage in reversed(in_turn)}.values())[::-1]


def _remove_arguments(calls: Sequence[JsonObject], specs: Mapping[str, Mapping[str, Any]]) -> Iterator[Damage]:
    for place, call in enumerate(calls):
        for name in required_of(specs.get(call["name"], {})):
            if name in call["arguments"]:
                left = {key: value for key, value in call["arguments"].items() if key != name}
                yield Damage(DamageKind.REMOVED, _replace_arguments(calls, place, left))


def _change_arguments(
    calls: Sequence[JsonObject], specs: Mapping[str, Mapping[str, Any]], question: str, pool: ValuePool, rng: random.Random
) -> Iterator[Damage]:
    for place, call in enumerate(calls):
        spec = specs.get(call["name"], {})
        schemas, required = parameters_of(spec), required_of(spec)
        for name, value in call["arguments"].items():
            if name in required or _question_states(question, value):
                schema = schemas.get(name)
                wrong = _wrong_value(value, schema if isinstance(schema, dict) else {}, _Slot(call["name"], name, pool, rng))
                if wrong is not _NOTHING:
                    yield Damage(DamageKind.CHANGED, _replace_arguments(calls, place, call["arguments"] | {name: wrong}))


def _drop_calls(calls: Sequence[JsonObject]) -> Iterator[Damage]:
    if len(calls) < 2:
        return
    for place, call in enumerate(calls):
        left = (*calls[:place], *calls[place + 1 :])
        if call not in left:  # a call made twice is still made
            yield Damage(DamageKind.DROPPED, left)


def _replace_arguments(calls: Sequence[JsonObject], place: int, arguments: JsonObject) -> tuple[JsonObject, ...]:
    return tuple(call | {"arguments": arguments} if index == place else call for index, call in enumerate(calls))


def _wrong_value(value: Any, schema: Mapping[str, Any], slot: _Slot) -> Any:
    """Return a value of the same JSON type that means something else; `_NOTHING` if none can be made safely."""
    allowed = schema.get("enum")
    if isinstance(allowed, list) and allowed:
        others = [other for other in allowed if type(other) is type(value) and _differ(other, value)]
        return slot.rng.choice(others) if others else _NOTHING
    if isinstance(value, bool):
        return not value
    if isinstance(value, list):
        return _wrong_list(value, schema, slot)
    wrong = slot.pool.draw(slot.tool, slot.name, value, schema, slot.rng)
    if wrong is not _NOTHING:
        return wrong
    if isinstance(value, int | float):
        return _wrong_number(value, schema, slot.rng)
    return _wrong_text(value, slot.rng) if isinstance(value, str) else _NOTHING


def _wrong_list(value: list[Any], schema: Mapping[str, Any], slot: _Slot) -> Any:
    items = schema.get("items")
    for place in slot.rng.sample(range(len(value)), len(value)):
        wrong = _wrong_value(value[place], items if isinstance(items, dict) else {}, slot)
        if wrong is not _NOTHING and wrong not in value:
            return [wrong if index == place else item for index, item in enumerate(value)]
    return value[:-1] if len(value) > 1 and value[-1] not in value[:-1] else _NOTHING


def _wrong_number(value: float, schema: Mapping[str, Any], rng: random.Random) -> Any:
    span = max(3, abs(int(value)) // 2) if abs(value) < 1e15 else 0
    steps = [step for step in rng.sample(range(1, span + 1), min(span, 8)) for step in (step, -step)]
    for step in steps:
        wrong = value + step
        if wrong != value and (wrong > 0 or value <= 0) and _fits_bounds(wrong, schema):
            return wrong
    return _NOTHING


def _wrong_text(value: str, rng: random.Random) -> Any:
    """Return another date, or another number in the text."""
    if _DATE.fullmatch(value):
        try:
            return (date.fromisoformat(value) + timedelta(days=rng.randint(2, 28))).isoformat()
        except (ValueError, OverflowError):
            return _NOTHING
    found = list(_DIGITS.finditer(value))
    if not found or not value.isascii():
        return _NOTHING
    match = rng.choice(found)
    place = match.start() + rng.randrange(len(match[0]))
    digit = rng.choice([other for other in "123456789" if other != value[place]])
    return value[:place] + digit + value[place + 1 :]


def _fits_bounds(value: Any, schema: Mapping[str, Any]) -> bool:
    if not isinstance(value, int | float):
        return True
    low, high = schema.get("minimum"), schema.get("maximum")
    return (not isinstance(low, int | float) or value >= low) and (not isinstance(high, int | float) or value <= high)


def _differ(one: Any, other: Any) -> bool:
    """Return whether two values of one type surely mean different things: "Chicago" and "Chicago, IL" may not."""
    if isinstance(one, str):
        a, b = (re.sub(r"\W+", "", text.casefold()) for text in (one, other))
        return bool(a and b) and a not in b and b not in a
    return bool(one != other)


def _question_states(question: str, value: Any) -> bool:
    """Return whether the question contains the value's text."""
    if isinstance(value, bool) or value is None or value == "":
        return False
    text = value if isinstance(value, str) else json.dumps(value)
    return re.search(rf"(?<!\w){re.escape(text.casefold())}(?!\w)", question.casefold()) is not None
