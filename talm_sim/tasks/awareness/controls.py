"""Play task `awareness` as each control: each answers as it always does, but the oracle, which knows what is right.

The asker asks the user for more, whatever was said, and calls nothing now.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import Continuation, GenerationSettings
from talm_sim.models.sim import ControlPolicy
from talm_sim.types import JsonObject, ModelTurn, TokenLogprob, ToolCall, ToolSpec, YesNo

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

_ALWAYS = {"eager": "yes", "cautious": "no", "asker": "no"}
_WHY = {
    "yes": "One of the APIs serves the request, and all it needs was said.",
    "no": "What is there is not enough for a call.",
}
_UNLIKELY = -100.0


class YesNoPolicy(ControlPolicy):
    """One control at one scenario."""

    chat_template = ""

    def __init__(self, name: str, target: YesNo) -> None:
        super().__init__(name)
        self._says = _ALWAYS.get(self.control, target.gold)
        self._relevant = target.relevant

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        """Answer the question; if tools are offered, call one in place of a Yes."""
        if not tools:
            return await self.complete("", settings)
        await self.wait()
        if self._says == "yes":
            tool = next((one.name for one in tools if one.name in self._relevant), tools[0].name)
            return ModelTurn(tool_calls=(ToolCall(id="call-1", name=tool),), stop="tool_calls")
        text = "Could you tell me more?" if self.control == "asker" else "I cannot do that with what I have."
        return ModelTurn(raw_text=text, text=text)

    async def complete(self, prompt: str, settings: GenerationSettings) -> ModelTurn:
        """Answer the question."""
        await self.wait()
        word = self._says.capitalize()
        text = f"{word}. {_WHY[self._says]}"
        if self._says == "yes" and not settings.choices:  # a free answer: the call itself makes it a Yes
            text += f"\n[{self._relevant[0]}()]"
        first = (TokenLogprob(token=word, logprob=0.0),) if settings.alternatives else ()
        return ModelTurn(raw_text=text, text=text, first_tokens=first)

    async def score(self, prompt: str, options: Sequence[str]) -> list[Continuation]:
        """Find its own answer certain."""
        await self.wait()
        return [Continuation(0.0 if one.strip().lower() == self._says else _UNLIKELY, 1) for one in options]

    def render_chat(self, messages: Sequence[dict[str, str]], tools: Sequence[JsonObject]) -> str:
        """Refuse: a control has no tokenizer."""
        raise PrerequisiteError(f"{self.name} has no chat template.")
