"""The types of a trace that was read, in whichever form it was written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from talm_sim.types import Usage

SCENARIO = "talm_sim.scenario.id"
"""Attribute or metadata that names the scenario of a trace."""
Written = tuple[Any, Any, Any]
"""A tool call as it was written: its id, the tool's name and the arguments; each may be anything."""


@dataclass(slots=True)
class Said:
    """One message, or the result of one tool call.

    Attributes:
        text: What is said; of a tool, its result.
        stop: Why a model stopped, in its protocol's word.
        usage: What a model's turn took; None if the trace does not say.
        given: Whether it was part of what the agent was given to begin with, and not its own.
        answers: Of a result, the id of its call; empty if the trace does not say.
        name: Of a result, the name of its tool.
        arguments: Of a result, the arguments of its call, if they are written there.
        error: Of a result, why the call failed; empty if it did not.
        elapsed_ms: Of a result, how long the call took.
        part: Of an assistant's message, the id of the answer that it is a part of; empty if it is whole.
    """

    role: Literal["system", "user", "assistant", "tool"]
    text: str = ""
    reasoning: str = ""
    calls: tuple[Written, ...] = ()
    stop: str = ""
    usage: Usage | None = None
    given: bool = False
    answers: str = ""
    name: str = ""
    arguments: Any = None
    error: str = ""
    elapsed_ms: float = 0.0
    part: str = ""


@dataclass(slots=True)
class Trace:
    """One run of an agent.

    Attributes:
        where: Its place in the file, for messages.
        said: The conversation in order, tool results included.
        scenario: The id of the scenario that it names; empty if it names none.
        answer: The agent's answer, if the trace says it apart from the conversation.
        usage: What it took in all, if the turns do not say.
        started_at: Unix time in seconds; 0 if it is not known.
    """

    where: str
    said: list[Said]
    scenario: str = ""
    model: str = ""
    answer: str | None = None
    asks: tuple[str, ...] = ()
    error: str = ""
    usage: Usage | None = None
    started_at: float = 0.0
    elapsed_s: float = 0.0

    @property
    def requests(self) -> Iterator[str]:
        """What the user says, in order."""
        return (one.text for one in self.said if one.role == "user")

    @property
    def request(self) -> str:
        """The first message of the user; empty if there is none."""
        return next(self.requests, "")
