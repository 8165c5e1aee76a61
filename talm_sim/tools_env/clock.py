"""Time as the environment knows it: real for live tools, virtual for recorded ones."""

from __future__ import annotations

import asyncio
from typing import Protocol

__all__ = ["Clock", "RealClock", "VirtualClock"]


class Clock(Protocol):
    """Waits on behalf of slow, stuck or rate-limited tools."""

    async def sleep(self, seconds: float) -> None:
        """Wait, or pretend to."""
        ...


class RealClock:
    """Waits for real."""

    async def sleep(self, seconds: float) -> None:
        """Wait `seconds`."""
        await asyncio.sleep(seconds)


class VirtualClock:
    """Does not wait: a replay of a slow tool need not be slow. `slept` sums the seconds pretended."""

    def __init__(self) -> None:
        self.slept = 0.0

    async def sleep(self, seconds: float) -> None:
        """Count `seconds` and return at once."""
        self.slept += seconds
