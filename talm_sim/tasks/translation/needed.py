"""The values of scenarios that a translation must leave as they are, because a call, an answer or a person's words need them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from talm_sim.tasks.translation.checks import NeededValue
from talm_sim.types import Behaviour, Calls, Choice, Facts, Scenario

__all__ = ["needed_values"]


def needed_values(scenarios: Iterable[Scenario]) -> tuple[NeededValue, ...]:
    """Return the values of the right calls, of the facts of a right answer, and of what is missing; each once."""
    return tuple(dict.fromkeys(one for scenario in scenarios for one in _values_of(scenario) if one.value.strip()))


def _values_of(scenario: Scenario) -> Iterator[NeededValue]:
    target = scenario.target
    if isinstance(target, Calls):
        for call in target.accepted:
            for name, accepted in call.arguments.items():
                yield from _accepted(name, accepted)
    elif isinstance(target, Facts):
        for fact in target.required:
            if isinstance(fact.value, str):
                yield NeededValue(fact.name, fact.value, fact.accepted)
    elif isinstance(target, Choice):
        yield from _named(_arguments_of(target.text_of(Behaviour.TOOL_CALL) or ""))
    for gold in scenario.gold_calls:
        yield from _named(gold.arguments)
    for missing in scenario.missing:
        yield from _named({missing.name: [missing.value, missing.other]})


def _accepted(name: str, values: tuple[Any, ...]) -> Iterator[NeededValue]:
    """Yield the values of one argument as BFCL writes them: the first is the gold one, and the others count as well."""
    if values and isinstance(values[0], str):
        yield NeededValue(name, values[0], tuple(one for one in values[1:] if isinstance(one, str) and one))
        return
    yield from (NeededValue(name, text) for text in _texts(values[:1]))


def _named(arguments: Mapping[str, Any]) -> Iterator[NeededValue]:
    yield from (NeededValue(name, text) for name, value in arguments.items() for text in _texts(value))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(one)


def _arguments_of(call: str) -> Mapping[str, Any]:
    """Return the arguments of a call that is written as JSON; none if it is something else."""
    try:
        found = json.loads(call)["arguments"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return {}
    return found if isinstance(found, Mapping) else {}
