"""Connections to MCP servers: a server that has ended is started, or connected to, again, and those who lost something are told."""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from mcp import Client
from pydantic_core import to_json

from talm_sim.common.credentials import Hider
from talm_sim.errors import PrerequisiteError, ProviderError
from talm_sim.tools_env.sources import limits
from talm_sim.tools_env.sources.base import SourceRequest
from talm_sim.tools_env.sources.mcp_elicitation import Elicitation
from talm_sim.tools_env.sources.mcp_http import connect_http
from talm_sim.tools_env.sources.mcp_stdio import run_program
from talm_sim.tools_env.sources.mcp_wall import IncomingStream, OutgoingStream, Wall, explain_refusal
from talm_sim.tools_env.sources.openapi_document import MOST_TOOLS

__all__ = ["Connection", "Server"]

RESTART_S = 25.0
"""Seconds for a restart, fewer than a call may take, because the call waits for it."""

STOP_S = 10.0
MOST_LISTED = limits.MOST_BYTES
"""Largest size in bytes of all pages of the list of tools."""
_PERSON_S = 30 * 24 * 3600.0
"""Seconds for which the answer to a call is awaited over HTTP while a person may be asked; the time of the call itself is limited elsewhere."""
_QUIET = logging.NullHandler()


class Connection:
    """A server and the client that talks to it.

    Args:
        request: What to start, or where it is; and whether there is a person whom it may ask.
        given: Variables a program is given, or the credential an address is sent.
        seconds: How long an answer may take.
    """

    def __init__(self, request: SourceRequest, given: Mapping[str, str], hide: Hider, seconds: float) -> None:
        self.client: Any = None
        self.tools: list[tuple[Any, str]] = []
        """The tools, as the server describes them, each with the reason why the client refuses it, if any."""
        self._place, self._given, self._hide, self._seconds = request.place, given, hide, seconds
        self._person = request.person
        self.elicitation = Elicitation(request.name, hide)
        self._said = bytearray()
        self._wall = Wall()
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing more comes from it."""
        return self.client is None or self._wall.ended.is_set()

    async def open(self, seconds: float) -> None:
        """Start the server and ask for its tools.

        Args:
            seconds: How long that may take.

        Raises:
            PrerequisiteError: It does not start or does not answer.
        """
        for logger in ("mcp", "client"):  # they log, with tracebacks, what a server says beside the protocol; we report failures ourselves
            logging.getLogger(logger).addHandler(_QUIET)
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # The client must be closed by the task that opened it.
        self._task = asyncio.create_task(self._hold(ready))
        try:
            async with asyncio.timeout(seconds):
                await ready
        except TimeoutError:
            raise PrerequisiteError(f"the MCP server did not answer within {seconds:g} s{self.last_words()}.") from None

    async def aclose(self) -> None:
        """End the connection."""
        self._stop.set()
        if self._task is None:
            return
        if self.client is None:
            self._task.cancel()  # it does not answer, and would not hear of the end either
        done, _ = await asyncio.wait([self._task], timeout=STOP_S)
        if not done:
            self._task.cancel()
            await asyncio.wait([self._task], timeout=STOP_S)

    def last_words(self) -> str:
        """Return the last line that the server wrote to standard error, as the end of a message."""
        lines = [line.strip() for line in self._said.decode(errors="replace").splitlines() if line.strip()]
        return f"; it said: {self._hide.text(lines[-1])[:300]}" if lines else ""

    async def _hold(self, ready: asyncio.Future[None]) -> None:
        try:
            # In later versions of the protocol than 2025-11-25 a server cannot ask for a form while a call runs.
            person = self.elicitation if self._person else None
            async with Client(self._transport(), mode="legacy" if person else "auto", elicitation_callback=person) as client:
                await self._list(client)
                self.client = client
                if not ready.done():
                    ready.set_result(None)
                await self._stop.wait()
        except Exception as err:  # a server may fail in any way, and the client wraps it in groups
            if not ready.done():
                ready.set_exception(
                    PrerequisiteError(f"the MCP server could not be asked for its tools ({_first_error_line(err)}){self.last_words()}.")
                )
        finally:
            self.client = None

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[Any]:
        if self._place.startswith(("http://", "https://")):
            streams = connect_http(self._place, self._given.get("Authorization"), self._seconds, _PERSON_S if self._person else self._seconds)
        else:
            streams = run_program(self._words(), self._given, self._said)
        async with streams as (heard, sent):
            yield IncomingStream(heard, self._wall), OutgoingStream(sent, self._wall)

    def _words(self) -> list[str]:
        if sys.platform == "win32":
            raise PrerequisiteError("a command needs Linux or macOS; start the server yourself and give its address")
        words = shlex.split(self._place)
        if shutil.which(words[0], path=self._given.get("PATH", os.environ.get("PATH"))) is None:
            raise PrerequisiteError("there is no such program")
        return words

    async def _list(self, client: Client) -> None:
        cursor: str | None = None
        size = 0
        while True:
            page = await client.list_tools(cursor=cursor, cache_mode="bypass")
            taken = {tool.name for tool in page.tools}
            listed, self._wall.listed = self._wall.listed, []
            for tool in listed:
                reason = explain_refusal(tool)
                size += 100 if reason else len(to_json(tool))
                self.tools.append((tool, reason or ("" if tool["name"] in taken else "its x-mcp-header cannot be sent.")))
            if size > MOST_LISTED:
                raise PrerequisiteError(f"its list of tools is longer than {MOST_LISTED // 1_000_000} MB")
            if len(self.tools) > MOST_TOOLS:
                raise PrerequisiteError(f"it has more than {MOST_TOOLS:,} tools")
            cursor = page.next_cursor
            if not cursor or not listed:
                return


class Server:
    """A server and the connection to it.

    Args:
        name: The source's name.
        connect: Makes a connection, which is not open yet.
    """

    def __init__(self, name: str, connect: Callable[[], Connection]) -> None:
        self.connection = connect()
        self.alone = asyncio.Lock()
        """Held by a call that may ask a person: what the server asks then belongs to that call."""
        self.abandoned = False
        """Whether a call was given up that may still be under way there."""
        self._name = name
        self._connect = connect
        self._again: asyncio.Task[None] | None = None
        self._changing: set[str] = set()
        self._lost: set[str] = set()

    @asynccontextmanager
    async def call_under_way(self, episode: str, *, reads: bool) -> AsyncIterator[Connection]:
        """Make a call of an episode in the block, on a connection that is open.

        Raises:
            ProviderError: The server cannot be restarted, or what the episode did there is lost.
        """
        connection = await self._live_connection()
        if episode in self._lost:
            self._lost.discard(episode)
            raise ProviderError(f"The MCP server '{self._name}' has ended and was started again: what this episode did there is lost.")
        if episode and not reads:
            self._changing.add(episode)
        try:
            yield connection
        except TimeoutError:
            raise
        except Exception:
            if connection.ended:
                self._changing.discard(episode)
                raise ProviderError(f"The MCP server '{self._name}' has ended{connection.last_words()}.") from None
            raise

    async def aclose(self) -> None:
        """End it."""
        if self._again is not None:
            self._again.cancel()
            await asyncio.wait([self._again])
        await self.connection.aclose()

    async def _live_connection(self) -> Connection:
        """Return the connection, made anew if it has ended; callers in between wait for the same one."""
        if self.connection.ended:
            if self._again is None or self._again.done():
                self._again = asyncio.create_task(self._reconnect())
                self._again.add_done_callback(lambda task: task.cancelled() or task.exception())  # those who waited may be gone
            try:
                await asyncio.shield(self._again)
            except PrerequisiteError as err:
                raise ProviderError(f"The MCP server '{self._name}' has ended and cannot be restarted: {err}") from None
        return self.connection

    async def _reconnect(self) -> None:
        await self.connection.aclose()
        self.connection = self._connect()
        self._lost |= self._changing
        self._changing.clear()
        await self.connection.open(RESTART_S)


def _first_error_line(err: BaseException) -> str:
    """Return the first of a group of errors, in a line."""
    while isinstance(err, BaseExceptionGroup):
        err = err.exceptions[0]
    return " ".join(str(err).split())[:200] or type(err).__name__
