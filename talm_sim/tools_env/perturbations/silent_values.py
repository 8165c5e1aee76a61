"""Silent faults that change values in the answer itself."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from pydantic import Field

from talm_sim.language.facts.units import convert, unit_of
from talm_sim.tools_env.perturbations.base import Call
from talm_sim.tools_env.perturbations.options import PerturbationOptions
from talm_sim.tools_env.perturbations.silent import Path, SilentFault, is_echo, map_values, move_days, properties_of, read_day
from talm_sim.types import JsonObject, ToolSpec

_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])|[_\W]+")
_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")
_MIXED_UP = {
    "kilometer": "mile", "mile": "kilometer", "meter": "foot", "foot": "meter", "centimeter": "inch", "inch": "centimeter",
    "millimeter": "inch", "yard": "meter", "nautical-mile": "kilometer", "kilogram": "pound", "pound": "kilogram", "gram": "ounce",
    "ounce": "gram", "celsius": "fahrenheit", "fahrenheit": "celsius", "kelvin": "celsius", "kilometer-per-hour": "mile-per-hour",
    "mile-per-hour": "kilometer-per-hour", "meter-per-second": "kilometer-per-hour", "knot": "kilometer-per-hour", "hectopascal": "inch-ofhg",
    "inch-ofhg": "hectopascal", "pascal": "hectopascal", "bar": "atmosphere", "liter": "gallon", "gallon": "liter", "milliliter": "fluid-ounce",
    "hour": "minute", "minute": "hour", "day": "hour", "week": "day", "second": "minute", "millisecond": "second", "nanosecond": "picosecond",
    "hertz": "kilohertz", "kilohertz": "hertz", "megahertz": "kilohertz", "degree": "radian", "radian": "degree",
    "gram/mole": "kilogram/mole", "kilogram/mole": "gram/mole", "megaelectronvolt": "gigaelectronvolt", "gigaelectronvolt": "megaelectronvolt",
    "kiloelectronvolt": "megaelectronvolt", "electronvolt": "joule", "joule": "kilojoule", "kilojoule": "joule",
}  # fmt: skip
"""The unit of the same kind that each is mixed up with."""
_MEASURED = {
    "meter": "elevation height length distance width depth altitude visibility radius size wavelength range",
    "gram": "mass weight",
    "second": "time duration lifetime period delay age",
    "kelvin": "temp temperature point",
    "celsius": "temp temperature point",
    "fahrenheit": "temp temperature point",
    "minute": "time duration delay",
    "hour": "time duration delay",
}
"""What is measured in units whose abbreviation is a letter, or a word for something else: they count only beside one of these words."""
_LETTERS = {"c": "celsius", "f": "fahrenheit", "k": "kelvin", "m": "meter", "g": "gram", "s": "second", "h": "hour", "min": "minute"}
_ROUNDING = 0.1
"""Share of a quantity by which it may change when it is rounded to a whole number."""
_COUNTED = frozenset({"working", "business", "calendar", "holiday"})
"""Words before `days` that are counted, and no span of time."""
_CALENDAR = frozenset({"day", "week", "hour", "minute", "second"})
"""Fields of a date or a time, if nothing else is in their name."""
_UNIT_FIELDS = ("unit", "units", "to_unit", "target_unit", "output_unit")
_IN_UNIT = re.compile(r"\((?P<inside>[^()]{1,30})\)|\bin (?P<word>[^\s.,;()]+(?: per [^\s.,;()]+)?)")


class WrongUnit(SilentFault):
    """Quantities are in another unit of the same kind than the answer, or its schema, says."""

    name = "wrong-unit"
    summary = "give quantities in another unit, under the label of the right one"
    origin = "the answer's quantity, converted to another unit of the same kind; the label stays"

    def lacks(self, tool: ToolSpec, response: JsonObject, others: Sequence[Mapping[str, Any]]) -> str:
        """Require a unit: only one that is stated can be wrong."""
        fields = list(properties_of(response))
        if not fields or any(name in _UNIT_FIELDS or name.endswith("_unit") or _unit_of_field(name, schema) for name, schema in fields):
            return ""
        return "no field with a unit in its answer"

    async def change(self, call: Call, clean: Any) -> Any:
        """Convert every quantity of a stated unit, unless it repeats an argument."""
        described: dict[str, Mapping[str, Any]] = {}
        for name, schema in properties_of(call.response):
            described.setdefault(name, schema)
        units = {name: unit for name, schema in described.items() if (unit := _unit_of_field(name, schema))}

        def walk(value: Any) -> Any:
            if isinstance(value, list):
                return [walk(item) for item in value]
            if not isinstance(value, dict):
                return value
            return {
                name: _converted(item, unit_beside(name, value)) if _is_quantity(item, call) else walk(item) for name, item in value.items()
            }

        def unit_beside(name: str, fields: Mapping[str, Any]) -> str:
            stated = units.get(name) or _stated_unit(name, "")
            beside = next((fields[key] for key in (f"{name}_unit", *_UNIT_FIELDS) if isinstance(fields.get(key), str)), "")
            return stated or _known_unit(beside)

        return walk(clean)


class OffByOne(SilentFault):
    """Whole numbers are one more than they should be, and days one day later."""

    name = "off-by-one"
    summary = "make whole numbers one more, and days one day later"
    origin = "the answer's own whole numbers and days, each one more"

    class Options(PerturbationOptions):
        """By how much."""

        by: int = Field(1, ge=-1000, le=1000, description="What is added to whole numbers, and to days.")

    options: Options

    async def change(self, call: Call, clean: Any) -> Any:
        """Add to whatever does not repeat an argument."""
        by, given = self.options.by, list(call.arguments.values())

        def is_given(value: Any) -> bool:
            return any(is_echo(value, one) for one in given)

        def add(path: Path, value: Any) -> Any:
            return value + by if isinstance(value, int) and not isinstance(value, bool) and not is_given(value) else value

        moved = move_days(clean, lambda path, text, day: None if is_given(text) else day + dt.timedelta(days=by))
        return map_values(moved, add)


class Contradiction(SilentFault):
    """Two tools disagree: the answer also has a record of another tool's earlier answer, under that tool's name, with one value changed."""

    name = "contradiction"
    summary = "state a value of another tool's earlier answer, changed, in this one"
    origin = "a value that another tool answered with before, changed: a number by a tenth, a day by one day, a time by an hour"

    class Options(PerturbationOptions):
        """What is contradicted."""

        field: str = Field("", description="Name of the field to contradict; without it, the first that can be.")

    options: Options

    async def change(self, call: Call, clean: Any) -> Any:
        """Add a record of an earlier answer to this one, with one value changed and the arguments that say what it is of."""
        if not isinstance(clean, dict):
            return None
        for earlier in reversed(call.earlier):
            for record, name in _fields(earlier.value):
                value, given = record[name], earlier.arguments.values()
                if self.options.field not in ("", name) or any(is_echo(value, one) for one in given) or earlier.tool in clean:
                    continue
                if (other := _contradict(value)) is not None:
                    return {**clean, earlier.tool: _change_record({**earlier.arguments, **record}, name, other)}
        return None


def _fields(value: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each record of an answer, as far as it holds no other ones, with the name of each of its values; those nearest to the top first."""
    below: list[Any] = []
    if isinstance(value, dict):
        record = {name: item for name, item in value.items() if not isinstance(item, dict | list)}
        below = [item for item in value.values() if isinstance(item, dict | list)]
        yield from ((record, name) for name in record)
    elif isinstance(value, list):
        below = value
    for item in below:
        yield from _fields(item)


