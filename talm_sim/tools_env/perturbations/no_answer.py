"""Calls that never get an answer."""

from __future__ import annotations

from typing import ClassVar

from talm_sim.tools_env.clock import Clock
from talm_sim.tools_env.perturbations.base import Outcome, Perturbation, register

__all__ = ["ConnectionReset", "Timeout"]


@register
class Timeout(Perturbation):
    """The tool does not answer within `seconds`; the wait is on the environment's clock, so a replay does not sit through it."""

    name = "timeout"
    summary = "let the call time out (seconds=N, default 10)"
    options: ClassVar[dict[str, str]] = {"seconds": "10"}

    async def before(self, clock: Clock) -> Outcome | None:
        """Wait, then give up."""
        await clock.sleep(self.values["seconds"])
        return Outcome(None, error="timeout")


@register
class ConnectionReset(Perturbation):
    """The connection breaks before an answer comes."""

    name = "connection-reset"
    summary = "break the connection before the answer"

    async def before(self, clock: Clock) -> Outcome | None:
        """Break."""
        return Outcome(None, error="connection_reset")
