"""Servers that say whatever they are told, byte by byte, and keep what they are asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

Play = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Line:
    """A listening server.

    Attributes:
        port: Where, on loopback.
        heard: Heads and bodies of the requests.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.heard: list[str] = []


def answered(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    """A whole answer."""
    lines = [f"HTTP/1.1 {status}", "content-type: application/json", f"content-length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


async def good(writer: asyncio.StreamWriter) -> None:
    """Answer well."""
    writer.write(answered(b'{"item": "cup"}'))


@asynccontextmanager
async def listening(play: Play = good) -> AsyncIterator[Line]:
    """Listen; `play` answers each request of a connection."""
    tasks: set[asyncio.Task[None] | None] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.current_task())
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = next((int(line[15:]) for line in head.splitlines() if line.lower().startswith("content-length:")), 0)
                line.heard.append(head + (await reader.readexactly(length)).decode())
                await play(writer)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1")
    line = Line(server.sockets[0].getsockname()[1])
    try:
        yield line
    finally:
        server.close()
        for task in filter(None, tasks):
            task.cancel()
        await asyncio.gather(*filter(None, tasks), return_exceptions=True)
