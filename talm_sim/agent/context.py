"""What the nodes of every graph receive, and how a foreseen failure ends an episode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from talm_sim.errors import CassetteMissError, ContextOverflowError, ProviderError
from talm_sim.models.base import ASK_HUMAN, GenerationSettings, Model
from talm_sim.tools_env.environment import EpisodeTools
from talm_sim.types import Scenario, Termination, ToolCall, ToolSpec

__all__ = ["FORESEEN", "EpisodeContext", "failure_state"]


@dataclass(frozen=True, slots=True)
class EpisodeContext:
    """What the nodes need and no checkpoint keeps: it is passed again on every resume."""

    scenario: Scenario
    model: Model
    settings: GenerationSettings
    """Sampling settings with the episode's own seed."""
    tools: EpisodeTools | None = None
    """The tools; None if no tool is executed."""
    offered: tuple[ToolSpec, ...] = ()
    """The tools shown to the model: the environment's and, if there is a human, `ask_human`."""

    @property
    def human(self) -> bool:
        """Whether there is somebody to ask."""
        return any(tool.name == ASK_HUMAN for tool in self.offered)

    def question_in(self, call: ToolCall) -> str:
        """Return the question that a call asks the person; empty for a call of a tool, and if nothing is asked or there is nobody."""
        question = str(call.arguments.get("question", "")) if self.human and call.name == ASK_HUMAN else ""
        return question if question.strip() else ""


FORESEEN = (CassetteMissError, ProviderError)
"""Failures of a model or a tool that are not bugs: they end the episode, so that what happened before is kept."""


def failure_state(err: Exception) -> dict[str, Any]:
    """Return the state with which a foreseen failure ends an episode."""
    if isinstance(err, CassetteMissError):
        end = Termination.REPLAY_MISS
    else:
        end = Termination.CONTEXT_OVERFLOW if isinstance(err, ContextOverflowError) else Termination.INFRASTRUCTURE_ERROR
    return {"termination": end, "error": str(err)}
