"""An MCP server as a source of tools, through the official client: a program beside this process (stdio), or an address (streamable HTTP).

The server lives as long as the source. A program is given the few variables it needs to start, and those the user names, not our environment.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from talm_sim.common.credentials import Hider, checked_credential, credentials_in_environment
from talm_sim.errors import PrerequisiteError, ProviderError, pip_install
from talm_sim.foreign.error_text import error_line, escape_control
from talm_sim.recordings import HttpResponse
from talm_sim.schemas import NotChecked, Schema
from talm_sim.tools_env.routes import TOO_LARGE, answer, failure, oversized_response, posted
from talm_sim.tools_env.sources import base
from talm_sim.tools_env.sources.base import NotTaken, SourceOptions, SourceRequest, tool_name, tool_spec
from talm_sim.tools_env.sources.registry import SourceKind
from talm_sim.tools_env.sources.tool_schemas import read_schema
from talm_sim.types import JsonObject, ToolSpec

if TYPE_CHECKING:
    from talm_sim.tools_env.sources.mcp_connection import Server

START_S = 30.0
CALL_S = 30.0


class McpOptions(SourceOptions):
    """Options of an MCP server."""

    place_has_commas: ClassVar[bool] = True

    env: str = Field("", description="Environment variables passed to a server program, as NAME+NAME.")
    auth: str = Field("", description="Environment variable whose value is sent to a server address as a bearer token.")


class McpSource:
    """The tools of one MCP server; attributes are those of `ToolSource`.

    What is offered is what the server had when it was first asked. A server that has ended is started, or connected to, again at the next
    call; the calls of episodes that may have changed something in it fail.

    Where a run has a person, the server may ask that person something during a call, but not say which call that is. So each episode then has
    a server, or a session with it, of its own from its first call to its end, and makes one call of it at a time.
    """

    def __init__(self, request: SourceRequest) -> None:
        self.name = request.name
        self.specs: dict[str, ToolSpec] = {}
        self.responses: dict[str, JsonObject] = {}
        self.not_taken: list[NotTaken] = []
        self.reading: set[str] = set()
        self._request = request
        self._given = _read_options(request.options)
        self._hide = Hider.from_environment(credentials_in_environment(), tuple(self._given.values()))
        self._theirs: dict[str, str] = {}
        self._servers: list[Server] = []
        self._of_episode: dict[str, Server] = {}

    async def start(self) -> None:
        """Start the server and ask for its tools."""
        first = self._add_server()
        await first.open(START_S)
        if self._request.person:
            first.end()
        for tool, reason in first.tools:
            self._add_tool(tool, reason)
            await asyncio.sleep(0)  # the end of the command is heard between tools
        if not self.specs:
            why = f": {self.not_taken[0].tool}: {self.not_taken[0].reason}" if self.not_taken else "."
            raise PrerequisiteError(f"the MCP server has no usable tool{why}")
        self.routes = posted(self.name, self.specs, asks=self._request.person)

    async def call(self, tool: str, arguments: Mapping[str, object], episode: str) -> HttpResponse:
        """Make a call; see `ToolSource`."""
        if not self._request.person:
            return await self._call(self._servers[0], tool, arguments, episode)
        if episode not in self._of_episode:
            self._of_episode[episode] = self._add_server()
        async with self._of_episode[episode].alone:
            return await self._call(self._of_episode[episode], tool, arguments, episode)

    async def _call(self, server: Server, tool: str, arguments: Mapping[str, object], episode: str) -> HttpResponse:
        from mcp import MCPError
        from mcp.types import URL_ELICITATION_REQUIRED

        try:
            async with asyncio.timeout(CALL_S) as limit:
                result = await server.call(self._theirs[tool], arguments, episode, limit, reads=tool in self.reading)
        except (ProviderError, TimeoutError):
            raise
        except MCPError as err:
            if any(said in err.error.message for said in (TOO_LARGE, "Server-sent event exceeded the ")):  # the second is the client's
                return oversized_response(200)
            page = " It wants the person to open a web page, which is refused here." if err.error.code == URL_ELICITATION_REQUIRED else ""
            return failure(400, self._hide.text(err.error.message + page))
        except Exception as err:  # the client's own failures: a result that does not fit
            return failure(502, self._hide.text(error_line(err, 300)))
        return self._response(tool, result)

    def leave(self, episode: str) -> None:
        """End the server of an episode that has ended."""
        if server := self._of_episode.pop(episode, None):
            server.end()

    def _response(self, tool: str, result: Any) -> HttpResponse:
        value = _value_of(result)
        if result.is_error:
            return failure(500, self._hide.text(value if isinstance(value, str) else json.dumps(value)))
        if why := _explain_misfit(self.responses.get(tool, {}), result.structured_content):
            return failure(502, self._hide.text(why))
        made = answer(value)
        if len(made.body) > base.MOST_BYTES:
            return oversized_response(made.status)
        return HttpResponse(made.status, made.reason, made.headers, self._hide.body(made.body))

    async def aclose(self) -> None:
        """End the servers."""
        await asyncio.gather(*(server.aclose() for server in self._servers))

    def _add_server(self) -> Server:
        from talm_sim.tools_env.sources.mcp_connection import Server  # it needs the client, which is an extra

        self._servers.append(Server(self._request, self._given, self._hide, CALL_S))
        return self._servers[-1]

    def _add_tool(self, tool: Any, reason: str) -> None:
        theirs = str(tool.get("name", "")) if isinstance(tool, dict) else ""
        name = tool_name(theirs)
        try:
            if reason:
                raise PrerequisiteError(reason)
            self.specs[name] = self._spec(name, tool)
        except PrerequisiteError as err:
            self.not_taken.append(NotTaken(escape_control(theirs[:80]) or "(a tool without a name)", str(err)))
            return
        self._theirs[name] = theirs
        notes, output = tool.get("annotations"), tool.get("outputSchema")
        if isinstance(notes, dict) and notes.get("readOnlyHint") is True:
            self.reading.add(name)
        if isinstance(output, dict) and output:
            self.responses[name] = output

    def _spec(self, name: str, tool: Mapping[str, Any]) -> ToolSpec:
        if not name.strip("_"):
            raise PrerequisiteError("its name has no ASCII letter or digit.")
        if name in self.specs:
            raise PrerequisiteError(f"the name '{name}' is used twice.")
        shown, whole = read_schema(tool["inputSchema"])
        parameters = {"type": "object", "properties": {}, **shown}
        description = next((text for text in (tool.get("description"), tool.get("title")) if text and isinstance(text, str)), "")
        shown_as = {"name": name, "category": self.name, "description": " ".join(description.split()), "parameters": parameters}
        return tool_spec({**shown_as, "whole": whole})


async def _open_mcp(request: SourceRequest) -> McpSource:
    """Start a server, or connect to one."""
    if find_spec("mcp") is None:
        raise PrerequisiteError(f"the MCP client is not installed: {pip_install('mcp')}")
    if "@" in request.place.partition("://")[2].partition("/")[0]:
        raise PrerequisiteError("an address with a user or password would be written into the run; name a variable: ,auth=VARIABLE.")
    source = McpSource(request)
    try:
        await source.start()
    except BaseException:
        await source.aclose()
        raise
    return source


MCP = SourceKind(_open_mcp, McpOptions)


def _read_options(options: McpOptions) -> dict[str, str]:
    """Return the variables that a program receives, or the credential that an address is sent."""
    names = [name for name in options.env.split("+") if name]
    for name in filter(None, [*names, options.auth]):
        if not os.environ.get(name):
            raise PrerequisiteError(f"the environment variable {name} is not set.")
    found = {name: os.environ[name] for name in names}
    return found | ({"Authorization": checked_credential(options.auth, os.environ[options.auth])} if options.auth else {})


def _value_of(result: Any) -> Any:
    """Return what a tool returned: its structured value, else its text, read as JSON if possible."""
    if result.structured_content is not None:
        return result.structured_content
    whole = "\n".join(part.text if part.type == "text" else f"[{part.type}]" for part in result.content)
    try:
        return json.loads(whole)
    except (ValueError, RecursionError):
        return whole


def _explain_misfit(schema: JsonObject, value: Any) -> str:
    """Say why a structured result does not fit its tool's schema, if it has one; empty if it does, or if that cannot be decided."""
    if schema and value is None:
        return "the tool has an output schema, but gave no structured result"
    try:
        fault = Schema(schema).fault(value)
    except NotChecked:
        return ""
    return f"its structured result does not fit its output schema: {fault.message[:300]}" if fault else ""
