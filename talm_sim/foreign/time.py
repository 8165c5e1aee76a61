"""Count how long the user's code took, without the time in which something else blocked the loop that it shares."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from talm_sim.foreign.loop import blocks, current_foreign_work
from talm_sim.foreign.threads import Work

_BEAT_S = 0.2
"""Seconds between two looks at whose time it is."""
_WAITING_BEAT_S = 1.0
_SHORTEST_S = 0.02
_LEFT_OVER_S = 5.0
"""Seconds for which work that nobody waits for any more may block the loop."""


class ForeignClock:
    """Counts the time of some work."""

    def __init__(self, work: Work, seconds: float) -> None:
        self._work = work
        self._left = seconds
        self._counted = 0.0

    async def run_out(self, *, waiting: bool = False) -> None:
        """Count until its time is over; if cancelled before, it can continue later.

        Args:
            waiting: Whether the work waits for a person; then only the time counts in which it blocks the loop anyway.
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
        """Say at which file and line the work is; empty if that is not known."""
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
    """Limit the block to some time, like `asyncio.timeout`, but counted by a `ForeignClock`."""
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
