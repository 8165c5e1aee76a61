"""How the controls play a multi-turn row.

| control         | in a turn with right calls | in a turn without any                        | passes of the 800 rows (v4)      |
|-----------------|----------------------------|----------------------------------------------|----------------------------------|
| oracle          | makes them, then answers   | asks                                         | 800                              |
| eager           | makes them, then answers   | makes those of the next turn, then answers   | 199, 144, 128 and 199 of 200     |
| cautious, asker | says or asks something     | the same                                     | 0                                |

In v3, no answer passes `multi_turn_base_154`. The eager one shows how little the check says of such a turn: what it does there is right before
it was asked for, and passes wherever doing it twice leaves the same state.
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
