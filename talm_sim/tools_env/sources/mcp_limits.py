"""How much of an MCP server's answers is read, and for how long, over HTTP: the client itself has no limit for a JSON answer, nor for all of one."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Final, cast

from talm_sim.tools_env.sources.limits import AnswerTooLarge, Unpacker

if TYPE_CHECKING:
    import httpx2

__all__ = ["TOO_LARGE", "has_too_many_values", "is_too_large", "limited_transport"]

TOO_LARGE: Final = "talm-sim: answer too large"
_OF_THE_CLIENT: Final = "Server-sent event exceeded the "
_BRACKETS: Final = 100_000
_COMMAS: Final = 1_000_000
_UNASKED_S: Final = 5.0
"""For a message that no answer is expected to: all others wait for it."""
_RESUMED_S: Final = 0.5
"""Before an answer that was broken off is asked for again."""


def is_too_large(message: str) -> bool:
    """Whether the client's error says that an answer was too large."""
    return TOO_LARGE in message or _OF_THE_CLIENT in message


def has_too_many_values(text: bytes, before: list[int] | None = None) -> bool:
    """Whether JSON holds more lists, objects and values than are read: in memory each takes a hundred times what it does in the text.

    Args:
        text: The JSON, or the next piece of it.
        before: The counts of the pieces before; this one's are added.
    """
    counts = before if before is not None else [0, 0]
    counts[0] += text.count(b"[") + text.count(b"{")
    counts[1] += text.count(b",")
    return counts[0] > _BRACKETS or counts[1] > _COMMAS


def limited_transport(seconds: float) -> httpx2.AsyncBaseTransport:
    """Make the transport. A broken, large or slow answer fails its own request and leaves the connection to the others.

    Args:
        seconds: How long a whole answer may take.
    """
    import httpx2  # not at the top: only an address needs it

    class Broken(httpx2.SSEError, httpx2.StreamError):
        """Both, as the client takes the one from a stream of events for the end of a call, and the other from a JSON answer."""

        def __init__(self, message: str) -> None:
            httpx2.SSEError.__init__(self, message)

    class Limited(httpx2.AsyncByteStream):
        def __init__(self, stream: httpx2.AsyncByteStream, encoding: str, until: float) -> None:
            self._stream = stream
            self._until = until
            self._unpacker = Unpacker(encoding)

        async def __aiter__(self) -> AsyncIterator[bytes]:
            parts, counts = aiter(self._stream), [0, 0]
            while True:
                try:
                    async with asyncio.timeout_at(self._until):
                        part = await anext(parts, None)
                    if part is None:
                        return
                    part = self._unpacker.feed(part)
                except AnswerTooLarge:
                    raise Broken(TOO_LARGE) from None
                except TimeoutError:
                    raise Broken(f"it took longer than {seconds:g} s") from None
                except (zlib.error, httpx2.TransportError) as err:
                    raise Broken(f"{type(err).__name__}: {err}") from None
                if has_too_many_values(part, counts):
                    raise Broken(TOO_LARGE)
                yield part

        async def aclose(self) -> None:
            await self._stream.aclose()

    class Transport(httpx2.AsyncHTTPTransport):
        def __init__(self) -> None:
            super().__init__(trust_env=False)
            self._last_asked = 0.0

        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            now = asyncio.get_running_loop().time()
            asked = _id_of(request.content) if request.method == "POST" else None
            resumed = request.method == "GET" and "last-event-id" in request.headers and now < self._last_asked + seconds
            if request.method == "GET" and not resumed:
                return httpx2.Response(405, request=request)  # no stream of what nobody asked for
            if resumed:
                await asyncio.sleep(_RESUMED_S)
            elif asked is not None:
                self._last_asked = now
            expected = resumed or asked is not None
            try:
                async with asyncio.timeout(seconds if expected else _UNASKED_S):
                    found = await super().handle_async_request(request)
            except httpx2.ConnectError:
                if expected:
                    raise
                return httpx2.Response(202, request=request)
            except (TimeoutError, httpx2.TransportError) as err:
                told = f"it took longer than {seconds:g} s" if isinstance(err, TimeoutError) else f"{type(err).__name__}: {err}"
                if asked is None:
                    return httpx2.Response(502 if resumed else 202, request=request)
                return httpx2.Response(200, json={"jsonrpc": "2.0", "id": asked, "error": {"code": -32603, "message": told}}, request=request)
            headers = [(name, value) for name, value in found.headers.raw if name.lower() != b"content-encoding"]
            stream = Limited(cast(httpx2.AsyncByteStream, found.stream), found.headers.get("content-encoding", ""), now + seconds)
            return httpx2.Response(found.status_code, headers=headers, stream=stream, extensions=found.extensions)

    return Transport()


def _id_of(content: bytes) -> Any:
    """The id of a request that is sent; None for a message that is answered by nothing."""
    message = json.loads(content)
    return message.get("id") if "method" in message else None
