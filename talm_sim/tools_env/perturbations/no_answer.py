"""Perturbations that delay the answer to a call, or drop it."""

from __future__ import annotations

from pydantic import Field

from talm_sim.tools_env.perturbations.base import Call, Outcome, Perturbation
from talm_sim.tools_env.perturbations.options import PerturbationOptions


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


class Hang(Timeout):
    """The connection stays open and nothing comes, until the caller gives up.

    The agent reads the same as of a timeout, much later: your own agent may reach its own time limit first.
    """

    name = "hang"
    summary = "keep the connection open without an answer until the caller gives up"

    class Options(Timeout.Options):
        """The caller's patience."""

        seconds: float = Field(120.0, ge=0, description="Seconds until the caller gives up.")

    options: Options


class Slow(Perturbation):
    """The answer is right and comes late. No text changes: a model cannot see it, but the time limit of your own agent may end the episode."""

    name = "slow"
    summary = "answer late"
    silent = True

    class Options(PerturbationOptions):
        """How late."""

        seconds: float = Field(5.0, gt=0, description="Seconds that the answer is late.")

    options: Options

    async def before(self, call: Call) -> Outcome | None:
        """Wait, then let the call through."""
        await call.clock.sleep(self.options.seconds)
        return None


class ConnectionReset(Perturbation):
    """The connection breaks before an answer comes."""

    name = "connection-reset"
    summary = "break the connection before the answer"

    async def before(self, call: Call) -> Outcome | None:
        """Break."""
        return Outcome(None, error="connection_reset")
