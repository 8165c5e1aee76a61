"""The base classes of silent faults: a well-formed answer with other values, in which nothing says that something is wrong."""

from __future__ import annotations

import datetime as dt
import json
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from talm_sim.common.digests import canonical_json
from talm_sim.common.json_values import leaves
from talm_sim.errors import ToolError
from talm_sim.schemas import Schema
from talm_sim.tools_env.perturbations.base import Call, Outcome, Perturbation
from talm_sim.tools_env.perturbations.drift import find_part
from talm_sim.types import JsonObject

_DAY = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)?")
_MOST_SENT = 8
"""Calls that one fault makes at most to find an answer that differs."""
_SPACES = 64
"""By how many characters a text may be longer than another one that says the same."""
_NEAR = dt.timedelta(days=731)
"""How far a day of an answer may lie from the day that was asked for, so that it is moved with it."""
_FAR = dt.timedelta(days=300)
"""A day that lies further from the day that was asked for would say that the answer is to another question."""

Path = tuple[str | int, ...]
"""Where a value is in an answer: names and places."""


class SilentFault(Perturbation):
    """Puts other values in an answer that stays a success of the same form."""

    family = "silent"
    silent = True
    permanent = True

    async def after(self, call: Call, outcome: Outcome) -> Outcome | None:
        """Return the answer with other values; None where it has nothing to change."""
        if (clean := outcome.value) is None:
            return None
        try:
            changed = await self.change(call, clean)
            if changed is None or canonical_json(changed) == canonical_json(clean):
                return None
        except RecursionError:
            return None  # nested so deeply that only the JSON reader could follow
        return replace(outcome, body=json.dumps(changed, ensure_ascii=False).encode())

    @abstractmethod
    async def change(self, call: Call, clean: Any) -> Any:
        """Return the value to answer with; None, or an equal one, where there is nothing to change."""


class RemadeCall(SilentFault):
    """Answers with what the tool says to other arguments."""

    moves_days: ClassVar[bool] = False
    """Whether the days of an answer are moved by as much as those of the arguments, however little that is."""

    @abstractmethod
    def other_arguments(self, call: Call) -> Iterable[JsonObject]:
        """Return arguments to call the tool with instead, the best first; those that do not fit its schema are passed over."""

    async def change(self, call: Call, clean: Any) -> Any:
        """Return the first answer to other arguments that differs, with the arguments that it repeats put back."""
        sent = 0
        for arguments in self.other_arguments(call):
            if sent == _MOST_SENT or Schema(call.spec.whole or call.spec.parameters).fits(arguments) is False:
                continue
            sent += 1
            try:
                answered = (await call.send(arguments)).value
            except (TimeoutError, ToolError):
                continue
            found = None if answered is None else _put_back(call.arguments, arguments, clean, answered, self.moves_days)
            if found is not None and canonical_json(found).casefold() != canonical_json(clean).casefold():
                return found
        return None


def _put_back(asked: Mapping[str, Any], sent: Mapping[str, Any], clean: Any, answered: Any, moving: bool) -> Any:
    """Make an answer to `sent` look like one to `asked`: by the arguments that it repeats, and by days that would be of another year.

    Args:
        asked: The arguments of the call.
        sent: Those that were answered.
        clean: The answer to `asked`.
        answered: The answer to `sent`.
        moving: Whether days are moved however little they lie apart.
    """
    changed = [name for name in asked if name in sent and asked[name] != sent[name]]
    before = dict(leaves(clean))
    shift = _shift_of(asked, sent, moving)

    def put(path: Path, value: Any) -> Any:
        for name in changed:
            named = bool(path) and path[-1] == name
            if path in before and (named or (is_echo(value, sent[name]) and is_echo(before[path], asked[name]))):
                return before[path]
            if path == (name,) and is_echo(value, sent[name]):
                return asked[name]
        return value

    def move(path: Path, text: str, day: dt.date) -> dt.date | None:
        put_back = read_day(put(path, text))
        return put_back if put_back != day else shift(day)

    return map_values(move_days(answered, move), put)


def _shift_of(asked: Mapping[str, Any], sent: Mapping[str, Any], moving: bool) -> Callable[[dt.date], dt.date | None]:
    """Return how the days of an answer are moved: as far as all days that were asked for, or by as many years; None for a day that stays."""
    days, years = days_in(asked), [name for name in sent if _is_year(asked.get(name)) and _is_year(sent[name]) and asked[name] != sent[name]]
    if (first := next(iter(days), None)) is not None:
        moved = days_in(sent)
        shifts = {days[name] - moved.get(name, days[name]) for name in days}
        by = days[first] - moved.get(first, days[first])
        if len(shifts) == 1 and by and (moving or abs(by) > _FAR):
            return lambda day: day + by if abs(day - moved[first]) <= _NEAR else None
    elif years:
        year = sent[years[0]]
        return lambda day: _move_years(day, asked[years[0]] - year) if day.year == year else None
    return lambda day: None


