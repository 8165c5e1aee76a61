"""Provider `slow`: a model in this process that takes its time to say a word; a module of the user's, for the nodes of a cluster to import."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from talm_sim import ToolSpec, register_provider
from talm_sim.models.base import GenerationSettings, Model
from talm_sim.models.request import ModelRequest
from talm_sim.types import ModelTurn


class Slow:
    """Says one word after a while."""

    def __init__(self, name: str, seconds: float) -> None:
        self.name = name
        self._seconds = seconds

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        """Generate one turn."""
        await asyncio.sleep(self._seconds)
        return ModelTurn(raw_text="Yes", text="Yes")

    async def aclose(self) -> None:
        """Hold nothing."""


@register_provider("slow", form="slow/SECONDS", about="Says one word after a while.")
def open_slow(request: ModelRequest) -> Model:
    """Open a model."""
    return Slow(request.name, float(request.model))
