"""How the controls play a multi-turn row.

| control          | in a turn with right calls | in a turn without (`miss_func`, `miss_param`)  | passes                     |
|------------------|----------------------------|------------------------------------------------|----------------------------|
| oracle           | makes them, then answers   | says what it lacks                             | all                        |
| eager            | makes them, then answers   | calls at once what the next turn's calls call  | rows without such a turn   |
| cautious, asker  | answers or asks, no call   | the same                                       | none                       |

The oracle fails `multi_turn_base_154` of v3, whose ground truth has a turn too many. The eager one calls with the right values, although
nobody has said them, and so may pass a row in which a repeated call changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from talm_sim.models.base import GenerationSettings
from talm_sim.models.sim import ControlPolicy
from talm_sim.types import ModelTurn, Scenario, ToolCall, ToolSpec

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

__all__ = ["TurnsPolicy"]

_DONE = "That is done."
_DECLINES = "I cannot do that with what I have."
_ASKS = "Could you tell me more about what you need?"


class TurnsPolicy(ControlPolicy):
    """One control in one row. It keeps no state: the messages contain what was done so far."""

    def __init__(self, name: str, scenario: Scenario) -> None:
        super().__init__(name)
        self._turns = scenario.user_turns

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        """Make the calls of the turn, then answer."""
        from langchain_core.messages import HumanMessage

        await self.wait()
        said = [place for place, message in enumerate(messages) if isinstance(message, HumanMessage)]
        number = min(len(said), len(self._turns)) - 1
        if self.control in ("cautious", "asker"):
            return _text_turn(_ASKS if self.control == "asker" else _DECLINES)
        calls = self._turns[number].gold_calls
        if not calls and self.control == "eager" and number + 1 < len(self._turns):
            calls = self._turns[number + 1].gold_calls
        if not calls:
            return _text_turn(_ASKS)
        if len(messages) > said[-1] + 1:
            return _text_turn(_DONE)
        made = (ToolCall(id=f"gold-{number}-{index}", name=one.tool, arguments=one.arguments) for index, one in enumerate(calls))
        return ModelTurn(tool_calls=tuple(made), stop="tool_calls")


def _text_turn(text: str) -> ModelTurn:
    return ModelTurn(raw_text=text, text=text)
