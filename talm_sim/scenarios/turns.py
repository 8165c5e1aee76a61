"""Check whether the turns of a scenario can be played as they are written: each fault names its key, and the fix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from talm_sim.types import Scenario, Turn

MESSAGE_KEYS: Mapping[str, frozenset[str]] = {
    "user": frozenset({"role", "content"}),
    "system": frozenset({"role", "content"}),
    "assistant": frozenset({"role", "content", "tool_calls"}),
    "tool": frozenset({"role", "content", "tool_call_id", "name"}),
}
"""Role of a message to its keys."""


def fault_in_messages(turns: Sequence[Turn]) -> str:
    """Return what no task would read in some messages; empty if all of it is read."""
    for place, message in _messages(turns):
        if (keys := MESSAGE_KEYS.get(message["role"])) is None:
            return f"{place}.role: is '{message['role']}'; write one of {', '.join(MESSAGE_KEYS)}."
        if (unread := next((key for key in message if key not in keys), None)) is not None:
            return f"{place}.{unread}: is not a key of a message with role {message['role']}, and would be ignored; leave it out."
    return ""


def fault_in_tools(scenario: Scenario) -> str:
    """Return what a scenario says of its tools that cannot be: of those that a later turn adds, and of what they start from."""
    if scenario.start and not scenario.tools:
        return "start: is what the scenario's tools start from, and it names none in `tools`; leave it out."
    added: dict[str, int] = {}
    for number, turn in enumerate(scenario.turns):
        for name in turn.tools_added:
            place = f"turns.{number}.tools_added: '{name}'"
            if name not in scenario.tools:
                return f"{place} is not one of the scenario's `tools`; add it there."
            if not number:
                return f"{place} is added in the first turn, whose tools are shown from the start; leave it out."
            if name in added:
                return f"{place} is already added in turn {added[name]}; leave one of them out."
            added[name] = number
    return ""


def fault_in_user_turns(turns: Sequence[Turn]) -> str:
    """Say why an agent cannot be led through some turns; empty if it can.

    It answers each turn that ends with the user. One that ends with the assistant is answered already, so nothing can be asked of it.
    """
    if fault := _fault_in_calls(turns):
        return fault
    for number, turn in enumerate(turns):
        if not turn.messages:
            return f"turns.{number}.messages: has no message; write what the user says, or leave out the turn."
        place, last = f"turns.{number}.messages.{len(turn.messages) - 1}", turn.messages[-1]
        answered = last["role"] == "assistant"
        if answered and turn.gold_calls:
            return f"turns.{number}.gold_calls: the turn is answered already, as it ends with the assistant; give them to a turn that is not."
        if answered and number == len(turns) - 1:
            return f"{place}.role: the last turn is answered already; end it with the user."
        if not answered and last["role"] != "user":
            return f"{place}.role: a turn ends with the {last['role']}; end it with the user, or with the assistant's answer."
    return ""


def fault_in_question(scenario: Scenario) -> str:
    """Say why a task that asks a single question would drop part of a scenario; empty if the scenario contains only that question."""
    if [message["role"] for turn in scenario.turns for message in turn.messages] == ["user"]:
        return ""
    said = "several turns" if len(scenario.turns) > 1 else "more than what the user asks"
    return f"turns: contains {said}, but this task asks the model a single question; keep one user message."


def _fault_in_calls(turns: Sequence[Turn]) -> str:
    """Say where a call lacks its result, or a result its call: models' servers refuse both."""
    awaited: dict[str, str] = {}
    for place, message in _messages(turns):
        if message["role"] == "tool":
            called = message.get("tool_call_id", "")
            if called not in awaited:
                return f"{place}.tool_call_id: '{called}' is not a call of the preceding assistant message; write the `id` of one."
            del awaited[called]
            continue
        if awaited:
            break
        for number, call in enumerate(message.get("tool_calls", ())):
            where = f"{place}.tool_calls.{number}"
            if call["id"] in awaited:
                return f"{where}.id: '{call['id']}' is used twice; give each call its own."
            awaited[call["id"]] = where
    lacks = "has no result; add a message of role tool with this `tool_call_id` below it."
    return next((f"{where}: call '{call}' {lacks}" for call, where in awaited.items()), "")


def _messages(turns: Sequence[Turn]) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, turn in enumerate(turns):
        for index, message in enumerate(turn.messages):
            yield f"turns.{number}.messages.{index}", message
