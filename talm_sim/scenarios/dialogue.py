"""Write the conversation of a scenario: as text for a question about it, and as chat messages to continue.

Beside the dialogue a scenario's turns may contain additions of a protocol, marked by a message's `part`: `example` for solved examples that go
before it, `attempt` for a call made earlier and what came of it.
"""

from __future__ import annotations

import json
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from talm_sim.types import Episode, Scenario, Turn

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

EXAMPLE, ATTEMPT = "example", "attempt"
_SPEAKERS = {"user": "User", "assistant": "AI", "system": "System"}


def dialogue(scenario: Scenario) -> list[dict[str, Any]]:
    """Return what was said, without a protocol's additions."""
    return [message for turn in scenario.turns for message in turn.messages if "part" not in message]


def with_answers(user_turns: Sequence[Turn], answers: Mapping[int, str]) -> list[dict[str, Any]]:
    """Return what was said in some of a scenario's user turns, with an agent's answer after each; `answers` are by number of the turn."""
    said: list[dict[str, Any]] = []
    for number, turn in enumerate(user_turns):
        if number and number - 1 in answers:
            said.append({"role": "assistant", "content": answers[number - 1]})
        said += turn.messages
    return said


def part_of(scenario: Scenario, part: str) -> list[dict[str, Any]]:
    """Return the kind of a protocol's addition: `EXAMPLE` or `ATTEMPT`."""
    return [message for turn in scenario.turns for message in turn.messages if message.get("part") == part]


def as_text(messages: Iterable[Mapping[str, Any]]) -> str:
    """Return the conversation as lines that name the speaker; a call is written with its arguments as JSON, its result below it.

    >>> print(as_text([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "", "tool_calls": [
    ...     {"id": "c", "name": "greet", "arguments": {"to": "you"}}]}, {"role": "tool", "content": "done", "tool_call_id": "c"}]))
    User: Hi
    API request: greet({"to": "you"})
    API result: done
    """
    return "\n".join(_lines(messages))


def request_text(messages: Iterable[Mapping[str, Any]]) -> str:
    """Return the request, for a question about it: the user's words if nothing else was said, otherwise the whole conversation."""
    said = list(messages)
    return str(said[0]["content"]) if [one["role"] for one in said] == ["user"] else as_text(said)


def is_said(turn: Turn, answers: Iterable[str]) -> bool:
    """Return whether one of a person's answers has the words of what the user says in a turn, so that it is not said a second time."""
    return _words(request_text(turn.messages)) in map(_words, answers)


def _words(text: str) -> list[str]:
    """Return the words of a text, without the marks around them and what letters are large."""
    return [bare for word in text.casefold().split() if (bare := word.strip(string.punctuation))]


def heard_before(user_turns: Sequence[Turn], episode: Episode) -> Iterator[list[Turn]]:
    """Yield, for each turn of the model's, what the user has said since the one before it, without what a person said as an answer.

    The user's first turn is before all of them, and is left out.
    """
    told = 0
    for index, turn in enumerate(episode.model_turns):
        answers = [event.answer for event in episode.human_events if event.turn == index - 1]
        yield [one for one in user_turns[told + 1 : turn.user_turn + 1] if not is_said(one, answers)]
        told = max(told, turn.user_turn)


def _lines(messages: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for message in messages:
        calls = message.get("tool_calls", ())
        if message["role"] == "tool":
            yield f"API result: {message['content']}"
        elif message["content"] or not calls:
            yield f"{_SPEAKERS.get(message['role'], message['role'])}: {message['content']}"
        for call in calls:
            yield f"API request: {call['name']}({json.dumps(call.get('arguments', {}), ensure_ascii=False)})"


def as_messages(messages: Iterable[Mapping[str, Any]]) -> list[BaseMessage]:
    """Return the conversation as chat messages, with calls and results in the provider's own form."""
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

    found: list[BaseMessage] = []
    called: dict[str, str] = {}
    for message in messages:
        text = message["content"]
        match message["role"]:
            case "user":
                found.append(HumanMessage(text))
            case "assistant":
                calls = [{"id": one["id"], "name": one["name"], "args": one.get("arguments", {})} for one in message.get("tool_calls", ())]
                called |= {one["id"]: one["name"] for one in calls}
                found.append(AIMessage(text, tool_calls=calls))
            case "tool":
                answers = message.get("tool_call_id", "")
                found.append(ToolMessage(text, tool_call_id=answers, name=message.get("name") or called.get(answers)))
            case _:
                found.append(SystemMessage(text))
    return found


def as_dicts(messages: Iterable[BaseMessage]) -> list[dict[str, Any]]:
    """Return chat messages as a scenario writes them; a call that could not be read keeps its arguments as text."""
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    found: list[dict[str, Any]] = []
    for message in messages:
        if isinstance(message, AIMessage):
            calls = [(one["id"], one["name"], one["args"]) for one in (*message.tool_calls, *message.invalid_tool_calls)]
            written = [{"id": one, "name": name, "arguments": arguments} for one, name, arguments in calls]
            found.append({"role": "assistant", "content": message.text} | ({"tool_calls": written} if written else {}))
        elif isinstance(message, ToolMessage):
            found.append({"role": "tool", "content": message.text, "tool_call_id": message.tool_call_id})
        else:
            found.append({"role": "user" if isinstance(message, HumanMessage) else "system", "content": message.text})
    return found