def _is_year(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1000 <= value <= 9999


def _move_years(day: dt.date, years: int) -> dt.date:
    try:
        return day.replace(year=day.year + years)
    except ValueError:  # the 29th of February
        return day.replace(year=day.year + years, day=28)


def is_echo(value: Any, argument: Any) -> bool:
    """Return whether a value of an answer repeats an argument: the same number, the same text in any case, or the joined items of a list."""
    if isinstance(argument, list):
        if not isinstance(value, str) or not 0 < len(argument) <= len(value):
            return bool(value == argument)
        return value in {separator.join(map(str, argument)) for separator in (" ", ",", ", ")}
    if isinstance(value, bool) or isinstance(argument, bool):
        return value is argument
    if isinstance(value, str) and isinstance(argument, str):
        return abs(len(value) - len(argument)) <= _SPACES and _fold(value) == _fold(argument)
    return isinstance(value, int | float) and isinstance(argument, int | float) and value == argument


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())


def map_values(value: Any, change: Callable[[Path, Any], Any], path: Path = ()) -> Any:
    """Return JSON with every text, number, truth value and null changed by a function of its path and itself."""
    if isinstance(value, dict):
        return {name: map_values(item, change, (*path, name)) for name, item in value.items()}
    if isinstance(value, list):
        return [map_values(item, change, (*path, place)) for place, item in enumerate(value)]
    return change(path, value)


def read_day(value: Any) -> dt.date | None:
    """Return the day that a text such as `2024-02-29` or `2024-02-29T10:00` is, without the time; None if it is none.

    >>> read_day("2024-02-29T10:00"), read_day("29 February")
    (datetime.date(2024, 2, 29), None)
    """
    if not isinstance(value, str) or not _DAY.fullmatch(value):
        return None
    try:
        return dt.date.fromisoformat(value[:10])
    except ValueError:
        return None


def days_in(arguments: Mapping[str, Any]) -> dict[str, dt.date]:
    """Return the arguments that are days, by name."""
    return {name: day for name, value in arguments.items() if (day := read_day(value)) is not None}


def move_days(answer: Any, move: Callable[[Path, str, dt.date], dt.date | None], path: Path = ()) -> Any:
    """Move the days of an answer, each with the name of its weekday beside it.

    Args:
        answer: JSON.
        move: Returns the day to put in place of one, by its path, its text and itself; None for one that stays.
        path: Where the answer is.
    """
    if isinstance(answer, list):
        return [move_days(item, move, (*path, place)) for place, item in enumerate(answer)]
    if not isinstance(answer, dict):
        day = read_day(answer)
        moved = None if day is None else _try_to_move(move, path, answer, day)
        return answer if moved is None else moved.isoformat() + answer[10:]
    weekdays: dict[str, str] = {}
    for name, item in answer.items():
        if (day := read_day(item)) is not None:
            weekdays.setdefault(f"{day:%A}", f"{_try_to_move(move, (*path, name), item, day) or day:%A}")
    return {
        name: weekdays[item] if isinstance(item, str) and item in weekdays else move_days(item, move, (*path, name))
        for name, item in answer.items()
    }


def _try_to_move(move: Callable[[Path, str, dt.date], dt.date | None], path: Path, text: str, day: dt.date) -> dt.date | None:
    try:
        return move(path, text, day)
    except (OverflowError, ValueError):
        return None  # before the year 1, or after 9999


def kinds_of(schema: Any) -> list[Mapping[str, Any]]:
    """Return the alternatives of an argument's schema, itself included."""
    if not isinstance(schema, Mapping):
        return []
    return [schema, *(one for name in ("anyOf", "oneOf", "allOf") for one in _listed(schema, name) if isinstance(one, Mapping))]


def _listed(schema: Mapping[str, Any], name: str) -> list[Any]:
    found = schema.get(name)
    return found if isinstance(found, list) else []


def properties_of(schema: JsonObject) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Return the name and the schema of every field that an answer may have, at any depth; each object once."""
    done: set[str] = set()

    def walk(part: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
        if not isinstance(part, Mapping):
            return
        target = part.get("$ref")
        if isinstance(target, str) and target not in done and target.startswith("#/"):
            done.add(target)
            yield from walk(find_part(schema, target))
        fields = part.get("properties")
        for name, field in fields.items() if isinstance(fields, Mapping) else ():
            if isinstance(field, Mapping):
                yield name, field
                yield from walk(field)
        for name in ("anyOf", "oneOf", "allOf", "prefixItems"):
            for one in _listed(part, name):
                yield from walk(one)
        for name in ("items", "additionalProperties"):
            yield from walk(part.get(name))

    yield from walk(schema)
