"""Silent faults that return the tool's own answer to other arguments than those it was given."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import Field

from talm_sim.tools_env.perturbations.base import Call
from talm_sim.tools_env.perturbations.options import PerturbationOptions
from talm_sim.tools_env.perturbations.silent import RemadeCall, days_in, kinds_of, read_day
from talm_sim.types import JsonObject, ToolSpec

_YEAR = re.compile(r"(?:^|_)year$", re.IGNORECASE)
_DAYS_OF_YEAR = 365.25


class Stale(RemadeCall):
    """The answer is the one of an earlier day: the days and years among the arguments lie in the past. Days of the answer are moved back."""

    name = "stale"
    summary = "answer with what the tool says of an earlier day"
    origin = "the tool's own answer for a day that lies earlier"
    moves_days = True

    class Options(PerturbationOptions):
        """How old the answer is."""

        days: int = Field(365, ge=1, le=36500, description="Age of the answer in days; of a year, in whole years.")

    options: Options

    def lacks(self, tool: ToolSpec, response: JsonObject, others: Sequence[Mapping[str, Any]]) -> str:
        """Require a day or a year among the arguments: other tools do not change with time, as far as can be seen."""
        return (
            "" if any(_is_day(schema) or _is_year(name, schema) for name, schema in _properties(tool)) else "no day or year among its arguments"
        )

    def other_arguments(self, call: Call) -> Iterator[JsonObject]:
        """Move all days and years into the past."""
        years = max(1, round(self.options.days / _DAYS_OF_YEAR))
        moved: JsonObject = {name: _earlier(call.arguments[name], day, self.options.days) for name, day in days_in(call.arguments).items()}
        for name, schema in _properties(call.spec):
            value = call.arguments.get(name)
            if _is_year(name, schema) and isinstance(value, int) and not isinstance(value, bool):
                moved[name] = value - years
        if moved:
            yield {**call.arguments, **moved}


class WrongRecord(RemadeCall):
    """The answer is about something else: what another scenario asks this tool for."""

    name = "wrong-record"
    summary = "answer with the record that another scenario asks for"
    origin = "the tool's own answer to the gold arguments of another scenario"

    def lacks(self, tool: ToolSpec, response: JsonObject, others: Sequence[Mapping[str, Any]]) -> str:
        """Require another scenario's arguments: they make sense, and none are invented."""
        return "" if others else "no gold call in another scenario"

    def other_arguments(self, call: Call) -> Iterable[JsonObject]:
        """Return the arguments of other scenarios."""
        return [dict(one) for one in call.others if dict(one) != dict(call.arguments)]


class IgnoredArgument(RemadeCall):
    """One argument has no effect: an optional one as if it were not there, another one as if the example of its schema were built in."""

    name = "ignored-argument"
    summary = "answer as if one argument had not been given"
    origin = "the tool's own answer without the argument, or with the example of its schema where it is required"

    class Options(PerturbationOptions):
        """What is ignored."""

        argument: str = Field("", description="The argument to ignore; without it, the last one that matters, optional ones first.")

    options: Options

    def lacks(self, tool: ToolSpec, response: JsonObject, others: Sequence[Mapping[str, Any]]) -> str:
        """Require an optional argument, or a required one with an example, of several: something must be left of the question."""
        names, wanted = [name for name, _ in _properties(tool)], self.options.argument
        if wanted and wanted not in names:
            return f"no argument '{wanted}'"
        may = [name for name, schema in _properties(tool) if name not in tool.required or (len(names) > 1 and _examples(schema))]
        if not may:
            return "no argument that is optional, nor a second one with an example"
        return "" if not wanted or wanted in may else f"no example for its argument '{wanted}', which it needs"

    def other_arguments(self, call: Call) -> Iterator[JsonObject]:
        """Leave out optional arguments, then replace required ones; the last first, as tools are asked for a thing and then for its details."""
        given = [(name, schema) for name, schema in reversed(_properties(call.spec)) if name in call.arguments]
        given = [(name, schema) for name, schema in given if self.options.argument in ("", name)]
        for name, _ in given:
            if name not in call.spec.required:
                yield {key: value for key, value in call.arguments.items() if key != name}
        for name, schema in given if len(_properties(call.spec)) > 1 else ():
            for example in _examples(schema) if name in call.spec.required else ():
                yield {**call.arguments, name: example}


