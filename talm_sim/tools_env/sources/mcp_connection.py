"""The connection to an MCP server: one that has ended is started, or connected to, again, and those who lost something are told.

A server may ask the person to fill in a form: by the result of a call, which is then made again (specification 2026-07-28), or while a call of
it runs (2025-11-25).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
from mcp import Client, MCPError, types
from mcp.shared.message import SessionMessage
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic_core import to_json

from talm_sim.common.credentials import Hider
from talm_sim.common.json_values import leaves
from talm_sim.errors import PrerequisiteError, ProviderError
from talm_sim.foreign.error_text import escape_control
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
_REFUSED: Final = {
    "sampling/createMessage": "it asked for a model's answer (sampling), which is refused",
    "roots/list": "it asked for folders (roots), which is refused",
}
_FLAT: Final = frozenset({"string", "number", "integer", "boolean", "array"})
_QUIET = logging.NullHandler()

log = logging.getLogger(__name__)


class Server:
    """A server and the client that talks to it."""

    def __init__(self, request: SourceRequest, given: Mapping[str, str], hide: Hider, seconds: float) -> None:
        self.tools: list[tuple[Any, str]] = []
        """Each tool, as the server describes it, with the reason why the client cannot have it, if any."""
        self.alone = asyncio.Lock()
        """Held by a call during which the server may ask a person: what it asks then belongs to that call."""
        self.modern = False
        """Whether it asks by the results of calls, so that one server serves all episodes."""
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
        self, tool: str, arguments: Mapping[str, object], episode: str, limit: asyncio.Timeout, *, reads: bool, again: Mapping[str, Any]
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Make a call of an episode, which changes something unless it only reads; its time limit stands still while a person is asked.

        One that is made `again` is sent the person's decisions (`said`) and the server's `state` besides.

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
        if not self.modern:
            self._person, self._limit = current_person.get(), limit
        try:
            said = {key: _as_result(one) for key, one in again["said"].items()} or None
            make = partial(client.session.call_tool, tool, dict(arguments), input_responses=said, request_state=again["state"])
            return await self._call(client, partial(make, allow_input_required=True))
        except Exception:
            if self._client is client:
                raise
            self._changing.discard(episode)
            raise ProviderError(f"{has_ended}{self._last_words()}.") from None
        finally:
            self._person = self._limit = None
            for asking in self._asking:  # the server did not wait for the answer
                asking.cancel()

    async def _call(self, client: Client, make: Callable[[], Awaitable[Any]]) -> Any:
        try:
            return await make()
        except MCPError as err:
            if err.code != types.HEADER_MISMATCH:
                raise
            await self._list(client)  # which arguments go to headers has changed
            return await make()

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
            person = self._elicit if self._request.person else None
            async with Client(self._transport(over), elicitation_callback=person) as client:
                await self._list(client)
                self._client, self.modern = client, client.protocol_version in MODERN_PROTOCOL_VERSIONS
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
            if message.method in _REFUSED:
                log.warning("MCP server '%s': %s", self._request.name, _REFUSED[message.method])
            self._unasked -= 1
            return self._unasked >= 0  # the client answers it, which the server waits for
        if isinstance(message, types.JSONRPCResponse) and isinstance(items := message.result.get("tools"), list):
            self._page = [(tool, _explain_odd_tool(tool)) for tool in items]
            message.result["tools"] = [_minimal_tool(tool) for tool, reason in self._page if not reason]
        return isinstance(message, types.JSONRPCResponse | types.JSONRPCError)

    async def _list(self, client: Client) -> None:
        self.tools, size, cursor, seen = [], 0, None, set[str]()
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
            if not (cursor := page.next_cursor) or not self._page:
                return
            if cursor in seen:
                raise PrerequisiteError(f"its list of tools does not end: the cursor '{escape_control(cursor[:40])}' came twice")
            seen.add(cursor)

    def read_forms(self, result: types.InputRequiredResult) -> dict[str, Form]:
        """Return what the server asks of the person before it answers a call; see `_read_form`."""
        nobody = "" if current_person.get() else "it asks for a form, and nobody is there (--human)"
        return {key: self._read_form(one.params, _REFUSED.get(one.method, nobody)) for key, one in (result.input_requests or {}).items()}

    def _read_form(self, params: Any, why: str = "") -> Form:
        if isinstance(params, types.ElicitRequestURLParams):
            why = f"it wanted to send the person to a web page ({(urlsplit(params.url).hostname or '')[:100]}), which is refused"
        if why := self._hide.text(why or _explain_refusal(params.message, params.requested_schema)):
            log.warning("MCP server '%s': %s", self._request.name, why)
            raise PrerequisiteError(why)
        form = {"message": params.message, "fields": params.requested_schema, "source": self._request.name}
        return Form.model_validate(self._hide.value(form))

    async def _elicit(self, context: Any, params: Any) -> types.ElicitResult | types.ErrorData:
        """Answer what the server asks of a person: the person of the episode whose call is under way."""
        try:
            form = self._read_form(params)
        except PrerequisiteError as err:
            return types.ErrorData(code=types.INVALID_PARAMS, message=str(err))
        if self._person is None or self._limit is None:
            return types.ErrorData(code=types.INVALID_REQUEST, message="There is no call under way whose person could be asked.")
        try:
            return _as_result(await self._ask(self._person(form), self._limit))
        except asyncio.CancelledError:
            return types.ElicitResult(action="cancel")

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


def _as_result(decision: Decision) -> types.ElicitResult:
    """Return a person's decision as a server reads it."""
    return types.ElicitResult(action=decision.action, content=decision.content if decision.action == "accept" else None)


def _explain_odd_tool(tool: Any) -> str:
    """Say why a tool cannot be shown to the client, which would refuse its whole page; empty if it can."""
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
        return "it has no name."
    if len(to_json(tool)) > _MOST_DESCRIBED:
        return f"its description is longer than {_MOST_DESCRIBED:,} bytes."
    if not isinstance(schema := tool.get("inputSchema"), dict) or schema.get("type") != "object":
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
    """Take the capability of URL mode, which the client always declares beside that of forms, out of a request."""
    params = (isinstance(message, types.JSONRPCRequest) and message.params) or {}
    declared = params.get("capabilities") or params.get("_meta", {}).get(types.CLIENT_CAPABILITIES_META_KEY) or {}
    (declared.get("elicitation") or {}).pop("url", None)
    return True


def _explain_refusal(message: str, schema: JsonObject) -> str:
    """Say why a form cannot be shown; empty where it can."""
    if len(to_json([message, schema], fallback=str)) > _MOST_DESCRIBED:
        return f"its form is longer than {_MOST_DESCRIBED:,} bytes"
    if any(isinstance(one, int) and not -(2**63) <= one < 2**63 for _, one in leaves(schema)):
        return "its form holds a whole number of more than 64 bits"  # no checkpoint keeps one
    odd = next((name for name, field in schema["properties"].items() if not isinstance(field, dict) or field.get("type") not in _FLAT), None)
    return "" if odd is None else f"its form's field '{odd[:80]}' is not a text, a number, a boolean or a choice"
