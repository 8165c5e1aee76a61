"""Find the user's turn that an episode is in: each ends with the agent's answer, and one may end with a person's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from talm_sim.agent.context import EpisodeContext
from talm_sim.scenarios.dialogue import as_messages, is_said
from talm_sim.types import HumanEvent, Scenario, Turn

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage


def user_turn(state: Mapping[str, Any], context: EpisodeContext, answered: Callable[[Scenario], int | None]) -> int:
    """Return the number of the user's turn, from 0."""
    turns = state.get("model_turns", ())
    ends = answered(context.scenario)
    number = sum(context.answer_in(turn) is not None for turn in turns)
    if ends is None:
        return number
    return number + any(isinstance(event, HumanEvent) and turns[event.turn].user_turn == ends for event in state.get("events", ()))


def new_words(state: Mapping[str, Any], turn: Turn) -> list[BaseMessage]:
    """Return what the user says in a turn; nothing if a person has just said it, as the answer to a question."""
    last = len(state.get("model_turns", ())) - 1
    answers = [event.answer for event in state.get("events", ()) if isinstance(event, HumanEvent) and event.turn == last]
    return [] if is_said(turn, answers) else as_messages(turn.messages)
