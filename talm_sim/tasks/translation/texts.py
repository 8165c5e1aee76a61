"""What the user says in a scenario: its messages, and the answers of a person who is asked for what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from talm_sim.scenarios.dialogue import as_text
from talm_sim.types import Missing, Scenario

__all__ = ["conversation_before", "line_of", "replace_texts", "user_texts"]


def user_texts(scenario: Scenario) -> list[str]:
    """Return what the user says, in order, each text once: messages first, then answers to questions."""
    return list(dict.fromkeys(text for text in (*_messages(scenario), *_answers(scenario)) if text.strip()))


def conversation_before(scenario: Scenario, text: str) -> str:
    """Return what was said before the user says a text, as lines that name the speaker; empty if it comes first."""
    messages = [message for turn in scenario.turns for message in turn.messages]
    place = next((place for place, one in enumerate(messages) if one["role"] == "user" and one["content"] == text), len(messages))
    return as_text(messages[:place])


def replace_texts(scenario: Scenario, said: Mapping[str, str]) -> Scenario:
    """Return the scenario with other words of the user's; a text without other words is left as it is."""

    def message_of(message: dict[str, Any]) -> dict[str, Any]:
        return {**message, "content": said.get(message["content"], message["content"])} if message["role"] == "user" else message

    def missing_of(one: Missing) -> Missing:
        answer = one.human_answer
        return one if answer is None else one.model_copy(update={"human_answer": said.get(answer, answer)})

    turns = tuple(turn.model_copy(update={"messages": tuple(map(message_of, turn.messages))}) for turn in scenario.turns)
    return scenario.model_copy(update={"turns": turns, "missing": tuple(map(missing_of, scenario.missing))})


def line_of(scenario: Scenario) -> dict[str, Any]:
    """Return a scenario as a line of a file, without the fields that have their default."""
    line = scenario.model_dump(mode="json", exclude_defaults=True)
    if scenario.target is not None and not isinstance(scenario.target, dict):
        line["target"] = {"type": scenario.target.type, **line["target"]}
    return line


def _messages(scenario: Scenario) -> Iterator[str]:
    yield from (message["content"] for turn in scenario.turns for message in turn.messages if message["role"] == "user")


def _answers(scenario: Scenario) -> Iterator[str]:
    yield from (one.human_answer for one in scenario.missing if one.human_answer)
