"""Let a tool ask a person while a call of it runs: the call's episode sets whom, and the tool's source asks."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from talm_sim.types import Decision, Form

AskPerson = Callable[[Form], Coroutine[Any, Any, Decision]]
"""Puts a form to the person of an episode, and returns what was decided."""

current_person: ContextVar[AskPerson | None] = ContextVar("talm_sim_current_person", default=None)
"""Whom a tool may ask during the running call; None where the episode has nobody."""


class PersonClock:
    """Measures how long a call waits for the person whom its tool asks."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._asking = 0
        self._since = 0.0

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Measure what is asked in the block; of what is asked at the same time, the time counts once."""
        ask = current_person.get()

        async def watched(form: Form) -> Decision:
            assert ask is not None
            if not self._asking:
                self._since = time.perf_counter()
            self._asking += 1
            try:
                return await ask(form)
            finally:
                self._asking -= 1
                if not self._asking:
                    self.seconds += time.perf_counter() - self._since

        with asking_person(None if ask is None else watched):
            yield


@contextmanager
def asking_person(ask: AskPerson | None) -> Iterator[None]:
    """Let the calls of the block ask a person."""
    token = current_person.set(ask)
    try:
        yield
    finally:
        current_person.reset(token)
