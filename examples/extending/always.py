"""Provider `always`: a model that always says the word it is named after, as `always/Yes`."""

from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from talm_sim import ToolSpec
from talm_sim.extend import GenerationSettings, Model, ModelRequest, register_provider
from talm_sim.types import ModelTurn


class Always:
    """Says one word."""

    def __init__(self, name: str, word: str) -> None:
        self.name = name
        self.word = word

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        """Generate one turn."""
        return ModelTurn(raw_text=self.word, text=self.word)

    async def aclose(self) -> None:
        """Hold nothing."""


@register_provider("always", form="always/WORD", about="Says one word.", local=True)
def open_always(request: ModelRequest) -> Model:
    """Open a model."""
    return Always(request.name, request.model)
