"""Find whether a tool can give a part of what a request asks for, by calling it with the request's own values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any

from talm_sim.common.digests import canonical_json
from talm_sim.common.json_values import named_leaves
from talm_sim.errors import ToolError
from talm_sim.types import Fact, GoldCall, JsonObject, Scenario, ToolSpec

_MOST_CALLS = 24
"""Calls of one tool that are tried for one request."""
_COMMON = 8
"""A field that more tools than these return says nothing of what a tool is for: a name, a year."""
_TYPES: Mapping[str, tuple[type, ...]] = {"string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,)}
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_NEAR = 0.005
"""Numbers that differ by less than this share are one value."""

_UNITS = re.compile(r"_(?:c|cm|f|ft|g|gwh|hpa|k|kelvin|kg|km|km2|km3|kmh|knots|m|mev|metres|mi|miles|mm|ms|nm|ns|percent|u|usd|utc)$")
"""Words at the end of a field's name that say in what it is measured."""
_VAGUE = {
    *("code", "count", "date", "day", "id", "kind", "month", "name", "number"),
    *("rank", "text", "title", "type", "unit", "value", "weekday", "year"),
}
"""Names of fields under which a tool may return anything, so that an answer to the request's values is no answer to the request."""
_SAME_ARGUMENTS = 2
"""A tool that requires so many arguments of one name as a needed one works on the same things."""
_HOLIDAYS = ("find_holiday", "list_month_holidays", "count_working_days", "add_working_days", "check_trading_day", "get_regional_holiday")
_CLOCKS = ("list_clock_changes", "get_city_local_time", "get_arrival_time", "convert_to_unix_time")
_PLACES = ("get_city_details", "get_airport_details", "get_weather_station", "find_city_airports")
_BY_OTHER_MEANS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(_HOLIDAYS, _HOLIDAYS),
    **dict.fromkeys((*_PLACES, "get_city_distance", "get_city_direction", "get_flight_distance", "find_nearest_city"), _PLACES),
    **dict.fromkeys(_CLOCKS, _CLOCKS),
    "list_clock_changes": (*_CLOCKS, "get_sun_times"),
    "get_arrival_time": (*_CLOCKS, "get_airport_details", "get_city_details", "get_sun_times"),
    "convert_cooking_measure": ("convert_units",),
    "convert_oven_temperature": ("convert_units",),
    "get_scale_notes": ("transpose_chords",),
    "compute_molar_mass": ("get_element", "get_isotope"),
    "get_currency_details": ("get_country_facts",),
    **dict.fromkeys(("get_food_nutrition", "get_vitamin_or_mineral"), ("find_richest_food",)),
    "convert_to_hijri": ("find_moon_phase",),
    "find_moon_phase": ("convert_to_hijri",),
    "get_chord_notes": ("get_scale_notes", "identify_chord"),
    "identify_chord": ("get_chord_notes",),
    "transpose_chords": ("get_scale_notes",),
}
"""Built-in tools, and others whose results lead to what they do: in several calls, or by coordinates. No single call shows it."""

Leaf = tuple[str, Any]
"""A name of a field, and its value."""


