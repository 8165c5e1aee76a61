"""The connection to an MCP server: one that has ended is started, or connected to, again, and those who lost something are told.

A server may ask the person something while a call of it runs: elicitation, form mode (specification 2025-11-25).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
from mcp import Client, types
from mcp.shared.message import SessionMessage
from pydantic_core import to_json

from talm_sim.common.credentials import Hider
from talm_sim.errors import PrerequisiteError, ProviderError
from talm_sim.tools_env.asking_tools import AskPerson, current_person
from talm_sim.tools_env.sources import base
from talm_sim.tools_env.sources.base import SourceRequest
from talm_sim.tools_env.sources.mcp_transports import connect_http, run_program
from talm_sim.tools_env.sources.openapi_document import MOST_TOOLS
from talm_sim.types import Decision, Form, JsonObject

_RESTART_S = 25.0
"""Seconds for a restart, fewer than a call may take, because the call waits for it."""
_STOP_S = 10.0
_PERSON_S = 30 * 24 * 3600.0
"""Seconds for which the answer to a call is awaited over HTTP while a person may be asked; the time of the call itself is limited elsewhere."""
_MOST_DESCRIBED: Final = 100_000
"""Bytes that the description of one tool may have, its schema included, and a form."""
_MOST_ASKED: Final = 20
"""Requests of the server, for example for a model's answer or a person's, that are answered per call; further ones are ignored."""
_FLAT: Final = frozenset({"string", "number", "integer", "boolean", "array"})
_QUIET = logging.NullHandler()

log = logging.getLogger(__name__)


class Server:
    """A server and the client that talks to it.

    Args:
        request: What to start, or where it is; and whether there is a person whom it may ask.
        given: Variables a program is given, or the credential an address is sent.
        hide: Removes secrets from what the server says.
        seconds: How long an answer may take.
    """

    def __init__(self, request: SourceRequest, given: Mapping[str, str], hide: Hider, seconds: float) -> None:
        self.tools: list[tuple[Any, str]] = []
        """Each tool, as the server describes it, with the reason why the client cannot have it, if any."""
        self.alone = asyncio.Lock()
        """Held by a call that may ask a person: what the server asks then belongs to that call."""
        self._request, self._given, self._hide, self._seconds = request, given, hide, seconds
        self._client: Any = None
        self._task: asyncio.Task[None] | None = None
        self._restart = asyncio.Lock()
        self._said = bytearray()
        self._page: list[tuple[Any, str]] = []
        self._unasked = _MOST_ASKED
        self._changing: set[str] = set()
        self._lost: set[str] = set()
        self._person: AskPerson | None = None
        self._limit: asyncio.Timeout | None = None
        self._asking: set[asyncio.Task[Decision]] = set()
        self._left = 0.0

    async def open(self, seconds: float) -> None:
        """Start the server and ask for its tools."""
        for logger in ("mcp", "client"):  # they log, with tracebacks, what a server says beside the protocol; we report failures ourselves
            logging.getLogger(logger).addHandler(_QUIET)
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # The client must be closed by the task that opened it.
        self._over = asyncio.Event()
        self._task = asyncio.create_task(self._hold(ready, self._over))
        try:
            async with asyncio.timeout(seconds):
                await ready
        except TimeoutError:
            raise PrerequisiteError(f"the MCP server did not answer within {seconds:g} s{self._last_words()}.") from None

    async def call(
        self, tool: str, arguments: Mapping[str, object], episode: str, limit: asyncio.Timeout, *, reads: bool
    ) -> types.CallToolResult:
        """Make a call of an episode, which changes something unless it only reads; its time limit stands still while a person is asked.

        Raises:
            ProviderError: The server has ended, or cannot be restarted, or what the episode did there is lost.
        """
        has_ended = f"The MCP server '{self._request.name}' has ended"
        async with self._restart:
            if self._client is None:
                self._lost |= self._changing
                self._changing.clear()
                await self.aclose()
                self._said.clear()
                try:
                    await self.open(_RESTART_S)
                except PrerequisiteError as err:
                    raise ProviderError(f"{has_ended} and cannot be restarted: {err}") from None
            client = self._client
        if episode in self._lost:
            self._lost.discard(episode)
            raise ProviderError(f"{has_ended} and was started again: what this episode did there is lost.")
        if episode and not reads:
            self._changing.add(episode)
        self._unasked = _MOST_ASKED
        try:
            with self._during_call(limit):
                return await client.call_tool(tool, dict(arguments))
        except Exception:
            if self._client is client:
                raise
            self._changing.discard(episode)
            raise ProviderError(f"{has_ended}{self._last_words()}.") from None

    def end(self) -> None:
        """Begin to end it."""
        if self._task is not None and not self._over.is_set():  # a second time, it would leave the program running
            self._over.set()
            self._task.cancel()

    async def aclose(self) -> None:
        """End it."""
        self.end()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=_STOP_S)

    async def _hold(self, ready: asyncio.Future[None], over: asyncio.Event) -> None:
        try:
            # In later versions of the protocol than 2025-11-25 a server cannot ask for a form while a call runs.
            person = self._elicit if self._request.person else None
            async with Client(self._transport(over), mode="legacy" if person else "auto", elicitation_callback=person) as client:
                await self._list(client)
                self._client = client
                try:
                    ready.set_result(None)
                    await over.wait()
                finally:
                    self._client = None
        except Exception as err:  # a server may fail in any way, and the client wraps it in groups
            first: BaseException = err
            while isinstance(first, BaseExceptionGroup):
                first = first.exceptions[0]
            why = " ".join(str(first).split())[:200] or type(first).__name__
            if not ready.done():
                ready.set_exception(PrerequisiteError(f"the MCP server could not be asked for its tools ({why}){self._last_words()}."))

    @asynccontextmanager
    async def _transport(self, over: asyncio.Event) -> AsyncIterator[tuple[Any, Any]]:
        """Yield the streams of the client's messages; `over` is set once nothing more comes from the server."""
        place = self._request.place
        if place.startswith(("http://", "https://")):
            answer_s = _PERSON_S if self._request.person else self._seconds
            streams = connect_http(place, self._given.get("Authorization"), self._seconds, answer_s)
        else:
            streams = run_program(place, self._given, self._said)
        passed, incoming = anyio.create_memory_object_stream[Any](0)
        outgoing, written = anyio.create_memory_object_stream[Any](0)

        async def hear() -> None:
            async with passed:
                await _pass_on(heard, passed.send, self._lets_in)
                over.set()

        async with passed, incoming, outgoing, written, streams as (heard, send), anyio.create_task_group() as tasks:
            tasks.start_soon(hear)
            tasks.start_soon(_pass_on, written, send, _declare_forms_alone)
            yield incoming, outgoing
            tasks.cancel_scope.cancel()

    def _lets_in(self, message: Any) -> bool:
        """Return whether the client should read a message: no progress, logs or changes of the list; of a list it sees what it can."""
        if isinstance(message, types.JSONRPCRequest):
            self._unasked -= 1
            return self._unasked >= 0  # the client answers it, which the server waits for
        if isinstance(message, types.JSONRPCResponse) and isinstance(items := message.result.get("tools"), list):
            self._page = [(tool, _explain_odd_tool(tool)) for tool in items]
            message.result["tools"] = [_minimal_tool(tool) for tool, reason in self._page if not reason]
        return isinstance(message, types.JSONRPCResponse | types.JSONRPCError)

    async def _list(self, client: Client) -> None:
        self.tools, size, cursor = [], 0, None
        while True:
            page = await client.list_tools(cursor=cursor, cache_mode="bypass")
            taken = {tool.name for tool in page.tools}
            for tool, reason in self._page:
                size += 100 if reason else len(to_json(tool))
                self.tools.append((tool, reason or ("" if tool["name"] in taken else "its x-mcp-header cannot be sent.")))
            if size > base.MOST_BYTES:
                raise PrerequisiteError(f"its list of tools is longer than {base.MOST_BYTES // 1_000_000} MB")
            if len(self.tools) > MOST_TOOLS:
                raise PrerequisiteError(f"it has more than {MOST_TOOLS:,} tools")
            cursor = page.next_cursor
            if not cursor or not self._page:
                return

    @contextmanager
    def _during_call(self, limit: asyncio.Timeout) -> Iterator[None]:
        """Let the server ask the person during the block; the time that the person takes does not count towards the call's time limit."""
        self._person, self._limit = current_person.get(), limit
        try:
            yield
        finally:
            self._person = self._limit = None
            for asking in self._asking:  # the server did not wait for the answer
                asking.cancel()

    async def _elicit(self, context: Any, params: Any) -> types.ElicitResult | types.ErrorData:
        """Answer what the server asks of a person: the person of the episode whose call is under way."""
        if isinstance(params, types.ElicitRequestURLParams):
            host = self._hide.text(urlsplit(params.url).hostname or "")[:100]
            log.warning("MCP server '%s': wanted to send the person to a web page (%s), which is refused", self._request.name, host)
            return types.ErrorData(code=types.INVALID_PARAMS, message="URL mode is not supported: nobody is sent to a web page from here.")
        if self._person is None or self._limit is None:
            return types.ErrorData(code=types.INVALID_REQUEST, message="There is no call under way whose person could be asked.")
        if why := _explain_refusal(params.message, params.requested_schema):
            log.warning("MCP server '%s': its form is refused: %s", self._request.name, why)
            return types.ErrorData(code=types.INVALID_PARAMS, message=f"The form cannot be shown: {why}")
        form = {"message": params.message, "fields": params.requested_schema, "source": self._request.name}
        try:
            decision = await self._ask(self._person(Form.model_validate(self._hide.value(form))), self._limit)
        except asyncio.CancelledError:
            return types.ElicitResult(action="cancel")
        return types.ElicitResult(action=decision.action, content=decision.content if decision.action == "accept" else None)

    async def _ask(self, asked: Coroutine[Any, Any, Decision], limit: asyncio.Timeout) -> Decision:
        """Wait for the person, with the clock of the call stopped; a server may ask several things at once."""
        now = asyncio.get_running_loop().time
        if not self._asking:
            self._left = (limit.when() or now()) - now()
            limit.reschedule(None)
        asking = asyncio.create_task(asked)
        self._asking.add(asking)
        try:
            return await asking
        finally:
            asking.cancel()
            self._asking.discard(asking)
            if not self._asking and limit is self._limit:
                limit.reschedule(now() + self._left)

    def _last_words(self) -> str:
        """Return the last line that the server wrote to standard error, as the end of a message."""
        lines = [line.strip() for line in self._said.decode(errors="replace").splitlines() if line.strip()]
        return f"; it said: {self._hide.text(lines[-1])[:300]}" if lines else ""


