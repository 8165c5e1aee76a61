"""The MCP client's transport to a program beside this process: its output is read within limits, and it ends when we do."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic_core import from_json

from talm_sim.tools_env.sources import limits
from talm_sim.tools_env.sources.mcp_wall import TOO_LARGE, Counts

__all__ = ["run_program"]

_WATCHER = Path(__file__).with_name("mcp_watcher.py")
_INHERITED = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
"""Variables that every program receives."""
PATIENCE_S = 2.0
"""Seconds it has to end by itself, and again after SIGTERM."""
_ENDED_S = 8.0
_PIECE = 65_536
_LAST_WORDS = 2_000
_PAUSE_S = 0.01
"""Pause between pieces without an answer: the program that floods us waits, not the other episodes."""
_ENDS = 200
"""Bytes of an unreadable line in which the id of its request is searched for."""
_ID_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"[\d.]*"\s*,\s*)?"id"\s*:\s*"?(\d{1,18})\b')
_ID_LAST = re.compile(rb'[,{]\s*"id"\s*:\s*"?(\d{1,18})"?\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')


@asynccontextmanager
async def run_program(words: Sequence[str], given: Mapping[str, str], said: bytearray) -> AsyncIterator[tuple[Any, Any]]:
    """Start a program, and end it with everything that it started.

    Args:
        words: The program and its arguments.
        given: Variables it receives beside the few that every program does.
        said: Is kept filled with the end of the program's standard error.

    Yields:
        The streams of the client's messages: those from the server, and those to it.
    """
    command = [sys.executable, "-I", "-S", str(_WATCHER), str(os.getpid()), str(PATIENCE_S), *words]
    environment = {name: os.environ[name] for name in _INHERITED if name in os.environ} | dict(given)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, start_new_session=True)
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    heard, reading = anyio.create_memory_object_stream[Any](0)
    writing, unsent = anyio.create_memory_object_stream[Any](math.inf)
    at_work = [
        asyncio.create_task(_read(process.stdout, heard)),
        asyncio.create_task(_write(process.stdin, unsent)),
        asyncio.create_task(_keep_last(process.stderr, said)),
    ]
    try:
        yield reading, writing
    finally:
        await _stop_program(process, at_work)
        for stream in (heard, reading, writing, unsent):
            stream.close()


async def _read(stdout: asyncio.StreamReader, heard: MemoryObjectSendStream[Any]) -> None:
    lines = _Lines()
    with heard, contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        while piece := await stdout.read(_PIECE):
            answers = 0
            for one in lines.feed(piece):
                answers += not hasattr(one.message, "method")
                await heard.send(one)
            if not answers and (lines.skipping or b"\n" in piece):
                await asyncio.sleep(_PAUSE_S)


class _Lines:
    """Reads messages, one per line; of a line that is too long only its ends are kept.

    Attributes:
        skipping: Whether it is in the middle of such a line.
    """

    def __init__(self) -> None:
        self.skipping = False
        self._line = bytearray()

    def feed(self, piece: bytes) -> Iterator[SessionMessage]:
        """Return the messages that the next piece completes."""
        *ended, rest = piece.split(b"\n")
        for part in ended:
            line = bytes(self._line + part)
            message = _refused(line, TOO_LARGE) if self.skipping else _message(line)
            self._line.clear()
            self.skipping = False
            if message is not None:
                yield message
        self._line += rest
        if len(self._line) > limits.MOST_BYTES and not self.skipping:
            self.skipping = True
            message = _refused(bytes(self._line[:_ENDS]), TOO_LARGE)
            if message is not None:
                yield message
        if self.skipping:
            del self._line[:-_ENDS]


def _message(line: bytes) -> SessionMessage | None:
    """Return a line's message; None for anything that is not a message and belongs to no request of ours, such as a program's own output."""
    if not line.strip():
        return None
    if len(line) > limits.MOST_BYTES or Counts().exceed(line):
        return _refused(line, TOO_LARGE)
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_python(from_json(line), by_name=False))
    except ValueError as err:
        return _refused(line, f"its answer cannot be read: {' '.join(str(err).split())[:200]}")


def _refused(line: bytes, reason: str) -> SessionMessage | None:
    """Return the failure of the request that a line answers; None if its beginning and end do not show which."""
    found = _ID_FIRST.match(line[:_ENDS]) or _ID_LAST.search(line[-_ENDS:])
    if found is None:
        return None
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=int(found[1]), error=ErrorData(code=PARSE_ERROR, message=reason)))


async def _write(stdin: asyncio.StreamWriter, unsent: Any) -> None:
    with contextlib.suppress(OSError):  # it has ended, as its output shows
        async for one in unsent:
            stdin.write(one.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await stdin.drain()


async def _keep_last(stderr: asyncio.StreamReader, said: bytearray) -> None:
    while piece := await stderr.read(_PIECE):
        said += piece
        del said[:-_LAST_WORDS]
        if len(piece) == _PIECE:
            await asyncio.sleep(_PAUSE_S)


async def _stop_program(process: asyncio.subprocess.Process, at_work: Sequence[asyncio.Task[None]]) -> None:
    for task in at_work:
        task.cancel()
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    process.stdin.close()
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            # The watcher, which continues by itself should this be cut off. Not `process.terminate()`, which takes the exit status of one that
            # has just ended away from those who wait for it.
            os.kill(process.pid, signal.SIGTERM)
    await asyncio.gather(*at_work, return_exceptions=True)
    # If this is not read to its end, it is waited for forever; a broken input is reported on standard error unless somebody asks.
    ends = (process.wait(), _drain(process.stdout), _drain(process.stderr), process.stdin.wait_closed())
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_ENDED_S):
            await asyncio.gather(*ends, return_exceptions=True)


async def _drain(stream: asyncio.StreamReader) -> None:
    while await stream.read(_PIECE):
        pass
