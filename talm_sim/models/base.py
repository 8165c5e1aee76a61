"""What every model provider offers: one small protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from langchain_core.messages import BaseMessage

from talm_sim.types import ModelTurn, Scenario, ToolSpec

__all__ = ["ASK_HUMAN", "GenerationSettings", "Model", "ScenarioModel"]

ASK_HUMAN = "ask_human"
"""Name of the Ask-and-Help tool, by which agents offer it and controls call it."""


@dataclass(frozen=True, slots=True)
class GenerationSettings:
    """How one turn is sampled."""

    temperature: float = 1.0
    max_new_tokens: int = 512
    seed: int | None = None
    choices: tuple[str, ...] = ()
    """Where not empty, a constrained model's text must begin with one of these words; other models ignore it."""
    options: dict[str, Any] = field(default_factory=dict)


class Model(Protocol):
    """A chat model that may call tools."""

    name: str
    """`provider/name`, as given by the user."""

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        """Generate one turn.

        Args:
            messages: The whole conversation so far, oldest first: system, human, ai (with `tool_calls`) and tool messages.
            tools: Tools the model may call; may be empty.
            settings: Sampling settings.

        Returns:
            The turn. `ModelTurn.raw_prompt` may be left empty: the agent fills it with what the turn added to the conversation.

        Raises:
            ContextOverflowError: The conversation is longer than the model's context.
            ProviderError: The provider failed for good.
            CassetteMissError: A replay met an unrecorded request.
        """
        ...

    async def aclose(self) -> None:
        """Release connections and threads."""
        ...


@runtime_checkable
class ScenarioModel(Protocol):
    """A control model, which knows the scenario it plays."""

    def for_scenario(self, scenario: Scenario) -> Model:
        """Return the policy for one scenario."""
        ...
