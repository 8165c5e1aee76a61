"""Model traffic under the recordings: a transport for httpx2, on which both LLM SDKs run."""

from __future__ import annotations

import json
from functools import partial

import httpx2

from talm_sim.models.endpoint import KEEP, LOGICAL_HOST, LOGICAL_URL
from talm_sim.models.metering import note_http_request
from talm_sim.models.retries import is_retryable, is_retryable_code
from talm_sim.models.server_client import ServerClient
from talm_sim.recordings.http_exchange import HttpRequest, HttpResponse
from talm_sim.recordings.player import current_player


class RecordingTransport(httpx2.AsyncBaseTransport):
    """Answers from the running episode's recording, else from the network.

    `current_player` names that recording, so one client serves all episodes. Without one, requests pass straight through.
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport | None = None, *, model: str = "") -> None:
        self._line = ServerClient(inner, model=model)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request."""
        if (player := current_player.get()) is None:
            return await self._line.handle_async_request(request)
        note_http_request()
        headers = {"content-type": request.headers.get("content-type", "")}
        logical = HttpRequest(request.method, _logical_url(request), headers, await request.aread())
        if (recorded := player.lookup(logical)) is not None:
            headers_sent = [
                (name.encode(errors="replace"), value.encode(errors="replace")) for name, value in recorded.headers
            ]  # as bytes: text would have to be ASCII
            return httpx2.Response(recorded.status, headers=headers_sent, content=recorded.body, request=request)
        response = await self._line.handle_async_request(request)
        # A replay never tries again, so it must not begin with a passing failure.
        keep = partial(player.record, logical, _to_recorded(request, response))
        if LOGICAL_URL in request.extensions:
            response.extensions[KEEP] = keep  # who reads it knows whether it is a failure
        elif not is_retryable(response.status_code, response.headers) and not _is_passing_failure(response.content):
            keep()
        return response

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._line.aclose()


def _to_recorded(request: httpx2.Request, response: httpx2.Response) -> HttpResponse:
    headers = tuple(
        (name, _relative_location(value, request.url) if name.lower() == "location" else value)
        for name, value in response.headers.multi_items()
    )
    return HttpResponse(response.status_code, response.reason_phrase, headers, response.content)


def _is_passing_failure(body: bytes) -> bool:
    """Return whether a response is an upstream's passing failure, which some routers report with HTTP 200."""
    if b'"error"' not in body:
        return False
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return False
    error = answer.get("error") if isinstance(answer, dict) else None
    return isinstance(error, dict) and is_retryable_code(str(error.get("code")))


def _logical_url(request: httpx2.Request) -> str:
    """Return where a recording files the request: without an address."""
    named = request.extensions.get(LOGICAL_URL)
    return named if isinstance(named, str) else LOGICAL_HOST + request.url.raw_path.decode("ascii")


def _relative_location(location: str, base: httpx2.URL) -> str:
    """Return a redirect on the server itself without the server's address."""
    target = base.join(location)
    same = (target.scheme, target.netloc) == (base.scheme, base.netloc)
    return target.raw_path.decode("ascii") if same else location