class CoercedArgument(RemadeCall):
    """One argument was squeezed into another form: a number cut to a whole one, a text to its first word, a day to the first of its month."""

    name = "coerced-argument"
    summary = "answer as if an argument had been cut: to a whole number, one word, the month"
    origin = "the tool's own answer to an argument that is cut to a whole number, its first word, item or character, or its month"

    class Options(PerturbationOptions):
        """What is cut."""

        argument: str = Field("", description="The argument to cut; without it, the first that matters.")

    options: Options

    def lacks(self, tool: ToolSpec, response: JsonObject, others: Sequence[Mapping[str, Any]]) -> str:
        """Require an argument; only a call shows whether its value can be cut."""
        names, wanted = [name for name, _ in _properties(tool)], self.options.argument
        if wanted and wanted not in names:
            return f"no argument '{wanted}'"
        return "" if names else "no arguments"

    def other_arguments(self, call: Call) -> Iterator[JsonObject]:
        """Cut one argument after the other."""
        for name, _ in _properties(call.spec):
            if name in call.arguments and self.options.argument in ("", name):
                for cut in _cuts(call.arguments[name]):
                    yield {**call.arguments, name: cut}


class ImplicitDefault(RemadeCall):
    """One argument fell back to a default that nobody asked for."""

    name = "implicit-default"
    summary = "answer as if an argument had its default"
    origin = "the tool's own answer to the schema's default of an argument, or its first choice, or its least value"

    class Options(PerturbationOptions):
        """What falls back."""

        argument: str = Field("", description="The argument that falls back; without it, the first that matters.")

    options: Options

    def lacks(self, tool: ToolSpec, response: JsonObject, others: Sequence[Mapping[str, Any]]) -> str:
        """Require an argument whose schema states a default, choices or a least value."""
        wanted = self.options.argument
        if not any(_defaults(schema) for name, schema in _properties(tool) if wanted in ("", name)):
            return (
                f"no default, choices or least value for an argument '{wanted}'"
                if wanted
                else "no argument with a default, choices or a least value"
            )
        return ""

    def other_arguments(self, call: Call) -> Iterator[JsonObject]:
        """Replace one argument after the other, those with a default of their own first."""
        given = [(name, schema) for name, schema in _properties(call.spec) if name in call.arguments and self.options.argument in ("", name)]
        for name, schema in sorted(given, key=lambda item: not any("default" in one for one in kinds_of(item[1]))):
            for value in _defaults(schema):
                if value != call.arguments[name]:
                    yield {**call.arguments, name: value}


def _properties(tool: ToolSpec) -> list[tuple[str, Any]]:
    found = tool.parameters.get("properties")
    return list(found.items()) if isinstance(found, Mapping) else []


def _is_day(schema: Any) -> bool:
    texts = [one for one in kinds_of(schema) if one.get("type") == "string"]
    described = str(schema.get("description", "")) if isinstance(schema, Mapping) else ""
    return any(one.get("format") in ("date", "date-time") for one in texts) or (bool(texts) and "YYYY-MM-DD" in described.upper())


def _is_year(name: str, schema: Any) -> bool:
    return _YEAR.search(name) is not None and any(one.get("type") == "integer" for one in kinds_of(schema))


def _earlier(text: str, day: dt.date, days: int) -> str:
    try:
        return (day - dt.timedelta(days=days)).isoformat() + text[10:]
    except OverflowError:
        return text


def _examples(schema: Any) -> list[Any]:
    found = schema.get("examples", []) if isinstance(schema, Mapping) else []
    return [*found, schema["example"]] if "example" in schema else list(found) if isinstance(found, list) else []


def _defaults(schema: Any) -> list[Any]:
    """Return what a schema says first: a default, else the first choice, else the least value, unless a negative one that is only a bound."""
    for key in ("default", "enum", "minimum"):
        for one in kinds_of(schema):
            value = one.get(key)
            if key == "enum" and isinstance(value, list) and value:
                return [value[0]]
            if (key == "default" and value is not None) or (key == "minimum" and isinstance(value, int | float) and value >= 0):
                return [int(value) if one.get("type") == "integer" and isinstance(value, float) and value.is_integer() else value]
    return []


def _cuts(value: Any) -> Iterator[Any]:
    """Yield what careless code makes of a value, the likeliest first."""
    if isinstance(value, float) and value != int(value):
        yield int(value)
    elif isinstance(value, list) and len(value) > 1:
        yield value[:1]
    elif (day := read_day(value)) is not None:
        yield day.replace(day=1).isoformat() + value[10:]
        if value[10:]:
            yield f"{value[:11]}00:00{value[16:]}"
    elif isinstance(value, str):
        words = value.split()
        if len(words) > 1:
            yield words[0]
        plain = re.split(r"\W", value.strip(), maxsplit=1)[0]
        if plain and plain != value and plain != words[0]:
            yield plain
        if value.lower() != value:
            yield value.lower()
