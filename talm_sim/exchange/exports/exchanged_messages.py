"""List the messages that were exchanged in an episode, for formats that keep a conversation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from talm_sim.agent.approvals import approved_call
from talm_sim.scenarios.dialogue import heard_before
from talm_sim.types import Approval, Episode, Event, HumanEvent, Scenario, ToolCall, UnparsableCall

_SYSTEM, _HUMAN = "[system] ", "[human] "
"""How the text of what a turn added names the speakers (`talm_sim.agent.graph.prompt_text`)."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message.

    Attributes:
        text: What is said; of a tool, its result.
        turn: The index of the model turn that said it; None for all but the agent's own messages.
        answers: Of a result, the id of its call.
        name: Of a result, the name of its tool.
        error: Of a result, why the call failed; empty if it did not.
    """

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    turn: int | None = None
    reasoning: str = ""
    calls: tuple[ToolCall | UnparsableCall, ...] = ()
    answers: str = ""
    name: str = ""
    error: str = ""


def conversation(episode: Episode, scenario: Scenario | None, *, acts: bool) -> list[Message]:
    """Return the messages of an episode in order: what the user says, each turn of the model, and what it was answered.

    Args:
        episode: The episode.
        scenario: Its scenario; None if the run does not have it.
        acts: Whether an agent was led through the scenario's turns; otherwise each turn of the model answers one request.
    """
    user_turns = scenario.user_turns if scenario is not None and acts else ()
    found: list[Message] = []
    heard = heard_before(user_turns, episode)
    if user_turns:
        system = system_text(episode, scenario)
        found += [Message("system", system)] if system else []
        found += _written(user_turns[0].messages)
    elif not episode.model_turns:
        found.append(Message("user", scenario.query if scenario is not None else ""))
    for index, turn in enumerate(episode.model_turns):
        if user_turns:
            for said in next(heard):
                found += _written(said.messages)
            if index and episode.model_turns[index - 1].reminded:
                found.append(Message("user", turn.raw_prompt.removeprefix(_HUMAN)))
        else:
            found.append(Message("user", turn.raw_prompt or (scenario.query if scenario is not None else "")))
        found.append(Message("assistant", turn.text, index, turn.reasoning, (*turn.tool_calls, *turn.unparsable_calls)))
        found += [_answer(event) for event in episode.events if event.turn == index and _is_read(event)]
    # An agent whose model is not seen has calls without a turn, and an imported episode may have an answer without one.
    found += [_answer(event) for event in episode.events if event.turn >= len(episode.model_turns) and _is_read(event)]
    return found if episode.model_turns or not episode.answer.strip() else [*found, Message("assistant", episode.answer)]


def system_text(episode: Episode, scenario: Scenario | None) -> str:
    """Return the system text that the agent's first prompt begins with; empty if the prompt does not show where it ends."""
    first = scenario.user_turns[0].messages if scenario is not None else ()
    if not episode.model_turns or len(first) != 1:
        return ""
    prompt, request = episode.model_turns[0].raw_prompt, f"\n\n{_HUMAN}{first[0]['content']}"
    if not (prompt.startswith(_SYSTEM) and prompt.endswith(request)):
        return ""
    return prompt[len(_SYSTEM) : len(prompt) - len(request)]


def event_name(event: Event) -> str:
    """Return the name of the tool that was called; of a question to a person, that of the tool which asks."""
    if not isinstance(event, HumanEvent):
        return event.name
    from talm_sim.models.base import ASK_HUMAN  # not at the top: a help page needs no model

    return ASK_HUMAN


def target_texts(scenario: Scenario | None) -> list[str]:
    """Return what a correct episode shows, as texts."""
    target = scenario.target if scenario is not None else None
    if target is None:
        return []
    told: Mapping[str, Any] = target if isinstance(target, dict) else target.model_dump(mode="json")
    if isinstance(gold := told.get("gold"), str):
        return [gold]
    if isinstance(required := told.get("required"), list):
        return [_fact_text(fact) for fact in required]
    return [json.dumps({key: value for key, value in told.items() if key != "type"}, ensure_ascii=False)]


def _fact_text(fact: Any) -> str:
    if not isinstance(fact, dict) or not {"name", "value"} <= fact.keys():
        return json.dumps(fact, ensure_ascii=False)
    return f"{fact['name']}: {fact['value']} {fact.get('unit', '')}".rstrip()


def _is_read(event: Event) -> bool:
    """Return whether the agent reads what came of it: of a call to approve only a refusal, and of a form nothing, as its tool reads that."""
    if not isinstance(event, HumanEvent) or event.request is None:
        return True
    return event.by == "policy" and approved_call(event) is None


def _answer(event: Event) -> Message:
    if not isinstance(event, HumanEvent):
        return Message("tool", event.result, answers=event.call_id, name=event.name, error=event.error or ("" if event.ok else "failed"))
    if event.by == "tool":
        return Message("tool", event.answer, answers=event.call_id, name=event_name(event))
    if event.by == "policy" and isinstance(event.request, Approval):
        return Message("tool", event.answer, answers=event.call_id, name=event.request.name)
    return Message("user", event.answer)


def _written(messages: Sequence[dict[str, Any]]) -> Iterator[Message]:
    names = {call["id"]: call["name"] for message in messages for call in _calls(message)}
    for message in messages:
        text = message["content"]
        match message["role"]:
            case "user":
                yield Message("user", text)
            case "assistant":
                yield Message("assistant", text, calls=tuple(ToolCall.model_validate(call) for call in _calls(message)))
            case "tool":
                answers = message.get("tool_call_id", "")
                yield Message("tool", text, answers=answers, name=message.get("name") or names.get(answers, ""))
            case _:
                yield Message("system", text)


def _calls(message: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    found: Iterable[dict[str, Any]] = message.get("tool_calls", ())
    return found
