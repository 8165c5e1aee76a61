"""An MCP server as a source of tools, through the official client: a program beside this process (stdio), or an address (streamable HTTP).

The server lives as long as the source. A program is given the few variables it needs to start, and those the user names, not our environment.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import re
import shlex
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import IO, TYPE_CHECKING, Any

from talm_sim.credentials import Hider, credentials_in_environment, sendable
from talm_sim.errors import PrerequisiteError, ProviderError, pip_install
from talm_sim.recordings import HttpResponse
from talm_sim.tools_env.routes import answer, failure, posted, too_large
from talm_sim.tools_env.sources import limits
from talm_sim.tools_env.sources.base import NotTaken, SourceRequest, tool_spec
from talm_sim.tools_env.sources.mcp_limits import is_too_large, limited_transport
from talm_sim.tools_env.sources.mcp_results import leave_unchecked, misfit
from talm_sim.tools_env.sources.openapi_document import MOST_TOOLS, simple_schema
from talm_sim.types import JsonObject, ToolSpec

if TYPE_CHECKING:
    from mcp import Client, Tool
    from mcp.types import CallToolResult

__all__ = ["McpSource", "open_mcp"]

START_S = 30.0
CALL_S = 30.0
STOP_S = 10.0
_QUIET = logging.NullHandler()


class McpSource:
    """The tools of one MCP server; attributes as of `ToolSource`. Its resources and prompts are left out.

    Args:
        request: What to start, or where it is.
    """

    def __init__(self, request: SourceRequest) -> None:
        self.name = request.name
        self.specs: dict[str, ToolSpec] = {}
        self.responses: dict[str, JsonObject] = {}
        self.not_taken: list[NotTaken] = []
        self.reading: set[str] = set()
        self._request = request
        self._given = _given(request.options)
        self._hide = Hider.knowing(credentials_in_environment(), tuple(self._given.values()))
        self._theirs: dict[str, str] = {}
        self._client: Client | None = None
        self._end = asyncio.Event()
        self._errors: IO[str] = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed by aclose()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the server and ask for its tools.

        Raises:
            PrerequisiteError: It does not start, does not answer, or has no tool that can be taken.
        """
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # The client must be closed by the task that opened it.
        self._task = asyncio.create_task(self._hold(ready))
        try:
            async with asyncio.timeout(START_S):
                await ready
        except TimeoutError:
            raise PrerequisiteError(f"the MCP server did not answer within {START_S:g} s{self._last_words()}.") from None
        if not self.specs:
            why = f": {self.not_taken[0].tool}: {self.not_taken[0].reason}" if self.not_taken else "."
            raise PrerequisiteError(f"the MCP server has no tool that can be taken{why}")
        self.routes = posted(self.name, self.specs)

    async def call(self, tool: str, arguments: Mapping[str, object], episode: str) -> HttpResponse:
        """Make a call; see `ToolSource`."""
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED

        gone = f"The MCP server '{self.name}' has ended"
        if self._client is None or self._task is None or self._task.done():
            raise ProviderError(f"{gone}{self._last_words()}.")
        try:
            async with asyncio.timeout(CALL_S):
                result = await self._client.call_tool(self._theirs[tool], dict(arguments))
        except TimeoutError:
            raise
        except MCPError as err:
            if is_too_large(err.error.message):
                return too_large(200)
            if err.error.code == CONNECTION_CLOSED:
                raise ProviderError(f"{gone}{self._last_words()}.") from None
            return failure(400, self._hide.text(err.error.message))
        except Exception as err:  # the client's own failures: a result that does not fit, a broken stream
            return failure(502, self._hide.text(f"{type(err).__name__}: {' '.join(str(err).split())[:300]}"))
        return self._response(tool, result)

    def _response(self, tool: str, result: CallToolResult) -> HttpResponse:
        value = _value_of(result)
        if result.is_error:
            return failure(500, self._hide.text(value if isinstance(value, str) else json.dumps(value)))
        if why := misfit(self.responses.get(tool, {}), result.structured_content):
            return failure(502, self._hide.text(why))
        made = answer(value)
        if len(made.body) > limits.MOST_BYTES:  # over stdio the client has read it whole
            return too_large(made.status)
        return HttpResponse(made.status, made.reason, made.headers, self._hide.body(made.body))

    async def aclose(self) -> None:
        """End the server."""
        self._end.set()
        if self._task is not None:
            if self._client is None:
                self._task.cancel()  # it does not answer, and would not hear of the end either
            done, _ = await asyncio.wait([self._task], timeout=STOP_S)
            if not done:
                self._task.cancel()
                await asyncio.wait([self._task], timeout=STOP_S)
        self._errors.close()

    async def _hold(self, ready: asyncio.Future[None]) -> None:
        try:
            async with self._connected() as client:
                leave_unchecked(client)
                await self._take_tools(client)
                self._client = client
                if not ready.done():
                    ready.set_result(None)
                await self._end.wait()
        except Exception as err:  # a server may fail in any way, and the client wraps it in groups
            if not ready.done():
                ready.set_exception(PrerequisiteError(f"the MCP server could not be asked for its tools ({_told(err)}){self._last_words()}."))
        finally:
            self._client = None

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Client]:
        import httpx2
        from mcp import Client, StdioServerParameters
        from mcp.client.stdio import stdio_client
        from mcp.client.streamable_http import streamable_http_client

        place = self._request.place
        if place.startswith(("http://", "https://")):
            secret = self._given.get("Authorization")
            headers = {"Authorization": f"Bearer {secret}"} if secret else {}
            headers["Accept-Encoding"] = limits.ACCEPTED_ENCODINGS
            transport = limited_transport()
            async with (
                httpx2.AsyncClient(headers=headers, timeout=CALL_S, trust_env=False, transport=transport) as http,
                Client(streamable_http_client(place, http_client=http, max_sse_event_size=limits.MOST_BYTES)) as client,
            ):
                yield client
            return
        program, *words = shlex.split(place)
        parameters = StdioServerParameters(command=program, args=words, env=self._given)
        # What it says on standard error is nobody's progress: its last line is told where it fails.
        async with Client(stdio_client(parameters, errlog=self._errors)) as client:
            yield client

    async def _take_tools(self, client: Client) -> None:
        cursor: str | None = None
        while True:
            page = await client.list_tools(cursor=cursor)
            for tool in page.tools:
                self._take(tool)
            cursor = page.next_cursor
            if len(self.specs) > MOST_TOOLS:
                raise PrerequisiteError(f"it has more than {MOST_TOOLS:,} tools")
            if not cursor or not page.tools:
                break
        for what, ask in (("resources", client.list_resources), ("prompts", client.list_prompts)):
            with contextlib.suppress(Exception):  # most servers have none and say so in ways of their own
                if getattr(await ask(), what):
                    self.not_taken.append(NotTaken(what, "an agent is offered tools alone."))

    def _take(self, tool: Tool) -> None:
        name = re.sub(r"\W+", "_", tool.name, flags=re.ASCII)[:64]
        try:
            if name in self.specs:
                raise PrerequisiteError(f"the name '{name}' is taken twice.")
            parameters = {"type": "object", "properties": {}, **simple_schema(tool.input_schema)}
            description = " ".join((tool.description or tool.title or "").split())
            spec = tool_spec({"name": name, "category": self.name, "description": description, "parameters": parameters})
        except PrerequisiteError as err:
            self.not_taken.append(NotTaken(tool.name, str(err)))
            return
        self.specs[name] = spec
        self._theirs[name] = tool.name
        if tool.annotations and tool.annotations.read_only_hint:
            self.reading.add(name)
        if tool.output_schema:
            self.responses[name] = tool.output_schema

    def _last_words(self) -> str:
        """The last line the server wrote to standard error, as the end of a message."""
        with contextlib.suppress(OSError, ValueError):
            self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - 2_000))
            lines = [line.strip() for line in self._errors.read().splitlines() if line.strip()]
            if lines:
                return f"; it said: {self._hide.text(lines[-1])[:300]}"
        return ""


