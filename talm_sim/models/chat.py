"""One answer of a chat model before its tool format is read, and the protocol of models for the constrained tool format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from talm_sim.models.base import GenerationSettings
from talm_sim.types import TokenLogprob, Usage


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer, as far as it is the same in every tool format."""

    text: str
    """What the model wrote, unchanged."""
    reasoning: str
    """Text of the server's own reasoning field, if it has one."""
    calls: tuple[tuple[Any, Any, Any], ...]
    """(id, name, arguments) as reported."""
    stop: Literal["stop", "length", "refusal"]
    logprobs: tuple[float, ...] | None
    usage: Usage
    first_tokens: tuple[TokenLogprob, ...] = ()


class SchemaChat(Protocol):
    """A chat model that can be held to a JSON schema while it decodes."""

    name: str

    async def chat(self, messages: list[dict[str, Any]], settings: GenerationSettings, fields: dict[str, Any]) -> Completion:
        """Answer once.

        Args:
            messages: Chat messages of the chat-completions protocol.
            settings: Sampling settings.
            fields: Further fields of the request; `response_format` contains the schema.
        """
        ...

    async def aclose(self) -> None:
        """Release what the model holds."""
        ...
