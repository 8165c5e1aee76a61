"""Calls that never get an answer."""

from __future__ import annotations

from pydantic import Field

from talm_sim.tools_env.perturbations.base import Call, Outcome, Perturbation
from talm_sim.tools_env.perturbations.options import PerturbationOptions

__all__ = ["ConnectionReset", "Timeout"]


class Timeout(Perturbation):
    """The tool does not answer in time; the wait is on the environment's clock, so a replay does not sit through it."""

    name = "timeout"
    summary = "let the call time out"

    class Options(PerturbationOptions):
        """How long it takes."""

        seconds: float = Field(10.0, ge=0, description="Seconds until the call times out.")

    options: Options

    async def before(self, call: Call) -> Outcome | None:
        """Wait, then give up."""
        await call.clock.sleep(self.options.seconds)
        return Outcome(None, error="timeout")


class ConnectionReset(Perturbation):
    """The connection breaks before an answer comes."""

    name = "connection-reset"
    summary = "break the connection before the answer"

    async def before(self, call: Call) -> Outcome | None:
        """Break."""
        return Outcome(None, error="connection_reset")
