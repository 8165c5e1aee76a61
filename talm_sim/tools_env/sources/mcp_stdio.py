"""The MCP client's transport to a program beside this process: its output is read within limits, and it ends when we do."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import re
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp.types import PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic_core import from_json

from talm_sim.tools_env.sources import base
from talm_sim.tools_env.sources.mcp_wall import TOO_LARGE

PATIENCE_S = 2.0
"""Seconds it has to end by itself, and again after SIGTERM."""
_LOOK_S = 0.2
"""Seconds between two looks at whether it has ended."""
_LAST_WORDS = 2_000
_ENDS = 200
"""Bytes of an unreadable line in which the id of its request is searched for."""
_ID_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"[\d.]*"\s*,\s*)?"id"\s*:\s*"?(\d{1,18})\b')
_ID_LAST = re.compile(rb'[,{]\s*"id"\s*:\s*"?(\d{1,18})"?\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')


@asynccontextmanager
async def run_program(words: Sequence[str], given: Mapping[str, str], said: bytearray) -> AsyncIterator[tuple[Any, Any]]:
    """Start a program, and end it with everything that it started in its group of processes.

    Args:
        words: The program and its arguments.
        given: Variables it receives beside the few that every program does.
        said: Is kept filled with the end of the program's standard error.

    Yields:
        The streams of the client's messages: those from the server, and those to it.
    """
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *words,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        env=get_default_environment() | dict(given),
        start_new_session=True,
        limit=base.MOST_BYTES,
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    heard, reading = anyio.create_memory_object_stream[Any](0)
    writing, unsent = anyio.create_memory_object_stream[Any](math.inf)
    at_work = [
        asyncio.create_task(_read(process.stdout, heard)),
        asyncio.create_task(_write(process.stdin, unsent)),
        asyncio.create_task(_keep_last(process.stderr, said)),
        asyncio.create_task(_end_children(process)),
    ]
    try:
        yield reading, writing
    finally:
        await _stop_program(process, at_work)
        for stream in (heard, reading, writing, unsent):
            stream.close()


async def _read(stdout: asyncio.StreamReader, heard: MemoryObjectSendStream[Any]) -> None:
    """Read messages, one per line; of a line that is too long only the ends are looked at."""
    end: bytes | None = None
    with heard, contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError, asyncio.IncompleteReadError):
        while True:
            try:
                line = await stdout.readuntil()
                message = _message(line) if end is None else _refused(end + line, TOO_LARGE)
                end = None
            except asyncio.LimitOverrunError as err:
                line = await stdout.readexactly(err.consumed)
                message = _refused(line, TOO_LARGE) if end is None else None
                end = line[-_ENDS:]
            if message is None:
                await asyncio.sleep(0)  # there may be more of it, and others want to read too
            else:
                await heard.send(message)


def _message(line: bytes) -> SessionMessage | None:
    """Return a line's message; None for anything that is not a message and belongs to no request of ours, such as a program's own output."""
    if not line.strip():
        return None
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
    while piece := await stderr.read(65_536):
        said += piece
        del said[:-_LAST_WORDS]


async def _end_children(process: asyncio.subprocess.Process) -> None:
    """Wait for a program that ends by itself, and end what it leaves behind, which may hold its output open."""
    while process.returncode is None:
        await asyncio.sleep(_LOOK_S)
    _signal_group(process, signal.SIGKILL)


async def _stop_program(process: asyncio.subprocess.Process, at_work: Sequence[asyncio.Task[None]]) -> None:
    """Close its input and wait, as the protocol has it; then end its group of processes."""
    for task in at_work:
        task.cancel()
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    await asyncio.gather(*at_work, return_exceptions=True)
    process.stdin.close()
    # If this is not read to its end, it is waited for forever; a broken input is reported on standard error unless somebody asks.
    ends = (process.wait(), _drain(process.stdout), _drain(process.stderr), process.stdin.wait_closed())
    ending = asyncio.gather(*ends, return_exceptions=True)
    try:
        for how in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(ending), PATIENCE_S)
            _signal_group(process, how)
        await asyncio.wait([ending], timeout=PATIENCE_S)
    finally:
        _signal_group(process, signal.SIGKILL)


def _signal_group(process: asyncio.subprocess.Process, how: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, how)


async def _drain(stream: asyncio.StreamReader) -> None:
    while await stream.read(65_536):
        pass
