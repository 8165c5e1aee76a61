"""Endpoints that answer with an error."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import ClassVar

from talm_sim.tools_env.clock import Clock
from talm_sim.tools_env.perturbations.base import Outcome, Perturbation, register

__all__ = ["Http404", "Http429", "Http500", "Http503"]


class _HttpError(Perturbation):
    """Answer with an HTTP error in the tool's place."""

    status: ClassVar[HTTPStatus]

    async def before(self, clock: Clock) -> Outcome | None:
        """Return the error."""
        return Outcome(self.status.value, json.dumps({"detail": self.status.phrase}).encode(), retry_after=self.values.get("retry_after"))


@register
class Http404(_HttpError):
    """The endpoint is gone."""

    name, summary, status = "http-404", "answer 404 Not Found", HTTPStatus.NOT_FOUND


@register
class Http500(_HttpError):
    """The endpoint fails."""

    name, summary, status = "http-500", "answer 500 Internal Server Error", HTTPStatus.INTERNAL_SERVER_ERROR


@register
class Http503(_HttpError):
    """The endpoint is down for now."""

    name, summary, status = "http-503", "answer 503 Service Unavailable", HTTPStatus.SERVICE_UNAVAILABLE


@register
class Http429(_HttpError):
    """The caller asks too often. The agent sees the wait (option `retry_after`, seconds); whether it tries again is its affair."""

    name, summary, status = "http-429", "answer 429 Too Many Requests with Retry-After (retry_after=SECONDS)", HTTPStatus.TOO_MANY_REQUESTS
    options: ClassVar[dict[str, str]] = {"retry_after": "2"}
