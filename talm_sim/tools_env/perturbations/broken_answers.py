"""Perturbations of an endpoint's answer: an error in its place, a late answer or none, and a damaged body."""

from __future__ import annotations

import json
from dataclasses import replace
from http import HTTPStatus
from typing import ClassVar

from pydantic import Field

from talm_sim.tools_env.perturbations.base import Call, Outcome, Perturbation
from talm_sim.tools_env.perturbations.options import PerturbationOptions


class _HttpError(Perturbation):
    """Answer with an HTTP error in the tool's place."""

    status: ClassVar[HTTPStatus]

    async def before(self, call: Call) -> Outcome:
        """Return the error."""
        return Outcome(self.status.value, json.dumps({"detail": self.status.phrase}).encode())


class Http401(_HttpError):
    """The caller's credentials are not taken; another try does not help."""

    name, summary, status = "http-401", "answer 401 Unauthorized", HTTPStatus.UNAUTHORIZED
    permanent = True


class Http403(_HttpError):
    """The caller may not; another try does not help."""

    name, summary, status = "http-403", "answer 403 Forbidden", HTTPStatus.FORBIDDEN
    permanent = True


class Http404(_HttpError):
    """Nothing is found at the endpoint's address."""

    name, summary, status = "http-404", "answer 404 Not Found", HTTPStatus.NOT_FOUND
    permanent = True


class Http410(_HttpError):
    """The endpoint was switched off, and nothing takes its place."""

    name, summary, status = "http-410", "answer 410 Gone", HTTPStatus.GONE
    permanent = True


class Http500(_HttpError):
    """The endpoint fails."""

    name, summary, status = "http-500", "answer 500 Internal Server Error", HTTPStatus.INTERNAL_SERVER_ERROR


class Http503(_HttpError):
    """The endpoint is down for now."""

    name, summary, status = "http-503", "answer 503 Service Unavailable", HTTPStatus.SERVICE_UNAVAILABLE


class Http429(_HttpError):
    """The caller asks too often. The agent reads how long to wait; whether it tries again is up to it."""

    name, summary, status = "http-429", "answer 429 Too Many Requests with Retry-After", HTTPStatus.TOO_MANY_REQUESTS

    class Options(PerturbationOptions):
        """The wait it asks for."""

        retry_after: float = Field(2.0, ge=0, description="Seconds that the caller is asked to wait.")

    options: Options

    async def before(self, call: Call) -> Outcome:
        """Return the error, with the wait."""
        return replace(await super().before(call), retry_after=self.options.retry_after)


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


def _cut(outcome: Outcome, length: int) -> Outcome | None:
    """Cut the body; None if what is left is still JSON, as half of a number is: that is a wrong answer and not a broken one."""
    left = outcome.body[: max(1, length)]
    try:
        json.loads(left)
    except (ValueError, RecursionError):
        return replace(outcome, body=left)
    return None


class MalformedBody(Perturbation):
    """The answer is cut in the middle of its JSON."""

    name = "malformed-body"
    summary = "cut the answer in the middle of its JSON"

    async def after(self, call: Call, outcome: Outcome) -> Outcome | None:
        """Cut the body in half."""
        return _cut(outcome, len(outcome.body) // 2)


class TruncatedBody(Perturbation):
    """The transfer ends early: the agent reads an error with the part that came, in which the value that it needs may be."""

    name = "truncated-body"
    summary = "end the transfer after a share of the answer"

    class Options(PerturbationOptions):
        """How much comes."""

        share: float = Field(0.9, ge=0, lt=1, title="a share", description="Share of the answer that comes.")

    options: Options

    async def after(self, call: Call, outcome: Outcome) -> Outcome | None:
        """Cut the body after the share."""
        return _cut(outcome, int(len(outcome.body) * self.options.share))


class EmptyResult(Perturbation):
    """The answer is well-formed, says success and holds nothing."""

    name = "empty-result"
    summary = "answer 200 with an empty object"
    silent = True
    origin = "an empty object"

    async def after(self, call: Call, outcome: Outcome) -> Outcome:
        """Replace the body."""
        return replace(outcome, status=200, body=b"{}")
