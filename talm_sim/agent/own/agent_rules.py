"""What holds for every episode of your agent: its limits, and how it learns of failures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class AgentRules:
    """What holds for every episode of the user's own agent.

    Attributes:
        seconds: Time, without what a person takes to answer, and without that in which another agent blocks the common loop.
        rounds: Questions in plain words that the person replies to; 0 if nobody does.
        text_errors: Whether a tool's failure is told as text; else it is raised, as the tool itself would.
        context: What a graph with a `context_schema` gets as its context, as it was written.
    """

    turns: int
    tokens: int | None
    seconds: float
    rounds: int = 0
    text_errors: bool = False
    context: Mapping[str, str] = field(default_factory=dict)
