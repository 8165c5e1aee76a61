"""The model turn that the current episode is at, for whoever watches the run."""

from __future__ import annotations

from contextvars import ContextVar

_TURN: ContextVar[list[int] | None] = ContextVar("_TURN", default=None)


def follow_turns() -> list[int]:
    """Return a list that always has the number of the turn of the episode that is played in this context; 0 before the first."""
    turn = [0]
    _TURN.set(turn)
    return turn


def note_turn(number: int) -> None:
    """Note that the model begins this turn."""
    if (turn := _TURN.get()) is not None:
        turn[0] = number
