"""Connect to MCP servers: one that has ended is started, or connected to, again, and those who lost something are told.

A server may ask the person something while a call of it runs: elicitation, form mode (specification 2025-11-25).
"""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

from mcp import Client
from mcp.types import INVALID_PARAMS, INVALID_REQUEST, ElicitRequestURLParams, ElicitResult, ErrorData
from pydantic_core import to_json

from talm_sim.common.credentials import Hider
from talm_sim.errors import PrerequisiteError, ProviderError
from talm_sim.tools_env.asking_tools import AskPerson
from talm_sim.tools_env.sources import base
from talm_sim.tools_env.sources.base import SourceRequest
from talm_sim.tools_env.sources.mcp_http import connect_http
from talm_sim.tools_env.sources.mcp_stdio import run_program
from talm_sim.tools_env.sources.mcp_wall import IncomingStream, OutgoingStream, Wall, explain_refusal
from talm_sim.tools_env.sources.openapi_document import MOST_TOOLS
from talm_sim.types import Decision, Form

_RESTART_S = 25.0
"""Seconds for a restart, fewer than a call may take, because the call waits for it."""

_STOP_S = 10.0
MOST_LISTED = base.MOST_BYTES
"""Largest size in bytes of all pages of the list of tools."""
_PERSON_S = 30 * 24 * 3600.0
"""Seconds for which the answer to a call is awaited over HTTP while a person may be asked; the time of the call itself is limited elsewhere."""
_QUIET = logging.NullHandler()
_MOST_OF_A_FORM: Final = 100_000
"""Bytes that a form may have."""
_PRIMITIVE: Final = frozenset({"string", "number", "integer", "boolean"})

log = logging.getLogger(__name__)


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
        self.elicitation = _Elicitation(request.name, hide)
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
        done, _ = await asyncio.wait([self._task], timeout=_STOP_S)
        if not done:
            self._task.cancel()
            await asyncio.wait([self._task], timeout=_STOP_S)

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
        await self.connection.open(_RESTART_S)


def _first_error_line(err: BaseException) -> str:
    """Return the first of a group of errors, in a line."""
    while isinstance(err, BaseExceptionGroup):
        err = err.exceptions[0]
    return " ".join(str(err).split())[:200] or type(err).__name__


class _Elicitation:
    """Answers what one server asks of a person: the person of the episode whose call is under way.

    Args:
        source: The source's name.
        hide: Removes secrets from what the server says.
    """

    def __init__(self, source: str, hide: Hider) -> None:
        self._source = source
        self._hide = hide
        self._person: AskPerson | None = None
        self._limit: asyncio.Timeout | None = None
        self._asking: set[asyncio.Task[Decision]] = set()
        self._left = 0.0

    @contextmanager
    def during_call(self, person: AskPerson | None, limit: asyncio.Timeout) -> Iterator[None]:
        """Let the server ask a person during the block; the time that the person takes does not count towards the call's time limit."""
        self._person, self._limit = person, limit
        try:
            yield
        finally:
            self._person = self._limit = None
            for asking in self._asking:  # the server did not wait for the answer
                asking.cancel()

    async def __call__(self, context: Any, params: Any) -> ElicitResult | ErrorData:
        """Answer a request of the server."""
        if isinstance(params, ElicitRequestURLParams):
            host = self._hide.text(urlsplit(params.url).hostname or "")[:100]
            log.warning("MCP server '%s': wanted to send the person to a web page (%s), which is refused", self._source, host)
            return ErrorData(code=INVALID_PARAMS, message="URL mode is not supported: nobody is sent to a web page from here.")
        if self._person is None:
            return ErrorData(code=INVALID_REQUEST, message="There is no call under way whose person could be asked.")
        if why := _explain_refusal(params.message, params.requested_schema):
            log.warning("MCP server '%s': its form is refused: %s", self._source, why)
            return ErrorData(code=INVALID_PARAMS, message=f"The form cannot be shown: {why}")
        form = Form.model_validate(
            self._hide.value({"message": params.message, "fields": params.requested_schema, "source": self._source}),
        )
        try:
            decision = await self._ask(self._person(form))
        except asyncio.CancelledError:
            return ElicitResult(action="cancel")
        return ElicitResult(action=decision.action, content=decision.content if decision.action == "accept" else None)

    async def _ask(self, asked: Coroutine[Any, Any, Decision]) -> Decision:
        """Wait for the person, with the clock of the call stopped; a server may ask several things at once."""
        limit, now = self._limit, asyncio.get_running_loop().time
        if not self._asking and limit is not None:
            self._left = (limit.when() or now()) - now()
            limit.reschedule(None)
        asking = asyncio.create_task(asked)
        self._asking.add(asking)
        try:
            return await asking
        finally:
            asking.cancel()
            self._asking.discard(asking)
            if not self._asking and limit is not None and limit is self._limit:
                limit.reschedule(now() + self._left)


def _explain_refusal(message: str, schema: Any) -> str:
    """Say why a form cannot be shown; empty where it can."""
    if len(to_json([message, schema], fallback=str)) > _MOST_OF_A_FORM:
        return f"it is longer than {_MOST_OF_A_FORM:,} bytes."
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or schema.get("type") != "object":
        return "its schema is not that of an object with properties."
    odd = next((name for name, field in properties.items() if not _is_flat(field)), None)
    return "" if odd is None else f"its field '{odd[:80]}' is not a text, a number, a boolean or a choice."


def _is_flat(field: Any) -> bool:
    if not isinstance(field, dict):
        return False
    if field.get("type") == "array":
        items = field.get("items")
        return isinstance(items, dict) and any(isinstance(items.get(key), list) for key in ("enum", "anyOf", "oneOf"))
    return field.get("type") in _PRIMITIVE
