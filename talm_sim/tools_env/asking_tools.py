"""Let a tool ask a person: while a call of it runs, or by a call that ends with questions and is made again with the answers.

The call's episode sets whom, and the tool's source asks.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

from talm_sim.types import Decision, Form

AskPerson = Callable[[Form], Coroutine[Any, Any, Decision]]
"""Puts a form to the person of an episode, and returns what was decided."""

current_person: ContextVar[AskPerson | None] = ContextVar("talm_sim_current_person", default=None)
"""Whom a tool may ask during the running call; None where the episode has nobody."""

_T = TypeVar("_T")


class CallPaused(Exception):
    """A call has ended with `forms` for the person; it is made again with their decisions and what is `kept`, also by a checkpoint."""

    def __init__(self, forms: Sequence[Form], kept: dict[str, Any]) -> None:
        self.forms, self.kept = forms, kept


class Again(NamedTuple):
    """What a call is made again with: what was kept of it, and the person's decisions, in the order of the forms."""

    kept: dict[str, Any]
    decisions: Sequence[Decision]


made_again: ContextVar[Again | None] = ContextVar("talm_sim_made_again", default=None)
"""What the running call is made again with; None for one that is made for the first time."""


async def call_in_rounds(make: Callable[[], Awaitable[_T]], again: Again | None = None, *, pauses: bool = False) -> _T:
    """Make a call as often as it ends with forms, which are put to the person at once, unless `CallPaused` is raised as it `pauses`."""
    while True:
        token = made_again.set(again)
        try:
            return await make()
        except CallPaused as err:
            ask = current_person.get()
            if pauses or ask is None:
                raise
            again = Again(err.kept, await asyncio.gather(*map(ask, err.forms)))
        finally:
            made_again.reset(token)


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
