"""The transports below the MCP client, within limits of time and size: a program beside this process (stdio), and streamable HTTP.

Each yields what the server says, and a function that says something to it, both in the client's messages.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
import sys
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, cast

import anyio
import httpx2
from anyio.abc import ByteReceiveStream
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.shared.message import SessionMessage
from mcp.types import INTERNAL_ERROR, PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic_core import from_json

from talm_sim.common.http_body import ACCEPTED_ENCODINGS, AnswerTooLarge, read_body
from talm_sim.errors import PrerequisiteError
from talm_sim.tools_env.routes import TOO_LARGE
from talm_sim.tools_env.sources import base

PATIENCE_S = 2.0
"""Seconds that a program has to end by itself, and again after SIGTERM."""
_LOOK_S = 0.1
"""Seconds between two looks at whether it has ended."""
_LAST_WORDS = 2_000
_ENDS = 200
"""Bytes at either end of a line that are kept where it is too long: servers write the id of the request first or last."""
_ID = re.compile(rb'\A\{"jsonrpc": ?"2\.0", ?"id": ?(\d{1,18}),|, ?"id": ?(\d{1,18})\}\s*\Z')
UNASKED_S: Final = 5.0
"""Seconds for a message over HTTP that expects no answer: all others wait for it."""

_Streams = tuple[AsyncIterator[Any], Callable[[Any], Awaitable[None]]]


@asynccontextmanager
async def run_program(command: str, given: Mapping[str, str], said: bytearray) -> AsyncIterator[_Streams]:
    """Start a program, and end it with everything that it started in its group of processes."""
    if sys.platform == "win32":
        raise PrerequisiteError("a command needs Linux or macOS; start the server yourself and give its address")
    words = shlex.split(command)
    if shutil.which(words[0], path=given.get("PATH", os.environ.get("PATH"))) is None:
        raise PrerequisiteError("there is no such program")
    process = await anyio.open_process(words, env=get_default_environment() | dict(given), start_new_session=True)
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    assert stdin is not None and stdout is not None and stderr is not None

    async def send(item: Any) -> None:
        await stdin.send(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")

    async def keep_last_words() -> None:
        async for piece in stderr:
            said.extend(piece)
            del said[:-_LAST_WORDS]

    async def end_children() -> None:  # of a program that ended by itself: they may hold its output open
        while process.returncode is None:
            await anyio.sleep(_LOOK_S)
        await terminate_posix_process_tree(process, 0)

    async def drain() -> None:  # a program whose output nobody reads may not end
        with anyio.move_on_after(PATIENCE_S):
            async for _ in stdout:
                pass
            await process.wait()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(keep_last_words)
        tasks.start_soon(end_children)
        try:
            yield _messages(stdout), send
        finally:  # as the protocol has it
            with anyio.CancelScope(shield=True):
                await stdin.aclose()
                await drain()
                await terminate_posix_process_tree(process, PATIENCE_S)
                await drain()
            tasks.cancel_scope.cancel()


async def _messages(stdout: ByteReceiveStream) -> AsyncIterator[SessionMessage]:
    """Yield the messages of lines; of a line that is none, or too long, the failure of its request if its ends show which."""
    lines, ends = BufferedByteReceiveStream(stdout), b""
    with suppress(anyio.EndOfStream, anyio.IncompleteRead, OSError):
        while True:
            try:
                line = ends + await lines.receive_until(b"\n", base.MOST_BYTES)
                if ends:
                    raise ValueError(TOO_LARGE)
                yield SessionMessage(jsonrpc_message_adapter.validate_python(from_json(line), by_name=False))
            except anyio.DelimiterNotFound:
                part = await lines.receive_exactly(base.MOST_BYTES)
                ends = (ends or part)[:_ENDS] + part[-_ENDS:]
            except ValueError as err:
                ends = b""
                if found := _ID.search(line):
                    why = ErrorData(code=PARSE_ERROR, message=f"its answer cannot be read: {' '.join(str(err).split())[:200]}")
                    yield SessionMessage(JSONRPCError(jsonrpc="2.0", id=int(found[1] or found[2]), error=why))


class _BrokenStreamError(httpx2.SSEError, httpx2.StreamError):
    """An error of both kinds: the client takes one as the end of a call from a stream of events, and the other from a JSON answer."""

    def __init__(self, message: str) -> None:
        httpx2.SSEError.__init__(self, message)


@asynccontextmanager
async def connect_http(place: str, secret: str | None, seconds: float, answer_seconds: float) -> AsyncIterator[_Streams]:
    """Connect to a server over streamable HTTP, with a bearer token; an answer that breaks off, or is too large or too slow, fails alone."""
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    headers["Accept-Encoding"] = ACCEPTED_ENCODINGS
    timeout, transport = httpx2.Timeout(seconds, read=answer_seconds), _LimitedTransport(answer_seconds)
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout, trust_env=False, transport=transport) as http,
        streamable_http_client(place, http_client=http, max_sse_event_size=base.MOST_BYTES) as (heard, sent),
    ):
        yield heard, sent.send


class _LimitedTransport(httpx2.AsyncHTTPTransport):
    def __init__(self, seconds: float) -> None:
        super().__init__(trust_env=False)
        self._seconds = seconds

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request."""
        now = asyncio.get_running_loop().time()
        message = json.loads(request.content) if request.method == "POST" else {}
        asked = message.get("id") if "method" in message else None
        seconds = self._seconds if asked is not None or request.method == "GET" else UNASKED_S
        if request.method == "GET" and "last-event-id" not in request.headers:  # it is not for the rest of an answer
            return httpx2.Response(405, request=request)
        try:
            async with asyncio.timeout_at(now + seconds):
                found = await super().handle_async_request(request)
        except (TimeoutError, httpx2.TransportError) as err:
            if asked is None:
                return httpx2.Response(202, request=request)
            if isinstance(err, httpx2.ConnectError):
                raise
            told = "it took too long" if isinstance(err, TimeoutError) else f"{type(err).__name__}: {err}"
            error = {"code": INTERNAL_ERROR, "message": told}
            return httpx2.Response(200, json={"jsonrpc": "2.0", "id": asked, "error": error}, request=request)
        headers = [(name, value) for name, value in found.headers.raw if name.lower() != b"content-encoding"]
        stream = _Limited(cast(httpx2.AsyncByteStream, found.stream), found.headers.get("content-encoding", ""), now + seconds)
        return httpx2.Response(found.status_code, headers=headers, stream=stream, extensions=found.extensions)


class _Limited(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, encoding: str, until: float) -> None:
        self._stream = stream
        self._until = until
        self._encoding = encoding

    async def __aiter__(self) -> AsyncIterator[bytes]:
        now = asyncio.get_running_loop().time
        try:
            async for part in read_body(self._stream, self._encoding, base.MOST_BYTES):
                if now() > self._until:
                    raise _BrokenStreamError("it took too long")
                yield part
        except AnswerTooLarge:
            raise _BrokenStreamError(TOO_LARGE) from None
        except (zlib.error, httpx2.TransportError) as err:
            raise _BrokenStreamError(f"{type(err).__name__}: {err}") from None

    async def aclose(self) -> None:
        await self._stream.aclose()
