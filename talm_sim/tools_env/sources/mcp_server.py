"""One MCP server as episodes use it: it is started, or connected to, again when it has ended, and those who lost something are told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from talm_sim.errors import PrerequisiteError, ProviderError

if TYPE_CHECKING:
    from talm_sim.tools_env.sources.mcp_connection import Connection

__all__ = ["Server"]

RESTART_S = 25.0
"""Seconds for a restart, fewer than a call may take, because the call waits for it."""


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

    async def open(self, seconds: float) -> None:
        """Start it; see `Connection.open`."""
        await self.connection.open(seconds)

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