class Serving:
    """Finds whether tools serve requests; equal calls are made once.

    Args:
        call: Calls a tool; raises `ToolError` if the tool refuses.
        asked: The facts that each request asks for, by the id of its complete scenario.
        scenarios: The complete scenarios: one gold call of each tool shows what the tool returns.
    """

    def __init__(
        self,
        call: Callable[[str, Mapping[str, Any]], Any],
        specs: Mapping[str, ToolSpec],
        asked: Mapping[str, Sequence[Fact]],
        scenarios: Sequence[Scenario],
    ) -> None:
        self._call = call
        self._specs = specs
        self._asked = asked
        self._results: dict[str, list[Leaf]] = {}
        self._found: dict[tuple[str, str], str] = {}
        gold: dict[str, GoldCall] = {}
        for one in (one for scenario in scenarios for one in scenario.gold_calls):
            gold.setdefault(one.name, one)
        self._fields = {name: {key for key, _ in self._result(name, one.arguments)} for name, one in gold.items()}
        counted = Counter(key for fields in self._fields.values() for key in fields)
        self._common = {key for key, times in counted.items() if times > _COMMON}

    def find(self, original: Scenario, tool: str) -> str:
        """Say what part of a request a tool serves that the request does not need; empty if none is found.

        A tool serves a part if it returns a fact that the request asks for, or a field of its name, when called with values of the request;
        if it returns a field of a fact's name at all, unless many tools do; if it requires the same arguments as a needed tool; or if its
        results are known to lead to what a needed tool does.
        """
        key = original.id, tool
        if key not in self._found:
            self._found[key] = self._find(original, tool) if tool in self._specs else ""
        return self._found[key]

    def _find(self, original: Scenario, tool: str) -> str:
        for call in original.gold_calls:
            shared = _arguments(self._specs[tool]) & _arguments(self._specs[call.name])
            if len(shared) >= _SAME_ARGUMENTS:
                return f"'{tool}' takes the same arguments as '{call.name}': {', '.join(sorted(shared))}"
            if tool in _BY_OTHER_MEANS.get(call.name, ()):
                return f"'{tool}' leads to what '{call.name}' does"
        facts = self._asked.get(original.id, ())
        for fact in facts:
            field = _field_of(fact)
            if found := next(self._alike(tool, field), ""):
                return f"'{tool}' returns '{found}', like the '{field}' that is asked for"
        for arguments in islice(self._plausible_calls(original, tool), _MOST_CALLS):
            given = list(arguments.values())
            new = [(key, value) for key, value in self._result(tool, arguments) if value not in given]
            for fact in facts:
                for key, value in new:
                    if _is_same(value, fact) or _is_of_one_thing(key, _field_of(fact)):
                        return f"'{tool}' gives the {fact.name} for values of the request: {key} is {value}"
        return ""

    def _alike(self, tool: str, field: str) -> Iterator[str]:
        """Yield the fields of a tool that are like one asked for.

        The same field, in whatever unit, unless many tools return it; or one that has, with the tool's name, all words of a field of several
        words: `code` of `get_currency_details` for `currency_code`.
        """
        wanted = _words(field)
        for other in sorted(self._fields.get(tool, ())):
            words = _words(other)
            same = words == wanted and field not in self._common and other not in self._common
            if same or (len(wanted) > 1 and wanted & words and wanted <= words | set(tool.split("_"))):
                yield other

    def _result(self, tool: str, arguments: Mapping[str, Any]) -> list[Leaf]:
        key = canonical_json([tool, arguments])
        if key not in self._results:
            try:
                self._results[key] = list(named_leaves(self._call(tool, arguments)))
            except ToolError:
                self._results[key] = []
        return self._results[key]

    def _plausible_calls(self, original: Scenario, tool: str) -> Iterator[dict[str, Any]]:
        """Yield calls whose required arguments are values of the request's own calls, of its numbers, or of a list of choices."""
        said = list(_values_of(original))
        parameters = self._specs[tool].parameters
        required = parameters.get("required", [])
        schemas = parameters.get("properties", {})
        named = {name: value for one in original.gold_calls for name, value in one.arguments.items()}
        choices = [_fitting(schemas.get(name, {}), [named[name], *said] if name in named else said) for name in required]
        further = {name: named[name] for name in schemas if name in named and name not in required}
        for values in product(*choices):
            arguments = dict(zip(required, values, strict=True))
            yield arguments
            if further:
                yield arguments | further


def _values_of(original: Scenario) -> Iterator[Any]:
    """Yield the values of a request: those of its calls, the parts of dates, the numbers that it says."""
    for one in original.gold_calls:
        for value in one.arguments.values():
            yield value
            if isinstance(value, str) and (match := _DATE.match(value)):
                yield match[0]
                yield from map(int, match.groups())
    for number in re.findall(r"\d+(?:\.\d+)?", original.query.replace(",", "")):
        yield float(number) if "." in number else int(number)


def _fitting(schema: JsonObject, values: Sequence[Any]) -> list[Any]:
    if isinstance(schema.get("enum"), list):
        return list(schema["enum"])
    types = _TYPES.get(str(schema.get("type")), ())
    found: dict[str, Any] = {}
    for value in values:
        if isinstance(value, types) and isinstance(value, bool) == (bool in types) and _is_within(schema, value):
            found.setdefault(canonical_json(value), value)
    return list(found.values())


def _is_within(schema: JsonObject, value: Any) -> bool:
    if isinstance(value, str):
        shape = {"date": _DATE.fullmatch}.get(str(schema.get("format")))
        size = schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
        pattern = schema.get("pattern")
        return size and (shape is None or shape(value) is not None) and (pattern is None or re.search(pattern, value) is not None)
    return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))


def _field_of(fact: Fact) -> str:
    """Return the name of the field that a fact is read from; a place in a list belongs to the list's name."""
    return next((part for part in reversed(fact.pointer.split("/")) if part and not part.isdigit()), "")


def _words(field: str) -> frozenset[str]:
    """Return the words of a field's name, without the unit at its end."""
    return frozenset(_UNITS.sub("", field).split("_"))


def _arguments(spec: ToolSpec) -> set[str]:
    return set(spec.parameters.get("required", ())) - {"seed"}


def _is_of_one_thing(field: str, asked: str) -> bool:
    """Return whether a field that a call returns says the same as one asked for, or says it as a code: `country_code` for `country`."""
    words, wanted = _words(field) - {"code", "name"}, _words(asked) - {"code", "name"}
    return bool(wanted) and words == wanted and not wanted <= _VAGUE


def _is_same(value: Any, fact: Fact) -> bool:
    wanted = fact.value
    if isinstance(value, bool) or isinstance(wanted, bool):
        return False
    if isinstance(value, (int, float)) and isinstance(wanted, (int, float)):
        return abs(value - wanted) <= _NEAR * abs(wanted)
    if isinstance(value, str) and isinstance(wanted, str):
        return any(one.casefold() == value.casefold() for one in (wanted, *fact.accepted))
    return False
