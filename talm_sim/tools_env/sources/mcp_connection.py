"""One connection to an MCP server, from its start to its end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shlex
import shutil
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Literal

from talm_sim.common.credentials import Hider
from talm_sim.errors import PrerequisiteError
from talm_sim.tools_env.sources import limits
from talm_sim.tools_env.sources.mcp_program import run_program
from talm_sim.tools_env.sources.openapi_document import MOST_TOOLS

if TYPE_CHECKING:
    from mcp import Client

    from talm_sim.tools_env.person import AskPerson
    from talm_sim.tools_env.sources.base import SourceRequest

__all__ = ["Connection"]

STOP_S = 10.0
MOST_LISTED = limits.MOST_BYTES
"""Largest size in bytes of all pages of the list of tools."""
_PAGES = 1_000
_ASIDE_S = 5.0
"""Seconds for requests that no agent is offered."""
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
        from talm_sim.tools_env.sources.mcp_elicitation import Elicitation
        from talm_sim.tools_env.sources.mcp_wall import Wall

        self.client: Client | None = None
        self.tools: list[tuple[Any, str]] = []
        """The tools, as the server describes them, each with the reason why the client refuses it, if any."""
        self.has: list[str] = []
        """What else the server has."""
        self._place, self._given, self._hide, self._seconds = request.place, given, hide, seconds
        self._elicitation = Elicitation(request.name, hide) if request.person else None
        self._said = bytearray()
        self._wall = Wall()
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing more comes from it."""
        return self.client is None or self._wall.ended.is_set()

    @contextmanager
    def answering(self, person: AskPerson | None, limit: asyncio.Timeout) -> Iterator[Client]:
        """Yield the client for one call, during which the server may ask a person if it was told that there is one.

        Args:
            person: Whom it asks.
            limit: The call's time limit, which is not in force while the person is awaited.
        """
        assert self.client is not None
        with nullcontext() if self._elicitation is None else self._elicitation.during_call(person, limit):
            yield self.client

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
            async with self._connect_client() as client:
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
    async def _connect_client(self) -> AsyncIterator[Client]:
        from mcp import Client

        # In later versions of the protocol than 2025-11-25 a server cannot ask for a form while a call runs.
        mode: Literal["auto", "legacy"] = "auto" if self._elicitation is None else "legacy"
        async with Client(self._transport(), mode=mode, elicitation_callback=self._elicitation) as client:
            yield client

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[Any]:
        from talm_sim.tools_env.sources.mcp_wall import IncomingStream, OutgoingStream

        streams = self._connect_http() if self._place.startswith(("http://", "https://")) else self._connect_program()
        async with streams as (heard, sent):
            yield IncomingStream(heard, self._wall), OutgoingStream(sent, self._wall)

    @asynccontextmanager
    async def _connect_http(self) -> AsyncIterator[Any]:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        from talm_sim.tools_env.sources.mcp_http import LimitedTransport

        secret = self._given.get("Authorization")
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        headers["Accept-Encoding"] = limits.ACCEPTED_ENCODINGS
        call_seconds = self._seconds if self._elicitation is None else _PERSON_S
        transport = LimitedTransport(self._seconds, call_seconds)
        timeout = httpx2.Timeout(self._seconds, read=call_seconds)
        async with (
            httpx2.AsyncClient(headers=headers, timeout=timeout, trust_env=False, transport=transport) as http,
            streamable_http_client(self._place, http_client=http, max_sse_event_size=limits.MOST_BYTES) as streams,
        ):
            yield streams

    @asynccontextmanager
    async def _connect_program(self) -> AsyncIterator[Any]:
        if sys.platform == "win32":
            raise PrerequisiteError("a command needs Linux or macOS; start the server yourself and give its address")
        words = shlex.split(self._place)
        if shutil.which(words[0], path=self._given.get("PATH", os.environ.get("PATH"))) is None:
            raise PrerequisiteError("there is no such program")
        async with run_program(words, self._given, self._said) as streams:
            yield streams

    async def _list(self, client: Client) -> None:
        from pydantic_core import to_json

        from talm_sim.tools_env.sources.mcp_wall import explain_refusal

        cursor: str | None = None
        size = 0
        for _ in range(_PAGES):
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
                break
        else:
            raise PrerequisiteError(f"its list of tools has more than {_PAGES:,} pages")
        for what, ask in (("resources", client.list_resources), ("prompts", client.list_prompts)):
            with contextlib.suppress(Exception):  # most servers have none and say so in their own way
                async with asyncio.timeout(_ASIDE_S):
                    self.has += [what] if getattr(await ask(), what) else []


def _first_error_line(err: BaseException) -> str:
    """Return the first of a group of errors, in a line."""
    while isinstance(err, BaseExceptionGroup):
        err = err.exceptions[0]
    return " ".join(str(err).split())[:200] or type(err).__name__
