"""How a model is asked: one function a protocol makes the request, from the wording and the scenario (the study's section 4, appendix B)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from talm_sim.judges.decision import Decision, read_decision
from talm_sim.scenarios.dialogue import ATTEMPT, EXAMPLE, as_messages, as_text, dialogue, part_of
from talm_sim.tasks.awareness.wording import Wording, filled
from talm_sim.tasks.single_step import Request
from talm_sim.types import UNPARSED, ModelTurn, Scenario

__all__ = ["ANSWERS", "TELLS_FIRST_TOKEN", "Protocol", "decided", "explicit_turns", "first_request", "next_request", "question"]

Protocol = Literal["zero-shot", "few-shot", "cot", "explanation", "implicit", "completion", "feedback"]
ANSWERS = ("Yes", "No")
ALTERNATIVES = 20
"""Likeliest first tokens that are kept: as many as servers tell."""
TELLS_FIRST_TOKEN = frozenset({"zero-shot", "few-shot", "implicit", "completion", "feedback"})
"""Protocols whose answer begins with its label, so that the first token's probabilities are those of Yes and No."""
_ASKED = 2
"""Times an answer is asked for at most: one that cannot be read is asked for once more, in the same conversation."""
_COMPLETED = 8
"""Tokens a text model goes on for: it does not end of itself."""


def first_request(protocol: Protocol, wording: Wording, scenario: Scenario) -> Request:
    """The first thing a model is asked for a scenario."""
    if protocol == "implicit":
        return _free_turn(wording, scenario)
    if protocol == "completion":
        prompt = question(protocol, wording, scenario)
        return Request(prompt=prompt, choices=ANSWERS, alternatives=ALTERNATIVES, max_new_tokens=_COMPLETED)
    return _explicit(protocol, wording, scenario)


def next_request(protocol: Protocol, wording: Wording, scenario: Scenario, turns: Sequence[ModelTurn]) -> Request | None:
    """What follows: after the implicit protocol's free turn the question itself; after an answer that cannot be read, the question again."""
    answers = explicit_turns(protocol, turns)
    if not answers:
        return _explicit(protocol, wording, scenario)
    if protocol == "completion" or len(answers) == _ASKED or decided(answers[-1]).said != UNPARSED:
        return None
    return _again(protocol, wording, scenario, answers[-1])


def explicit_turns(protocol: Protocol, turns: Sequence[ModelTurn]) -> Sequence[ModelTurn]:
    """The turns that answer the question: all but the free one, which the implicit protocol begins with."""
    return turns[1:] if protocol == "implicit" else turns


def decided(turn: ModelTurn) -> Decision:
    """What a turn says that answers the question."""
    return read_decision(turn.text or turn.raw_text)


def question(protocol: Protocol, wording: Wording, scenario: Scenario) -> str:
    """The text that asks about a scenario."""
    attempt = part_of(scenario, ATTEMPT)
    key = ("failed" if attempt[-1].get("failed") else "succeeded") if protocol == "feedback" and attempt else "question"
    said, tools = as_text(dialogue(scenario)), "\n".join(scenario.shown_tools)
    return filled(wording[_table(protocol)][key], conversation=said, tools=tools, call=as_text(attempt))


def _table(protocol: Protocol) -> str:
    """The table of the wording that asks explicitly; few examples and the implicit protocol ask as without any."""
    return "zero-shot" if protocol in {"few-shot", "implicit"} else protocol


def _free_turn(wording: Wording, scenario: Scenario) -> Request:
    """The conversation to go on with, and its tools."""
    from langchain_core.messages import SystemMessage

    from talm_sim.agent.shown_tools import tool_specs

    messages = [SystemMessage(wording["implicit"]["system"]), *as_messages(dialogue(scenario))]
    return Request(messages, tools=tool_specs(scenario.shown_tools))


def _explicit(protocol: Protocol, wording: Wording, scenario: Scenario) -> Request:
    from langchain_core.messages import HumanMessage, SystemMessage

    system = SystemMessage(wording[_table(protocol)]["system"])
    messages = [system, *as_messages(part_of(scenario, EXAMPLE)), HumanMessage(question(protocol, wording, scenario))]
    free = protocol == "cot"
    # A constrained model would have to answer before it thinks: it thinks freely, and is held to a label when it is asked again.
    return Request(messages, choices=() if free else ANSWERS, alternatives=ALTERNATIVES if protocol in TELLS_FIRST_TOKEN else 0)


def _again(protocol: Protocol, wording: Wording, scenario: Scenario, turn: ModelTurn) -> Request:
    from langchain_core.messages import AIMessage, HumanMessage

    asked = _explicit(protocol, wording, scenario).messages
    answer = AIMessage(turn.text or turn.raw_text or "(nothing)")
    return Request([*asked, answer, HumanMessage(wording["again"]["question"])], choices=ANSWERS, before=len(asked) + 1)
