"""Play a multi-turn row as each control.

| control         | in a turn with right calls | in a turn without any                        | passes of the 800 rows (v4)      |
|-----------------|----------------------------|----------------------------------------------|----------------------------------|
| oracle          | makes them, then answers   | asks: the person, if there is one            | 800                              |
| eager           | makes them, then answers   | makes those of the next turn, then answers   | 199, 144, 128 and 199 of 200     |
| cautious, asker | says or asks something     | the same; the asker asks as the oracle does  | 0                                |

In the turn of `multi_turn_miss_param` that lacks a value, a person may be asked. Where there is one, Inter is 1 for the oracle and the asker,
and 0 for the others.

In v3, no answer passes `multi_turn_base_154`. The eager one shows how little the check says of such a turn: what it does there is right before
it was asked for, and passes wherever doing it twice leaves the same state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from talm_sim.models.base import ASK_HUMAN, GenerationSettings
from talm_sim.models.sim import ControlPolicy
from talm_sim.scenarios.dialogue import is_said
from talm_sim.tasks.refusal.bfcl.turn_rows import answered_turn
from talm_sim.types import ModelTurn, Scenario, ToolCall, ToolSpec

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

_DONE = "That is done."
_DECLINES = "I cannot do that with what I have."
_ASKS = "Could you tell me more about what you need?"


class TurnsPolicy(ControlPolicy):
    """One control in one row. It keeps no state: the messages contain what was done so far."""

    def __init__(self, name: str, scenario: Scenario) -> None:
        super().__init__(name)
        self._turns = scenario.user_turns
        self._asked_turn = answered_turn(scenario)

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        """Make the calls of the turn, then answer."""
        await self.wait()
        said = self._places_of_turns(messages)
        number = len(said) - 1
        asks = number == self._asked_turn and any(tool.name == ASK_HUMAN for tool in tools)
        if self.control == "cautious":
            return _text_turn(_DECLINES)
        if self.control == "asker":
            return _ask(number) if asks else _text_turn(_ASKS)
        calls = self._turns[number].gold_calls
        if not calls and self.control == "eager" and number + 1 < len(self._turns):
            calls = self._turns[number + 1].gold_calls
        if not calls:
            return _ask(number) if asks else _text_turn(_ASKS)
        if len(messages) > said[-1] + 1:
            return _text_turn(_DONE)
        made = (ToolCall(id=f"gold-{number}-{index}", name=one.name, arguments=one.arguments) for index, one in enumerate(calls))
        return ModelTurn(tool_calls=tuple(made), stop="tool_calls")

    def _places_of_turns(self, messages: Sequence[BaseMessage]) -> list[int]:
        """Return the places of the messages with which the user's turns begin; one of them may be a person's answer."""
        from langchain_core.messages import HumanMessage, ToolMessage

        said: list[int] = []
        for place, message in enumerate(messages):
            if len(said) == len(self._turns):
                break
            answers = [message.text] if isinstance(message, ToolMessage) and message.name == ASK_HUMAN else []
            if isinstance(message, HumanMessage) or is_said(self._turns[len(said)], answers):
                said.append(place)
        return said


def _ask(number: int) -> ModelTurn:
    return ModelTurn(tool_calls=(ToolCall(id=f"ask-{number}", name=ASK_HUMAN, arguments={"question": _ASKS}),), stop="tool_calls")


def _text_turn(text: str) -> ModelTurn:
    return ModelTurn(raw_text=text, text=text)
