"""How long foreign code took: the time in which something else blocked the loop that it shares is not its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from talm_sim.foreign.loop import blocks, current_foreign_work
from talm_sim.foreign.threads import Work

__all__ = ["ForeignClock", "in_time"]

_BEAT_S = 0.2
"""How often it is looked whose time it is."""
_WAITING_BEAT_S = 1.0
_SHORTEST_S = 0.02
_LEFT_OVER_S = 5.0
"""What was left running when nobody waited for it any more may block the loop for so long."""


class ForeignClock:
    """Counts the time of some work.

    Args:
        work: Whose time it is.
        seconds: What it may take.
    """

    def __init__(self, work: Work, seconds: float) -> None:
        self._work = work
        self._left = seconds
        self._counted = 0.0

    async def run_out(self, *, waiting: bool = False) -> None:
        """Count until its time is over; cancelled before, it can go on later.

        Args:
            waiting: The work waits for a person, so that only the time counts in which it blocks the loop all the same.
        """
        self._counted = time.monotonic()
        try:
            while self._left > 0:
                await asyncio.sleep(_WAITING_BEAT_S if waiting else min(_BEAT_S, max(self._left, _SHORTEST_S)))
                self._count(waiting)
        except asyncio.CancelledError:
            self._count(waiting)
            raise

    async def place(self) -> str:
        """In words, file and line where the work is; empty where that is not known."""
        if found := await blocks(self._work):
            return f"it blocked the event loop of all agents at {found.place}"
        return self._work.place()

    def _count(self, waiting: bool) -> None:
        found, now = current_foreign_work(), time.monotonic()
        if found is None:
            runs = not waiting
        else:
            runs = found.is_of(self._work) and not (waiting and found.work is None)
            if not runs and found.work is not None and found.work.over and found.seconds > _LEFT_OVER_S:
                found.give_up()
        self._left -= now - self._counted if runs else 0.0
        self._counted = now


@asynccontextmanager
async def in_time(work: Work, seconds: float) -> AsyncIterator[None]:
    """As `asyncio.timeout`, by such a clock.

    Raises:
        TimeoutError: Its time is over.
    """
    clock = ForeignClock(work, seconds)

    async def end() -> None:
        await clock.run_out()
        limit.reschedule(0.0)

    try:
        async with asyncio.timeout(None) as limit:
            ending = asyncio.create_task(end())
            yield
    finally:
        ending.cancel()
