"""The HTTP transport below the MCP client: it limits the time and size of each answer, and one that breaks fails alone."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import AsyncIterator
from typing import Any, Final, cast

import httpx2

from talm_sim.tools_env.sources.limits import AnswerTooLarge, Unpacker
from talm_sim.tools_env.sources.mcp_limits import TOO_LARGE, Counts
from talm_sim.tools_env.sources.mcp_lists import Mender

__all__ = ["LimitedTransport"]

UNASKED_S: Final = 5.0
"""Seconds for a message that expects no answer: all others wait for it."""
_RESUMED_S: Final = 0.5
"""Seconds before an answer that broke off is asked for again."""
_FAILED: Final = -32603


class BrokenStreamError(httpx2.SSEError, httpx2.StreamError):
    """An error of both kinds: the client takes one as the end of a call from a stream of events, and the other from a JSON answer."""

    def __init__(self, message: str) -> None:
        httpx2.SSEError.__init__(self, message)


class LimitedTransport(httpx2.AsyncHTTPTransport):
    """Reads answers within limits.

    Args:
        seconds: How long a whole answer may take.
        call_seconds: How long the answer to a call of a tool may take.
    """

    def __init__(self, seconds: float, call_seconds: float) -> None:
        super().__init__(trust_env=False)
        self._seconds = seconds
        self._call_seconds = call_seconds
        self._last_asked = 0.0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request."""
        now = asyncio.get_running_loop().time()
        asked, method = _read_request_id(request.content) if request.method == "POST" else (None, "")
        if asked is not None:
            self._last_asked = now
            seconds = self._call_seconds if method == "tools/call" else self._seconds
            return await self._answer(request, asked, now + seconds, of_a_list=method == "tools/list")
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

    async def _answer(self, request: httpx2.Request, asked: Any, until: float, *, of_a_list: bool) -> httpx2.Response:
        try:
            return await self._request_limited(request, until, of_a_list=of_a_list)
        except httpx2.ConnectError:
            raise
        except TimeoutError:
            told = "it took too long"
        except httpx2.TransportError as err:
            told = f"{type(err).__name__}: {err}"
        return httpx2.Response(200, json={"jsonrpc": "2.0", "id": asked, "error": {"code": _FAILED, "message": told}}, request=request)

    async def _request_limited(self, request: httpx2.Request, until: float, *, of_a_list: bool = False) -> httpx2.Response:
        async with asyncio.timeout_at(until):
            found = await super().handle_async_request(request)
        headers = [(name, value) for name, value in found.headers.raw if name.lower() != b"content-encoding"]
        mender = Mender(found.headers.get("content-type", "")) if of_a_list else None
        stream = _Limited(cast(httpx2.AsyncByteStream, found.stream), found.headers.get("content-encoding", ""), until, mender)
        return httpx2.Response(found.status_code, headers=headers, stream=stream, extensions=found.extensions)


class _Limited(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, encoding: str, until: float, mender: Mender | None) -> None:
        self._stream = stream
        self._until = until
        self._mender = mender
        self._unpacker = Unpacker(encoding)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        parts, counts = aiter(self._stream), Counts()
        while True:
            try:
                async with asyncio.timeout_at(self._until):
                    part = await anext(parts, None)
                if part is None:
                    break
                part = self._unpacker.feed(part)
            except AnswerTooLarge:
                raise BrokenStreamError(TOO_LARGE) from None
            except TimeoutError:
                raise BrokenStreamError("it took too long") from None
            except (zlib.error, httpx2.TransportError) as err:
                raise BrokenStreamError(f"{type(err).__name__}: {err}") from None
            if counts.exceed(part):
                raise BrokenStreamError(TOO_LARGE)
            yield part if self._mender is None else self._mender.feed(part)
        if self._mender is not None:
            yield self._mender.finish()

    async def aclose(self) -> None:
        await self._stream.aclose()


def _read_request_id(content: bytes) -> tuple[Any, str]:
    """Return the id and the method of a request; None for a message that expects no answer."""
    message = json.loads(content)
    return (message.get("id"), message["method"]) if "method" in message else (None, "")
