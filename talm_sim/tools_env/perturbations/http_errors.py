"""Perturbations that make an endpoint answer with an error."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import ClassVar

from pydantic import Field

from talm_sim.tools_env.perturbations.base import Call, Outcome, Perturbation
from talm_sim.tools_env.perturbations.options import PerturbationOptions


class _HttpError(Perturbation):
    """Answer with an HTTP error in the tool's place."""

    status: ClassVar[HTTPStatus]

    async def before(self, call: Call) -> Outcome | None:
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

    async def before(self, call: Call) -> Outcome | None:
        """Return the error, with the wait."""
        return Outcome(self.status.value, json.dumps({"detail": self.status.phrase}).encode(), retry_after=self.options.retry_after)
