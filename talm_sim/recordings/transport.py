"""Model traffic under the recordings: a transport for httpx2, on which both LLM SDKs run."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from urllib.request import getproxies, proxy_bypass

import httpx2

from talm_sim.models.endpoint import LOGICAL_HOST, LOGICAL_URL
from talm_sim.models.retries import is_retryable
from talm_sim.recordings.http import HttpRequest, HttpResponse
from talm_sim.recordings.player import Player, current_player

__all__ = ["RecordingTransport"]

_REWRITTEN = frozenset({"content-encoding", "content-length", "transfer-encoding"})
"""Headers that no longer fit once the body is decoded."""
_NO_LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=100)
"""Requests in flight are limited by the model; a second limit here would make them time out in a queue nobody sees."""
_STREAM_END = b"[DONE]"
"""The OpenAI protocol's last event; a client may close without reading the bytes after it."""


class RecordingTransport(httpx2.AsyncBaseTransport):
    """Answers from the running episode's recording, else from the network.

    Which recording that is stands in `current_player`, so one client serves all episodes. Without one, requests pass straight through.

    Args:
        inner: The real transport; by default one that all episodes share, since its SSL context alone costs 17 ms, made when first needed.
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport | None = None) -> None:
        self._inner = inner
        self._opened: dict[str | None, httpx2.AsyncBaseTransport] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request.

        Raises:
            CassetteMissError: In replay, the request was not recorded.
        """
        player = current_player.get()
        if player is None:
            return await self._live(request.url).handle_async_request(request)
        headers = {"content-type": request.headers.get("content-type", "")}
        logical = HttpRequest(request.method, _logical_url(request), headers, await request.aread())
        recorded = player.lookup(logical)
        if recorded is not None:
            return httpx2.Response(recorded.status, headers=list(recorded.headers), content=recorded.body, request=request)
        response = await self._live(request.url).handle_async_request(request)
        # A replay never tries again, so it must not begin with a failure that passed.
        if not is_retryable(response.status_code, response.headers):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _Tee(response.stream, lambda body: _record(player, logical, request, response, body))
        return response

    def _live(self, url: httpx2.URL) -> httpx2.AsyncBaseTransport:
        if self._inner is not None:
            return self._inner
        # A client that is handed a transport no longer heeds the proxies of the environment by itself.
        proxies = {} if proxy_bypass(url.host) else getproxies()
        proxy = proxies.get(url.scheme) or proxies.get("all")
        if proxy is not None and "://" not in proxy:
            proxy = f"http://{proxy}"
        if proxy not in self._opened:
            self._opened[proxy] = httpx2.AsyncHTTPTransport(limits=_NO_LIMITS, proxy=proxy)
        return self._opened[proxy]

    async def aclose(self) -> None:
        """Close the real transports."""
        for transport in (*self._opened.values(), *([self._inner] if self._inner else [])):
            await transport.aclose()


class _Tee(httpx2.AsyncByteStream):
    """Hands a live body on as it comes, and, once it is whole, to `finish`; one that breaks off is not recorded."""

    def __init__(self, inner: httpx2.AsyncByteStream, finish: Callable[[bytes], None]) -> None:
        self._inner = inner
        self._finish: Callable[[bytes], None] | None = finish
        self._chunks: list[bytes] = []

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner:
            self._chunks.append(chunk)
            yield chunk
        self._end()

    async def aclose(self) -> None:
        """Close the live stream."""
        await self._inner.aclose()
        if _STREAM_END in b"".join(self._chunks[-2:])[-64:]:
            self._end()

    def _end(self) -> None:
        finish, self._finish = self._finish, None
        if finish is not None:
            finish(b"".join(self._chunks))


def _record(player: Player, logical: HttpRequest, request: httpx2.Request, response: httpx2.Response, body: bytes) -> None:
    try:
        decoded = httpx2.Response(response.status_code, headers=response.headers, content=body).content
    except httpx2.DecodingError:
        return  # the client meets the same error, and tries again
    if _is_passing_failure(decoded):
        return
    headers = tuple(
        (name, _relative(value, request.url) if name.lower() == "location" else value)
        for name, value in response.headers.multi_items()
        if name.lower() not in _REWRITTEN
    )
    player.record(logical, HttpResponse(response.status_code, response.reason_phrase, headers, decoded))


def _is_passing_failure(body: bytes) -> bool:
    """Some routers report an upstream's passing failure under HTTP 200."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return False
    error = answer.get("error") if isinstance(answer, dict) else None
    code = str(error.get("code")) if isinstance(error, dict) else ""
    return code.isdecimal() and is_retryable(int(code), {})


def _logical_url(request: httpx2.Request) -> str:
    """Where a recording files the request: no address stands in it."""
    named = request.extensions.get(LOGICAL_URL)
    return named if isinstance(named, str) else LOGICAL_HOST + request.url.raw_path.decode("ascii")


def _relative(location: str, base: httpx2.URL) -> str:
    """A redirect on the server itself, without the server's address."""
    target = base.join(location)
    same = (target.scheme, target.netloc) == (base.scheme, base.netloc)
    return target.raw_path.decode("ascii") if same else location
