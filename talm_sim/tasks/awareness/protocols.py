"""Requests to a model: one function per protocol makes them from the wording and the scenario (the study's section 4, appendix B)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from talm_sim.scenarios.dialogue import ATTEMPT, EXAMPLE, as_messages, as_text, dialogue, part_of
from talm_sim.tasks.awareness.decision import Decision, read_decision
from talm_sim.tasks.awareness.wording import Wording, fill
from talm_sim.tasks.single_step import Request
from talm_sim.types import UNPARSED, ModelTurn, Scenario

__all__ = [
    "ALTERNATIVES",
    "ANSWERS",
    "LABEL_FIRST",
    "LABEL_TOKENS",
    "TELLS_FIRST_TOKEN",
    "AskingStyle",
    "Probability",
    "Protocol",
    "decision_of",
    "explicit_turns",
    "first_request",
    "next_request",
    "question",
]

Protocol = Literal["zero-shot", "few-shot", "cot", "explanation", "implicit", "completion", "feedback"]
Probability = Literal["first-tokens", "scores"]
ANSWERS = ("Yes", "No")
ALTERNATIVES = 20
"""Likeliest first tokens that are kept: as many as servers give."""
LABEL_FIRST = frozenset({"zero-shot", "few-shot", "feedback"})
"""Protocols that ask for a label and nothing else."""
LABEL_TOKENS = 32
TELLS_FIRST_TOKEN = LABEL_FIRST | {"implicit", "completion"}
"""Protocols whose answer begins with its label, so that the first token's probabilities are those of Yes and No."""
_ASKED = 2
"""How often an answer is asked for at most: one that cannot be read is asked for once more, in the same conversation."""
_COMPLETED = 8
"""Most tokens of a text model's continuation, which does not end by itself."""


@dataclass(frozen=True, slots=True)
class AskingStyle:
    """How a run asks: its protocol, its wording, and the source of the probability of a Yes."""

    protocol: Protocol
    wording: Wording
    probability: Probability = "first-tokens"

    def texts(self, key: str) -> str:
        """Texts of the table that asks explicitly; the protocols with few examples and the implicit one use those of plain asking."""
        return self.wording["zero-shot" if self.protocol in {"few-shot", "implicit"} else self.protocol][key]


def first_request(way: AskingStyle, scenario: Scenario) -> Request:
    """Return the first request for a scenario."""
    if way.protocol == "implicit":
        return _free_request(way, scenario)
    if way.protocol == "completion":
        return replace(_probability_request(way, " "), prompt=question(way, scenario), max_new_tokens=_COMPLETED)
    return _explicit_request(way, scenario)


def next_request(way: AskingStyle, scenario: Scenario, turns: Sequence[ModelTurn]) -> Request | None:
    """Return the next request: after the implicit protocol's free turn the question itself; after an unreadable answer, the question again."""
    answers = explicit_turns(way.protocol, turns)
    if not answers:
        return _explicit_request(way, scenario)
    if way.protocol == "completion" or len(answers) == _ASKED or decision_of(answers[-1]).said != UNPARSED:
        return None
    return _repeat_request(way, scenario, answers[-1])


def explicit_turns(protocol: Protocol, turns: Sequence[ModelTurn]) -> Sequence[ModelTurn]:
    """Return the turns that answer the question: all but the free one, with which the implicit protocol begins."""
    return turns[1:] if protocol == "implicit" else turns


def decision_of(turn: ModelTurn) -> Decision:
    """Return the decision of a turn that answers the question."""
    return read_decision(turn.text or turn.raw_text)


def question(way: AskingStyle, scenario: Scenario) -> str:
    """Return the text that asks about a scenario."""
    attempt = part_of(scenario, ATTEMPT)
    key = ("failed" if attempt[-1].get("failed") else "succeeded") if way.protocol == "feedback" and attempt else "question"
    said, tools = as_text(dialogue(scenario)), "\n".join(scenario.shown_tools)
    return fill(way.texts(key), conversation=said, tools=tools, call=as_text(attempt))


def _free_request(way: AskingStyle, scenario: Scenario) -> Request:
    """Return the conversation to continue, and its tools."""
    from langchain_core.messages import SystemMessage

    from talm_sim.agent.shown_tools import tool_specs

    messages = [SystemMessage(way.wording["implicit"]["system"]), *as_messages(dialogue(scenario))]
    return Request(messages, tools=tool_specs(scenario.shown_tools))


def _explicit_request(way: AskingStyle, scenario: Scenario) -> Request:
    from langchain_core.messages import HumanMessage, SystemMessage

    system = SystemMessage(way.texts("system"))
    messages = [system, *as_messages(part_of(scenario, EXAMPLE)), HumanMessage(question(way, scenario))]
    return replace(_probability_request(way), messages=messages)


def _probability_request(way: AskingStyle, before: str = "") -> Request:
    """Return a request for the first word of the answer: what it may be, and how likely each is; `before` precedes the word."""
    if way.protocol not in TELLS_FIRST_TOKEN:
        # A constrained model would have to answer before it thinks: it thinks freely, and is held to a label when asked again.
        return Request(choices=() if way.protocol == "cot" else ANSWERS)
    if way.probability == "scores":
        return Request(choices=ANSWERS, scored=tuple(before + word for word in ANSWERS))
    return Request(choices=ANSWERS, alternatives=ALTERNATIVES)


def _repeat_request(way: AskingStyle, scenario: Scenario, turn: ModelTurn) -> Request:
    from langchain_core.messages import AIMessage, HumanMessage

    asked = _explicit_request(way, scenario).messages
    answer = AIMessage(turn.text or turn.raw_text or "(nothing)")
    return Request([*asked, answer, HumanMessage(way.wording["again"]["question"])], choices=ANSWERS, before=len(asked) + 1)