def _change_record(record: dict[str, Any], name: str, other: Any) -> Any:
    """Return a record with another value, and the weekday of that value where it is a day."""
    if (day := read_day(other)) is None:
        return {**record, name: other}
    return move_days(record, lambda path, text, old: day if path == (name,) else None)


def _contradict(value: Any) -> Any:
    """Return a value that cannot be true beside this one; None where none can be made without inventing it."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + max(1, abs(value) // 10)
    if isinstance(value, float) and math.isfinite(value):
        changed = round(value * 1.1, _decimals(value))
        return changed if changed != value else value + 1
    return _contradict_text(value) if isinstance(value, str) else None


def _contradict_text(text: str) -> str | None:
    if (day := read_day(text)) is not None:
        return (day + dt.timedelta(days=1)).isoformat() + text[10:] if day < dt.date.max else None
    if found := _CLOCK.search(text):
        return f"{text[: found.start()]}{(int(found[1]) + 1) % 24:02d}:{found[2]}{text[found.end() :]}"
    return None


def _decimals(value: float) -> int:
    written = repr(value)
    return 12 if "e" in written else len(written.partition(".")[2])


def _is_quantity(value: Any, call: Call) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not any(is_echo(value, one) for one in call.arguments.values())


def _unit_of_field(name: str, schema: Mapping[str, Any]) -> str:
    return _stated_unit(name, str(schema.get("description") or ""))


@lru_cache(maxsize=1024)
def _stated_unit(name: str, description: str) -> str:
    """Return the unit that a field's name or description states; empty without one."""
    words = [word.casefold() for word in _WORD.split(name) if word]
    for length in (3, 2, 1):
        stem, last = words[:-length], words[-length:]
        if len(last) < length or (not stem and (len("".join(last)) < 2 or last[0] in _CALENDAR)):
            continue
        letter = _LETTERS.get(last[0]) if length == 1 else None
        if letter is not None:
            if set(_MEASURED[letter].split()) & set(stem):
                return letter
            continue
        unit = _known_unit(" ".join(last).replace(" per ", "/")) or (_known_unit("/".join(last)) if length == 2 else "")
        if unit and not _COUNTED & set(stem):
            return unit
    for found in _IN_UNIT.finditer(description):
        if unit := _known_unit((found["inside"] or found["word"]).replace(" per ", "/")):
            return unit
    return ""


def _known_unit(words: str) -> str:
    """Return a unit that can be mixed up with another one, by any of its spellings."""
    folded = words.casefold().strip().removeprefix("degrees ").removeprefix("°")
    for spelling in (folded, f"°{folded}") if words.strip() else ():
        for unit in (spelling, *unit_of(spelling).split()):
            if unit in _MIXED_UP:
                return unit
    return ""


def _converted(value: float, unit: str) -> float:
    """Return a quantity in the unit that its own is mixed up with, with as many decimals; a whole number stays one."""
    if unit not in _MIXED_UP:
        return value
    other = _MIXED_UP[unit]
    if (found := convert(float(value), unit, other)) is None or not math.isfinite(found):
        return value
    if isinstance(value, int):
        return round(found) if abs(round(found) - found) <= _ROUNDING * abs(found) else value
    shown = 3 - math.floor(math.log10(abs(found))) if found else 0
    return round(found, min(max(_decimals(value), shown), 12))
