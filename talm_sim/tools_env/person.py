"""How a tool asks a person while a call of it runs: the call's episode sets whom, and the tool's source asks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from talm_sim.types import Decision, Form

__all__ = ["AskPerson", "asking_person", "current_person"]

AskPerson = Callable[[Form], Awaitable[Decision]]
"""Puts a form to the person of an episode, and returns what was decided."""

current_person: ContextVar[AskPerson | None] = ContextVar("talm_sim_current_person", default=None)
"""Whom a tool may ask during the running call; None where the episode has nobody."""


@contextmanager
def asking_person(ask: AskPerson | None) -> Iterator[None]:
    """Let the calls of the block ask a person."""
    token = current_person.set(ask)
    try:
        yield
    finally:
        current_person.reset(token)
