"""Model traffic under the recordings: a transport for httpx2, on which both LLM SDKs run."""

from __future__ import annotations

import httpx2

from talm_sim.tools_env.cassettes.http import HttpRequest, HttpResponse
from talm_sim.tools_env.cassettes.tape import current_player

__all__ = ["LOGICAL_MODEL_HOST", "RecordingTransport"]

LOGICAL_MODEL_HOST = "http://model.invalid"
"""Stands for whatever address the model has, so a recording holds none."""
_REWRITTEN = frozenset({"content-encoding", "content-length", "transfer-encoding"})
"""Headers that no longer fit once the body is decoded."""


def _is_passing(status: int) -> bool:
    """Whether an answer is a hiccup that is tried again: a replay, which never tries again, must not begin with it."""
    return status in {408, 409, 429} or status >= 500


class RecordingTransport(httpx2.AsyncBaseTransport):
    """Answers from the running episode's recording, else from the network.

    Which recording that is stands in `current_player`, so one client serves all episodes. Without one, requests pass straight through.

    Args:
        inner: The real transport; one is shared by all episodes, since its SSL context alone costs 17 ms. Made when first needed.
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport | None = None) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request.

        Raises:
            CassetteMissError: In replay, the request was not recorded.
        """
        player = current_player.get()
        if player is None:
            return await self._live().handle_async_request(request)
        headers = {"content-type": request.headers.get("content-type", "")}
        logical = HttpRequest(request.method, LOGICAL_MODEL_HOST + request.url.raw_path.decode("ascii"), headers, await request.aread())
        recorded = player.lookup(logical)
        if recorded is None:
            recorded = await self._send(request)
            if not _is_passing(recorded.status):
                player.record(logical, recorded)
        return httpx2.Response(recorded.status, headers=list(recorded.headers), content=recorded.body, request=request)

    async def _send(self, request: httpx2.Request) -> HttpResponse:
        response = await self._live().handle_async_request(request)
        try:
            body = await response.aread()
        finally:
            await response.aclose()
        headers = tuple((name, value) for name, value in response.headers.multi_items() if name.lower() not in _REWRITTEN)
        return HttpResponse(response.status_code, response.reason_phrase, headers, body)

    def _live(self) -> httpx2.AsyncBaseTransport:
        if self._inner is None:
            self._inner = httpx2.AsyncHTTPTransport()
        return self._inner

    async def aclose(self) -> None:
        """Close the real transport."""
        if self._inner is not None:
            await self._inner.aclose()
