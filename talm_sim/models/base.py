"""The protocol that every model provider offers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from langchain_core.messages import BaseMessage

from talm_sim.types import JsonObject, ModelTurn, ToolSpec

ASK_HUMAN = "ask_human"
"""Name of the Ask-and-Help tool; agents offer it and controls call it by this name."""


@dataclass(frozen=True, slots=True)
class GenerationSettings:
    """The settings by which one turn is sampled."""

    temperature: float | None = 1.0
    """None for the provider's default, which a server is not told; 1 in this process."""
    max_new_tokens: int = 512
    seed: int | None = None
    choices: tuple[str, ...] = ()
    """Words, one of which a constrained model's text must begin with, if there are any; other models ignore them."""
    options: dict[str, Any] = field(default_factory=dict)
    asked: Mapping[str, Any] = field(default_factory=dict)
    """What an own agent asks of this turn (`talm_sim.models.asked`); a model that cannot pass it on is never given it."""
    alternatives: int = 0
    """Number of likeliest first tokens that a turn reports. Models without them, and constrained actions, leave `first_tokens` empty."""

    @property
    def own_temperature(self) -> float:
        """The temperature of a model that samples in this process."""
        return 1.0 if self.temperature is None else self.temperature


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
            ProviderError: The provider failed permanently.
            CassetteMissError: A replay met an unrecorded request.
        """
        ...

    async def aclose(self) -> None:
        """Release connections and threads."""
        ...


@dataclass(frozen=True, slots=True)
class Continuation:
    """The likelihood of a text after a prompt."""

    logprob: float
    """Sum of the natural-log probabilities of its tokens."""
    tokens: int


@runtime_checkable
class CompletionModel(Protocol):
    """A model that continues a raw prompt, with no chat template around it: what a base model needs."""

    name: str

    async def complete(self, prompt: str, settings: GenerationSettings) -> ModelTurn:
        """Continue `prompt` until the model ends its turn; `ModelTurn.raw_text` is what it wrote.

        Raises:
            ContextOverflowError: The prompt leaves no room for an answer.
            ProviderError: The provider failed permanently.
            CassetteMissError: A replay met an unrecorded request.
        """
        ...


@runtime_checkable
class ScoringModel(Protocol):
    """A model that can say how likely given texts are."""

    name: str

    async def score(self, prompt: str, options: Sequence[str]) -> list[Continuation]:
        """Say how likely each option is as the continuation of `prompt`.

        Raises:
            ContextOverflowError: The prompt with its longest option does not fit the model's context; nothing is cut.
            ProviderError: An option is empty, or its log-probability is not a finite number.
            CassetteMissError: A replay met an unrecorded request.
        """
        ...


@runtime_checkable
class TextModel(CompletionModel, ScoringModel, Protocol):
    """A model that can continue and score texts, and render a conversation as its tokenizer would."""

    chat_template: str
    """The Jinja source of the tokenizer's own chat template; empty where it has none."""

    def render_chat(self, messages: Sequence[dict[str, str]], tools: Sequence[JsonObject]) -> str:
        """Render a conversation through the tokenizer's own chat template, ready for the model's turn.

        Args:
            messages: Chat messages with `role` and `content`.
            tools: Functions as `{"name", "description", "parameters"}`.

        Raises:
            PrerequisiteError: The tokenizer has no chat template, or it cannot take these messages.
        """
        ...


@runtime_checkable
class ScenarioModel(Protocol):
    """A control model, which plays by a policy that knows the scenario."""

    def play(self, policy: Model | None) -> Model:
        """Return the policy for one scenario; None if the task has none.

        Raises:
            ProviderError: There is no policy.
        """
        ...