def _explain_odd_tool(tool: Any) -> str:
    """Say why a tool cannot be shown to the client, which would refuse its whole page; empty if it can."""
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
        return "it has no name."
    if len(to_json(tool)) > _MOST_DESCRIBED:
        return f"its description is longer than {_MOST_DESCRIBED:,} bytes."
    schema = tool.get("inputSchema")
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return 'its inputSchema has no "type": "object".'
    return "" if isinstance(schema.get("properties", {}), dict) else "the properties of its inputSchema are not schemas."


def _minimal_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the client needs of a tool: its name, and which arguments go to headers."""
    properties = {name: one for name, one in tool["inputSchema"].get("properties", {}).items() if isinstance(one, dict)}
    return {"name": tool["name"], "inputSchema": {"type": "object", "properties": properties}}


async def _pass_on(source: AsyncIterator[Any], send: Callable[[Any], Awaitable[None]], wants: Callable[[Any], bool]) -> None:
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        async for item in source:
            if isinstance(item, SessionMessage) and wants(item.message):
                await send(item)


def _declare_forms_alone(message: Any) -> bool:
    """Take the capability of URL mode, which the client always declares beside that of forms, out of its first request."""
    if isinstance(message, types.JSONRPCRequest) and message.method == "initialize":
        ((message.params or {})["capabilities"].get("elicitation") or {}).pop("url", None)
    return True


def _explain_refusal(message: str, schema: JsonObject) -> str:
    """Say why a form cannot be shown; empty where it can."""
    if len(to_json([message, schema], fallback=str)) > _MOST_DESCRIBED:
        return f"it is longer than {_MOST_DESCRIBED:,} bytes."
    odd = next((name for name, field in schema["properties"].items() if not isinstance(field, dict) or field.get("type") not in _FLAT), None)
    return "" if odd is None else f"its field '{odd[:80]}' is not a text, a number, a boolean or a choice."
