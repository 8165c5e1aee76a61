"""Play a multiple-choice item as each control: each always shows its own behaviour, except the oracle, which shows the right one.

True values over items of the three gold behaviours of When2Call: the oracle has an accuracy of 1 and a macro F1 of .75, as no item is rightly
answered directly and an empty class counts 0; `eager` has a parameter hallucination of 1, and of tools where none are shown; all others of 0.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import Continuation, GenerationSettings
from talm_sim.models.parsing import split_reasoning
from talm_sim.models.sim import ControlPolicy
from talm_sim.tasks.reasoning import NONE, with_thought
from talm_sim.tasks.when2call.scores import DECISIONS
from talm_sim.types import Behaviour, Choice, JsonObject, ModelTurn, Scenario, ToolCall, ToolSpec

_OWN = {"eager": Behaviour.TOOL_CALL, "cautious": Behaviour.CANNOT_ANSWER, "asker": Behaviour.REQUEST_FOR_INFO}


class ChoicePolicy(ControlPolicy):
    """One control at one item."""

    chat_template = ""

    def __init__(self, name: str, scenario: Scenario, target: Choice, *, reasoning: str = NONE) -> None:
        super().__init__(name)
        self._scenario, self._target, self._reasoning = scenario, target, reasoning
        self._shows = _OWN.get(self.control, target.gold)

    async def score(self, prompt: str, options: Sequence[str]) -> list[Continuation]:
        """Find the control's own behaviour certain and every other option very unlikely, also by length."""
        await self.wait()
        kinds = [option.behaviour for option in self._target.options]
        return [
            Continuation(0.0 if kind is self._shows else -10.0 * len(text.encode()), len(text.split()))
            for kind, text in zip(kinds, options, strict=True)
        ]

    async def complete(self, prompt: str, settings: GenerationSettings) -> ModelTurn:
        """Write the option that shows the control's behaviour."""
        await self.wait()
        written = with_thought(self._reasoning, DECISIONS[self._shows], self._text(), summary=self._scenario.query)
        text, thought = split_reasoning(written)
        return ModelTurn(raw_text=written, text=text, reasoning=thought)

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        """Answer, or make the call of the option."""
        if self._shows is not Behaviour.TOOL_CALL:
            return await self.complete("", settings)
        await self.wait()
        call = json.loads(self._text())
        return ModelTurn(tool_calls=(ToolCall(id="call-1", name=call["name"], arguments=call.get("arguments", {})),), stop="tool_calls")

    def render_chat(self, messages: Sequence[dict[str, str]], tools: Sequence[JsonObject]) -> str:
        """Refuse: a control has no tokenizer."""
        raise PrerequisiteError(f"{self.name} has no chat template; use --template default.")

    def _text(self) -> str:
        return self._target.text_of(self._shows) or ""
