"""The calls of our graph that wait for a person: a question, a call to approve, or what a tool asks before it can answer.

Each waits in a node that holds nothing but `interrupt`, because a node runs again from its start on resume.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.types import Send, interrupt

from talm_sim.agent.approvals import approved_call, settle_approval
from talm_sim.types import Approval, Decision, Form, HumanEvent, ToolCall, ToolEvent, UnparsableCall


class PausedCall(TypedDict):
    """A call that ended with questions: what it asked, and what is needed to make it again."""

    call: ToolCall | UnparsableCall
    turn: int
    forms: list[Form]
    kept: dict[str, Any]


class SentCall(TypedDict, total=False):
    """What a node that deals with one call is sent."""

    call: ToolCall | UnparsableCall
    turn: int
    in_words: bool
    """Whether the call stands for a question that was asked in words."""
    request: Approval | Form
    """What a person is asked about the call before it runs, or what its tool asks."""
    again: tuple[dict[str, Any], Sequence[Decision]]
    """What the call is made again with."""


async def ask_question(state: SentCall) -> dict[str, Any]:
    """Put a question to the person."""
    call = state["call"]
    assert isinstance(call, ToolCall)
    question = str(call.arguments["question"])
    reply: dict[str, Any] = interrupt(question)
    in_words = state.get("in_words", False)
    event = HumanEvent(turn=state["turn"], call_id=call.id, question=question, by="words" if in_words else "tool", **reply)
    answer = HumanMessage(event.answer) if in_words else ToolMessage(event.answer, tool_call_id=event.call_id, name=call.name)
    return {"events": [event], "messages": [answer]}


async def ask_request(state: SentCall) -> dict[str, Any]:
    """Put a call to approve, or a form, to the person."""
    call, request = state["call"], state["request"]
    reply: dict[str, Any] = interrupt(request.model_dump(mode="json"))
    by: Any = "policy" if isinstance(request, Approval) else "elicitation"
    event = HumanEvent(turn=state["turn"], call_id=call.id, question=request.text, by=by, request=request, **reply)
    if isinstance(request, Form):
        return {"events": [event]}
    event = settle_approval(event)
    if approved_call(event) is not None:
        return {"events": [event]}
    return {"events": [event], "messages": [ToolMessage(event.answer, tool_call_id=event.call_id, name=call.name)]}


def waiting_calls(state: Mapping[str, Any]) -> list[Send]:
    """Return one task for each call of the last turn that goes on: one that a person has approved, or that ended with questions.

    The latter is made again once all of its forms are answered; before that, each form is put to the person.
    """
    last = len(state.get("model_turns", ())) - 1
    events = [event for event in state.get("events", ()) if event.turn == last]
    made = {event.call_id for event in events if isinstance(event, ToolEvent)}
    if paused := [one for one in state.get("paused", ()) if one["turn"] == last and one["call"].id not in made]:
        return [send for one in {one["call"].id: one for one in paused}.values() for send in _go_on(one, paused, events)]
    calls = [call for event in events if isinstance(event, HumanEvent) and event.by == "policy" and (call := approved_call(event))]
    return [Send("tool", SentCall(call=call, turn=last)) for call in calls if call.id not in made]


def _go_on(last: PausedCall, paused: Sequence[PausedCall], events: Sequence[Any]) -> list[Send]:
    """Return how a call goes on after its last round: with its forms, or with the answers to them."""
    name, call = last["call"].id, SentCall(call=last["call"], turn=last["turn"])
    said = [event for event in events if event.call_id == name and isinstance(event, HumanEvent) and event.by == "elicitation"]
    earlier = sum(len(one["forms"]) for one in paused if one["call"].id == name) - len(last["forms"])
    if len(said) == earlier:
        return [Send("form", SentCall(**call, request=form)) for form in last["forms"]]
    decisions = [event.decision or Decision(action="cancel") for event in said[earlier:]]
    return [Send("tool", SentCall(**call, again=(last["kept"], decisions)))]
