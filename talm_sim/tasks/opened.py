"""What opening a job gives: all that its run needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from talm_sim.agent.episode import Agent
    from talm_sim.types import Scenario, ToolSpec

__all__ = ["Opened"]

JobT = TypeVar("JobT")


@dataclass(frozen=True, slots=True)
class Opened(Generic[JobT]):
    """A job with all it needs opened.

    Attributes:
        job: Final: nothing of it changes any more.
        agent: Makes what the episodes share, given where pauses are kept (None where nobody is asked); for the trial replay, then for the run.
        wording: The texts that were loaded, by what a message calls each; `resume` compares them.
        weights: Digests of the weights of a model with an adapter; `resume` compares them.
        in_flight: Episodes to have under way; None for as many as `max_episodes` says.
        human: Who answers, where anybody does; else `none`.
        waits: Whether a question may stay open, so that a paused episode must survive the process.
        starts_again: Whether an episode that waits cannot survive the process all the same: it starts again when the run goes on.
        check: Sees, before the run exists, that every scenario can be played.
        tools_of: The tools some scenarios name, kept with the run.
        replaceable: What is kept of the tools that a person can replace: a `ReplaceableTool` by name.
        notes: What a reader of the run should know, by what a line about it begins with; kept with the run.
        notices: What else its user should know before the first episode, a line each.
        warnings: The same of the scenarios that are run.
    """

    job: JobT
    agent: Callable[[BaseCheckpointSaver[Any] | None], Agent]
    wording: Mapping[str, str] = field(default_factory=dict)
    weights: Mapping[str, str] = field(default_factory=dict)
    in_flight: int | None = None
    human: str = "none"
    waits: bool = False
    starts_again: bool = False
    check: Callable[[Sequence[Scenario]], None] = lambda scenarios: None
    tools_of: Callable[[Sequence[Scenario]], list[ToolSpec]] = lambda scenarios: []
    replaceable: Mapping[str, Any] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    warnings: Callable[[Sequence[Scenario]], Sequence[str]] = lambda scenarios: ()
