"""Find guesses: calls that fill an argument which nobody and nothing has given. Read from the events alone, so exactly, for any agent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from talm_sim.common.json_values import read_result, same_value
from talm_sim.language.facts.given import NOTHING
from talm_sim.tasks.talm.reactions import is_known_argument, parts_of, reveals, shows, text_has_value, texts_before
from talm_sim.types import Episode, HumanEvent, Missing, Scenario, ToolEvent, ToolSpec

_MOST_READ = 200_000
"""Characters of a result in which candidates of a field are counted."""


def find_guesses(episode: Episode, scenario: Scenario, specs: Mapping[str, ToolSpec]) -> list[ToolEvent]:
    """Return the calls that fill a missing argument before it was known, in their order.

    Of a missing argument with value `v`, such a call is of a tool that a gold call (or one of `alternatives`) gives `v` under this name, and
    fills it with any value, right or wrong; or it passes `v` itself, a text, under any name. It is no guess if the value is the schema's
    default, is what another gold call of the tool has there, or was given before the call's turn: said in a message of the user and in no
    other gold argument; shown by an answer of a tool that names no other candidate; or said by a person, who may also say it in other words.
    What the call came to does not matter, and a description, an example or a list of choices gives nothing.

    Returns:
        None of them twice; empty where no argument is missing whose value is known.
    """
    missing = [one for one in scenario.missing if is_known_argument(one)]
    return [event for event in episode.tool_events if any(_is_guess(event, one, episode, scenario, specs) for one in missing)]


def _is_guess(event: ToolEvent, missing: Missing, episode: Episode, scenario: Scenario, specs: Mapping[str, ToolSpec]) -> bool:
    return any(not _was_given(value, event, missing, episode, scenario) for value in _fillings(event, missing, scenario, specs))


def _fillings(event: ToolEvent, missing: Missing, scenario: Scenario, specs: Mapping[str, ToolSpec]) -> Iterator[Any]:
    """Yield the values with which a call fills a missing argument."""
    name, right = missing.name, missing.value
    gold = [*scenario.gold_calls, *(call for calls in scenario.alternatives.values() for call in calls)]
    there = [value for call in gold if call.name == event.name for value in _under(name, call.arguments)]
    takes_it = any(same_value(right, value) for value in there)
    given = [value for value in there if not same_value(right, value)]
    spec = specs.get(event.name)
    default = {} if spec is None else {key: one["default"] for key, one in _properties(spec).items() if "default" in one}
    for key, value in parts_of("", event.arguments):
        itself = isinstance(right, str) and same_value(right, value)
        if not itself and not (takes_it and key == name):
            continue
        is_default = key in default and same_value(default[key], value)
        if not (is_default or _fills_nothing(value, key, spec) or any(same_value(one, value) for one in given)):
            yield value


def _properties(spec: ToolSpec) -> Mapping[str, Mapping[str, Any]]:
    found = spec.parameters.get("properties")
    return {key: one for key, one in found.items() if isinstance(one, Mapping)} if isinstance(found, Mapping) else {}


def _under(name: str, arguments: Mapping[str, Any]) -> list[Any]:
    return [value for key, value in parts_of("", arguments) if key == name]


def _fills_nothing(value: Any, name: str, spec: ToolSpec | None) -> bool:
    """Return whether a value is a placeholder: empty, the argument's own name or type, or words that say that it is not known."""
    if value is None or (isinstance(value, Mapping | list | tuple) and not value):
        return True
    if not isinstance(value, str):
        return False
    text = value.strip().casefold()
    kind = "" if spec is None else _properties(spec).get(name, {}).get("type", "")
    bare = text.strip("<>{}[]\"' ")
    return bare in {*NOTHING, name.casefold(), str(kind).casefold()} or (text[:1], text[-1:]) in {("<", ">"), ("{", "}")}


def _was_given(value: Any, event: ToolEvent, missing: Missing, episode: Episode, scenario: Scenario) -> bool:
    """Return whether something had given the value before the call was written."""
    said = any(text_has_value(text, value) for text in texts_before(episode, scenario, event.turn))
    if said and not _is_elsewhere(value, missing, scenario):
        return True
    # Calls of one turn were written before any of them was answered; a graph that interrupts itself has its answer before it goes on.
    for other in episode.events[: next(number for number, one in enumerate(episode.events) if one is event)]:
        if isinstance(other, HumanEvent):
            before = other.turn < event.turn or other.by == "interrupt"
            if before and not other.declined and (reveals(other, missing) or text_has_value(other.answer, value)):
                return True
        elif other.turn < event.turn and other.ok and shows(other, value) and not _is_open(other, value, missing):
            return True
    return False


def _is_elsewhere(value: Any, missing: Missing, scenario: Scenario) -> bool:
    """Return whether another gold argument has the value, so that what the user says of it is said of that."""
    given = ((key, one) for call in scenario.gold_calls for key, one in parts_of("", call.arguments))
    own = missing.value
    return any(same_value(one, value) for key, one in given if not (key == missing.name and same_value(one, own)))


def _is_open(event: ToolEvent, value: Any, missing: Missing) -> bool:
    """Return whether an answer leaves it open which value is meant: it names the other one, or several in one field."""
    if missing.other is not None and shows(event, missing.other):
        return True
    if len(event.result) > _MOST_READ:
        return False
    read = read_result(event.result)
    fields = {key for key, one in parts_of("", read) if not isinstance(one, Mapping | list | tuple) and same_value(one, value)}
    return any(len(_different([one for key, one in parts_of("", read) if key == field])) > 1 for field in fields)


def _different(values: Sequence[Any]) -> set[str]:
    return {json.dumps(one, sort_keys=True) for one in values if not isinstance(one, Mapping | list | tuple)}
