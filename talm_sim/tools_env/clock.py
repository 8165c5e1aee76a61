"""The environment's time: real if a model acts live, virtual if nobody would gain by waiting."""

from __future__ import annotations

import asyncio
from typing import Protocol


class Clock(Protocol):
    """Waits on behalf of slow, stuck or rate-limited tools; each call has its own clock."""

    slept: float
    """Seconds of pretended waiting, which are added to the elapsed time."""
    waits: int
    """How often it was asked to wait."""

    async def sleep(self, seconds: float) -> None:
        """Wait, or pretend to."""
        ...


class RealClock:
    """Waits for real."""

    slept = 0.0

    def __init__(self) -> None:
        self.waits = 0

    async def sleep(self, seconds: float) -> None:
        """Wait `seconds`."""
        self.waits += 1
        await asyncio.sleep(seconds)


class VirtualClock:
    """A clock that does not wait: neither a replay nor a script need be slow because a tool is."""

    def __init__(self) -> None:
        self.slept = 0.0
        self.waits = 0

    async def sleep(self, seconds: float) -> None:
        """Count `seconds` and return at once."""
        self.waits += 1
        self.slept += seconds
