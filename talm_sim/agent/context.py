"""The context that the nodes of every graph receive, and the way a foreseen failure ends an episode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from talm_sim.agent.faulty_model import ModelFaults
from talm_sim.agent.open_requests import OpenRequests
from talm_sim.common.turn_notes import note_turn
from talm_sim.errors import BlockedError, CassetteMissError, ContextOverflowError, ProviderError
from talm_sim.models.asked import BLOCKS, check_asked
from talm_sim.models.base import ASK_HUMAN, GenerationSettings, Model
from talm_sim.models.wire_messages import holds_more_than_text
from talm_sim.tools_env.environment import EpisodeTools
from talm_sim.tools_env.perturbations import ModelRequestError
from talm_sim.types import FINISH, JsonObject, ModelTurn, Scenario, Termination, ToolCall, ToolSpec


@dataclass(frozen=True, slots=True)
class EpisodeContext:
    """The objects that nodes need and no checkpoint keeps: they are passed again on every resume."""

    scenario: Scenario
    model: Model
    """The model, without injected faults: what is asked besides the agent's own turns goes to it."""
    settings: GenerationSettings
    """Sampling settings with the episode's own seed."""
    tools: EpisodeTools | None = None
    """The tools; None if no tool is executed."""
    offered: tuple[ToolSpec, ...] = ()
    """The tools the model may be shown: the environment's, `ask_human` where there is a human, `Finish` where its call ends the episode."""
    faults: ModelFaults | None = None
    """The faults that are injected into the model's answers; None if no tool is executed."""
    values: bool = False
    """Whether the answer gives a value for each fact, in place of words."""
    forms: OpenRequests | None = None
    """What tools ask of the person while calls run; None where there is nobody, or no tool is executed."""

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], asked: Mapping[str, Any] | None = None) -> ModelTurn:
        """Generate one turn of the agent, with the faults that are injected into it.

        Raises:
            ModelRequestError: A fault lets the request fail.
            Exception: Whatever the model raises; see `Model.generate`.
        """
        note_turn(1 + sum(isinstance(message, AIMessage) for message in messages))
        settings = self.settings
        if asked is not None:
            passes, more = getattr(self.model, "passes_on", ()), [BLOCKS] if holds_more_than_text(messages) else []
            check_asked(
                self.model.name,
                passes,
                [*(key for key in asked if asked[key] != "auto" and (key != "strict" or any(asked[key].values()))), *more],
            )
            settings = replace(settings, asked={key: value for key, value in asked.items() if key in passes})
        if self.faults is None:
            return await self.model.generate(messages, tools, settings)
        return await self.faults.generate(self.model, messages, tools, settings)

    def shown(self, number: int) -> tuple[ToolSpec, ...]:
        """Return the tools that the model is shown in one of the user's turns, counted from 0: all but those that a later one adds."""
        later = {name for turn in self.scenario.user_turns[number + 1 :] for name in turn.tools_added}
        if not later or self.tools is None:
            return self.offered
        return tuple(tool for tool in self.offered if self.tools.real_name(tool.name) not in later)

    @property
    def human(self) -> bool:
        """Whether there is somebody to ask."""
        return any(tool.name == ASK_HUMAN for tool in self.offered)

    @property
    def finishes(self) -> bool:
        """Whether only a call of `Finish` answers; else a turn without a call does."""
        return any(tool.name == FINISH for tool in self.offered)

    def answer_in(self, turn: ModelTurn) -> str | None:
        """Return the answer that a turn gives to the user; None if it gives none."""
        if self.finishes:
            return None if self.values and self.values_in(turn) is None else turn.final_answer
        return None if turn.tool_calls or turn.unparsable_calls else turn.text

    def values_in(self, turn: ModelTurn) -> JsonObject | None:
        """Return the values that the answer of a turn gives; None where it is words, or they are no object."""
        if not (self.values and self.finishes):
            return None
        given = next(
            (call.arguments.get("values") for call in turn.tool_calls if call.name == FINISH and "final_answer" in call.arguments), None
        )
        return {} if given is None else given if isinstance(given, dict) else None

    def question_in(self, call: ToolCall) -> str:
        """Return the question that a call asks the person; empty for a call of a tool, and if nothing is asked or there is nobody."""
        question = str(call.arguments.get("question", "")) if self.human and call.name == ASK_HUMAN else ""
        return question if question.strip() else ""


FORESEEN = (CassetteMissError, ProviderError, ModelRequestError)
"""Failures of a model or a tool that are not bugs, injected ones among them: they end the episode, so that what happened before is kept."""


_ENDS = {
    CassetteMissError: Termination.REPLAY_MISS,
    ContextOverflowError: Termination.CONTEXT_OVERFLOW,
    BlockedError: Termination.BLOCKED,
}


def failure_state(err: Exception) -> dict[str, Any]:
    """Return the state with which a foreseen failure ends an episode."""
    if isinstance(err, ModelRequestError):
        return {"termination": Termination.AGENT_ERROR, "error": f"injected fault {err.fault}: {err}", "injected": err.fault}
    end = next((end for kind, end in _ENDS.items() if isinstance(err, kind)), Termination.INFRASTRUCTURE_ERROR)
    return {"termination": end, "error": str(err)}