async def open_mcp(request: SourceRequest) -> McpSource:
    """Start a server, or connect to one.

    Options: `env=NAME+NAME` passes variables of the environment on to a program; `auth=NAME` sends one as a bearer token to an address.

    Raises:
        PrerequisiteError: The client is not installed, or the server cannot be asked for its tools.
    """
    try:
        import mcp  # noqa: F401
    except ImportError:
        raise PrerequisiteError(f"the MCP client is not installed: {pip_install('mcp')}") from None
    if "@" in request.place.partition("://")[2].partition("/")[0]:
        raise PrerequisiteError("an address with a user or password would be written into the run; name a variable: ,auth=VARIABLE.")
    for logger in (
        "mcp",
        "client",
    ):  # they log, with tracebacks, what a server says beside the protocol; failures are told by us
        logging.getLogger(logger).addHandler(_QUIET)
    source = McpSource(request)
    try:
        await source.start()
    except BaseException:
        await source.aclose()
        raise
    return source


def _given(options: Mapping[str, str]) -> dict[str, str]:
    """Variables a program is given, or the credential an address is sent."""
    names = [name for name in options.get("env", "").split("+") if name]
    for name in [*names, *([options["auth"]] if "auth" in options else [])]:
        if not os.environ.get(name):
            raise PrerequisiteError(f"the environment variable {name} is not set.")
    found = {name: os.environ[name] for name in names}
    return found | ({"Authorization": sendable(options["auth"], os.environ[options["auth"]])} if "auth" in options else {})


def _value_of(result: Any) -> Any:
    """What a tool gave back: its structured value, else its text, read as JSON where it is that."""
    if result.structured_content is not None:
        return result.structured_content
    texts = [part.text if part.type == "text" else f"[{part.type}]" for part in result.content]
    whole = "\n".join(texts)
    try:
        return json.loads(whole)
    except (ValueError, RecursionError):
        return whole


def _told(err: BaseException) -> str:
    """The first of what a group of errors holds, in a line."""
    while isinstance(err, BaseExceptionGroup):
        err = err.exceptions[0]
    if isinstance(err, FileNotFoundError):
        return "there is no such program"
    return " ".join(str(err).split())[:200] or type(err).__name__
