"""An HTTP transport for the MCP client that reads no more of an answer than may be read: the client itself has no such limit for JSON."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, cast

from talm_sim.tools_env.sources.limits import AnswerTooLarge, Unpacker

if TYPE_CHECKING:
    import httpx2

__all__ = ["is_too_large", "limited_transport"]

_MARK = "talm-sim: answer too large"
_OF_THE_CLIENT = "Server-sent event exceeded the "


def is_too_large(message: str) -> bool:
    """Whether the client's error says that an answer was too large."""
    return _MARK in message or _OF_THE_CLIENT in message


def limited_transport() -> httpx2.AsyncBaseTransport:
    """Make the transport. What is posted is answered within the limit; a stream that the client listens on has one for each event."""
    import httpx2  # not at the top: only an address needs it

    class TooLarge(httpx2.SSEError, httpx2.StreamError):
        """Both, as the client takes the one from a stream of events for the end of a call, and the other from a JSON answer."""

        def __init__(self) -> None:
            httpx2.SSEError.__init__(self, _MARK)

    class Limited(httpx2.AsyncByteStream):
        def __init__(self, stream: httpx2.AsyncByteStream, encoding: str) -> None:
            self._stream = stream
            self._unpacker = Unpacker(encoding)

        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                async for part in self._stream:
                    yield self._unpacker.feed(part)
            except AnswerTooLarge:
                raise TooLarge from None
            except zlib.error as err:
                raise httpx2.DecodingError(str(err)) from None

        async def aclose(self) -> None:
            await self._stream.aclose()

    class Transport(httpx2.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            found = await super().handle_async_request(request)
            if request.method != "POST":
                return found
            headers = [(name, value) for name, value in found.headers.raw if name.lower() != b"content-encoding"]
            stream = Limited(cast(httpx2.AsyncByteStream, found.stream), found.headers.get("content-encoding", ""))
            return httpx2.Response(found.status_code, headers=headers, stream=stream, extensions=found.extensions)

    return Transport(trust_env=False)
