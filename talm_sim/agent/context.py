"""What the nodes of every graph are given, and how a foreseen failure ends an episode."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, TypeVar

from talm_sim.errors import CassetteMissError, ContextOverflowError, ProviderError
from talm_sim.models.base import ASK_HUMAN, GenerationSettings, Model
from talm_sim.tools_env.environment import EpisodeTools
from talm_sim.types import Scenario, Termination, ToolSpec

__all__ = ["EpisodeContext", "or_failure"]


@dataclass(frozen=True, slots=True)
class EpisodeContext:
    """What the nodes need and no checkpoint keeps: it is passed anew on every resume."""

    scenario: Scenario
    model: Model
    settings: GenerationSettings
    """With the episode's own seed."""
    tools: EpisodeTools | None = None
    """None where no tool is executed."""
    offered: tuple[ToolSpec, ...] = ()
    """The tools shown to the model: the environment's and, where there is a human, `ask_human`."""

    @property
    def human(self) -> bool:
        """Whether there is somebody to ask."""
        return any(tool.name == ASK_HUMAN for tool in self.offered)


_FAILURES: tuple[tuple[type[Exception], Termination], ...] = (
    (CassetteMissError, Termination.REPLAY_MISS),
    (ContextOverflowError, Termination.CONTEXT_OVERFLOW),
    (ProviderError, Termination.INFRASTRUCTURE_ERROR),
)
_Update = TypeVar("_Update")


async def or_failure(work: Awaitable[_Update]) -> _Update | dict[str, Any]:
    """Turn a foreseen failure into the episode's termination, so that what happened before it is kept."""
    try:
        return await work
    except (CassetteMissError, ProviderError) as err:
        return {"termination": next(end for kind, end in _FAILURES if isinstance(err, kind)), "error": str(err)}
