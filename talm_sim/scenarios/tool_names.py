"""Match the names that scenarios and graphs have for tools with those that the tools have here."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from talm_sim.types import GoldCall, Scenario


def match_name(name: str, known: Collection[str]) -> str:
    """Return the known name that a tool of this name must have: the same, or the only one that differs in punctuation alone; else `name`.

    >>> match_name("weather.get-forecast", ["weather_get_forecast", "now"]), match_name("then", ["now"])
    ('weather_get_forecast', 'then')
    """
    if name in known:
        return name
    alike = [one for one in known if _letters(one) == _letters(name)]
    return alike[0] if len(alike) == 1 else name


def _letters(name: str) -> str:
    return re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")[:64]


def with_names_of(scenario: Scenario, known: Collection[str]) -> Scenario:
    """Return a scenario whose tools are called as they are here."""
    if {*scenario.tools, *scenario.alternatives, *(call.name for call in scenario.gold_calls)} <= {*known}:
        return scenario

    def named(calls: Iterable[GoldCall]) -> tuple[GoldCall, ...]:
        return tuple(call.model_copy(update={"name": match_name(call.name, known)}) for call in calls)

    missing = [one.model_copy(update={"name": match_name(one.name, known)}) if one.kind == "tool" else one for one in scenario.missing]
    turns = [turn.model_copy(update={"gold_calls": named(turn.gold_calls)}) for turn in scenario.turns]
    return scenario.model_copy(
        update={
            "tools": tuple(match_name(name, known) for name in scenario.tools),
            "turns": tuple(turns),
            "missing": tuple(missing),
            "alternatives": {match_name(name, known): named(calls) for name, calls in scenario.alternatives.items()},
        }
    )
