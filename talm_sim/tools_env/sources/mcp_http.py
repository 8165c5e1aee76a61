"""The HTTP transport below the MCP client: it limits the time and size of each answer, and one that breaks fails alone."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, cast

import httpx2
from mcp.client.streamable_http import streamable_http_client

from talm_sim.common import http_body
from talm_sim.tools_env.sources import base
from talm_sim.tools_env.sources.mcp_wall import TOO_LARGE

UNASKED_S: Final = 5.0
"""Seconds for a message that expects no answer: all others wait for it."""
_RESUMED_S: Final = 0.5
"""Seconds before an answer that broke off is asked for again."""
_FAILED: Final = -32603


class _BrokenStreamError(httpx2.SSEError, httpx2.StreamError):
    """An error of both kinds: the client takes one as the end of a call from a stream of events, and the other from a JSON answer."""

    def __init__(self, message: str) -> None:
        httpx2.SSEError.__init__(self, message)


@asynccontextmanager
async def connect_http(place: str, secret: str | None, seconds: float, call_seconds: float) -> AsyncIterator[tuple[Any, Any]]:
    """Yield the streams of the client's messages: those from the server, and those to it.

    Args:
        place: The address.
        secret: A bearer token.
        seconds: How long a whole answer may take.
        call_seconds: How long the answer to a call of a tool may take.
    """
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    headers["Accept-Encoding"] = http_body.ACCEPTED_ENCODINGS
    timeout, transport = httpx2.Timeout(seconds, read=call_seconds), _LimitedTransport(seconds, call_seconds)
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout, trust_env=False, transport=transport) as http,
        streamable_http_client(place, http_client=http, max_sse_event_size=base.MOST_BYTES) as streams,
    ):
        yield streams


class _LimitedTransport(httpx2.AsyncHTTPTransport):
    def __init__(self, seconds: float, call_seconds: float) -> None:
        super().__init__(trust_env=False)
        self._seconds = seconds
        self._call_seconds = call_seconds
        self._last_asked = 0.0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request."""
        now = asyncio.get_running_loop().time()
        message = json.loads(request.content) if request.method == "POST" else {}
        if "method" in message and message.get("id") is not None:
            self._last_asked = now
            seconds = self._call_seconds if message["method"] == "tools/call" else self._seconds
            return await self._answer(request, message["id"], now + seconds)
        if request.method == "GET":
            # The client looks for the rest of an answer forever; without an answer's mark it asks for something nobody asked for.
            if "last-event-id" not in request.headers or now > self._last_asked + self._seconds:
                return httpx2.Response(405, request=request)
            await asyncio.sleep(_RESUMED_S)
            return await self._request_limited(request, now + self._seconds)
        try:
            return await self._request_limited(request, now + UNASKED_S)
        except (TimeoutError, httpx2.TransportError):
            return httpx2.Response(202, request=request)

    async def _answer(self, request: httpx2.Request, asked: Any, until: float) -> httpx2.Response:
        try:
            return await self._request_limited(request, until)
        except httpx2.ConnectError:
            raise
        except TimeoutError:
            told = "it took too long"
        except httpx2.TransportError as err:
            told = f"{type(err).__name__}: {err}"
        return httpx2.Response(200, json={"jsonrpc": "2.0", "id": asked, "error": {"code": _FAILED, "message": told}}, request=request)

    async def _request_limited(self, request: httpx2.Request, until: float) -> httpx2.Response:
        async with asyncio.timeout_at(until):
            found = await super().handle_async_request(request)
        headers = [(name, value) for name, value in found.headers.raw if name.lower() != b"content-encoding"]
        stream = _Limited(cast(httpx2.AsyncByteStream, found.stream), found.headers.get("content-encoding", ""), until)
        return httpx2.Response(found.status_code, headers=headers, stream=stream, extensions=found.extensions)


class _Limited(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, encoding: str, until: float) -> None:
        self._stream = stream
        self._until = until
        self._unpacker = http_body.Unpacker(encoding, base.MOST_BYTES)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        parts = aiter(self._stream)
        while True:
            try:
                async with asyncio.timeout_at(self._until):
                    part = await anext(parts, None)
                if part is None:
                    break
                part = self._unpacker.feed(part)
            except http_body.AnswerTooLarge:
                raise _BrokenStreamError(TOO_LARGE) from None
            except TimeoutError:
                raise _BrokenStreamError("it took too long") from None
            except (zlib.error, httpx2.TransportError) as err:
                raise _BrokenStreamError(f"{type(err).__name__}: {err}") from None
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()
