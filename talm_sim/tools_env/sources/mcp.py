"""An MCP server as a source of tools, through the official client: a program beside this process (stdio), or an address (streamable HTTP).

The server lives as long as the source. A program is given the few variables it needs to start, and those the user names, not our environment.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from talm_sim.common.credentials import Hider, checked_credential, credentials_in_environment
from talm_sim.common.json_values import leaves, read_json
from talm_sim.errors import PrerequisiteError, ProviderError, pip_install
from talm_sim.foreign.error_text import error_line, escape_control
from talm_sim.recordings import ARTIFACT_HEADER, PLAIN_HEADER, HttpResponse
from talm_sim.schemas import Schema
from talm_sim.tools_env.asking_tools import CallPaused, made_again
from talm_sim.tools_env.routes import TOO_LARGE, answer, function_error, oversized_response, posted
from talm_sim.tools_env.sources import base
from talm_sim.tools_env.sources.base import NotTaken, SourceOptions, SourceRequest, tool_name, tool_spec
from talm_sim.tools_env.sources.registry import SourceKind
from talm_sim.tools_env.sources.tool_schemas import read_schema
from talm_sim.types import JsonObject, ToolSpec

if TYPE_CHECKING:
    from mcp.types import CallToolResult

    from talm_sim.tools_env.sources.mcp_connection import Server

START_S = 30.0
CALL_S = 30.0
MOST_ROUNDS = 8
"""How often a server may ask for something before it answers a call."""

log = logging.getLogger(__name__)


class McpOptions(SourceOptions):
    """Options of an MCP server."""

    place_has_commas: ClassVar[bool] = True

    env: str = Field("", description="Environment variables passed to a server program, as NAME+NAME.")
    auth: str = Field("", description="Environment variable whose value is sent to a server address as a bearer token.")


class McpSource:
    """The tools of one MCP server; attributes are those of `ToolSource`.

    What is offered is what the server had when it was first asked. A server that has ended is started, or connected to, again at the next
    call; the calls of episodes that may have changed something in it fail.

    Where a run has a person, the server may ask that person something first; the call then ends, and is made again with the answers. A server
    of an earlier version of the protocol asks during a call, but does not say which call that is. So each episode then has a server, or a
    session with it, of its own from its first call to its end, and makes one call of it at a time.
    """

    def __init__(self, request: SourceRequest) -> None:
        self.name = request.name
        self.specs: dict[str, ToolSpec] = {}
        self.responses: dict[str, JsonObject] = {}
        self.not_taken: list[NotTaken] = []
        self.reading: set[str] = set()
        self._request = request
        self._given = _read_options(request.options)
        self._hide = Hider.from_environment(credentials_in_environment(), tuple(self._given.values()), measured=True)
        self._theirs: dict[str, str] = {}
        self._said: set[str] = set()
        self._servers: list[Server] = []
        self._of_episode: dict[str, Server] = {}

    async def start(self) -> None:
        """Start the server and ask for its tools."""
        first = self._add_server()
        await first.open(START_S)
        if self._request.person and not first.modern:
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
        first = self._servers[0]
        if first.modern or not self._request.person:
            return await self._call(first, tool, arguments, episode)
        if episode not in self._of_episode:
            self._of_episode[episode] = self._add_server()
        async with self._of_episode[episode].alone:
            return await self._call(self._of_episode[episode], tool, arguments, episode)

    async def _call(self, server: Server, tool: str, arguments: Mapping[str, object], episode: str) -> HttpResponse:
        from mcp import MCPError
        from mcp.types import URL_ELICITATION_REQUIRED

        try:
            result = await self._call_in_rounds(server, tool, arguments, episode)
        except (ProviderError, TimeoutError, CallPaused):
            raise
        except MCPError as err:
            if any(said in err.error.message for said in (TOO_LARGE, "Server-sent event exceeded the ")):  # the second is the client's
                return oversized_response(200)
            page = " It wants the person to open a web page, which is refused here." if err.error.code == URL_ELICITATION_REQUIRED else ""
            return function_error(self._hide.text(err.error.message + page))
        except PrerequisiteError as err:  # what it asks first
            return function_error(self._hide.text(str(err)))
        except Exception as err:  # the client's own failures: a result that does not fit
            return function_error(self._hide.text(error_line(err, 300)))
        made = _read_result(result, self.responses.get(tool, {}))
        if made.status == 200 and result.structured_content is not None and tool not in self._said and _leaves_out(result):
            self._said.add(tool)
            log.warning("MCP server '%s': the structured result of %s says more than its content, which is what is read", self.name, tool)
        return oversized_response(made.status) if len(made.body) > base.MOST_BYTES else replace(made, body=self._hide.body(made.body))

    async def _call_in_rounds(self, server: Server, tool: str, arguments: Mapping[str, object], episode: str) -> CallToolResult:
        """Make a call as often as its server asks for something first; what it asks of the person ends it until they have answered."""
        from mcp.types import InputRequiredResult

        before = made_again.get()
        number, keys, state = before.kept["source"] if before else (0, (), None)
        said = dict(zip(keys, before.decisions, strict=True)) if before else {}
        for made in range(number, MOST_ROUNDS + 1):
            async with asyncio.timeout(CALL_S) as limit:
                again = {"said": said, "state": state}
                result = await server.call(self._theirs[tool], arguments, episode, limit, reads=tool in self.reading, again=again)
            if not isinstance(result, InputRequiredResult):
                return result
            forms, state, said = server.read_forms(result), result.request_state, {}
            if forms and made < MOST_ROUNDS:
                raise CallPaused([*forms.values()], {"source": (made + 1, [*forms], state)})
        raise PrerequisiteError(f"it asked for something more than {MOST_ROUNDS} times, and is not asked again")

    def leave(self, episode: str) -> None:
        """End the server of an episode that has ended."""
        if server := self._of_episode.pop(episode, None):
            server.end()

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
        description = next((text for text in (tool.get("description"), tool.get("title")) if text and isinstance(text, str)), "").strip()
        shown_as = {"name": name, "category": self.name, "description": description, "parameters": parameters}
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


def _read_result(result: Any, schema: JsonObject) -> HttpResponse:
    """Return what a tool returned as the answer that is recorded; one that its output schema, if it has one, does not allow is a failure."""
    value, blocks = result.structured_content, [*_blocks(result)]
    if result.is_error:
        whole = "\n".join(blocks)
        is_said = value is None or all(str(one) in whole for _, one in leaves(value))
        return function_error("\n".join(blocks if is_said else [*blocks, json.dumps(value, ensure_ascii=False)]) or "It said nothing.")
    if schema and value is None and "structured_content" not in result.model_fields_set:
        return function_error("the tool has an output schema, but gave no structured result")
    if schema and (why := Schema(schema).explain(value)):
        return function_error(f"its structured result does not fit its output schema: {why}")
    has_value = not blocks and "structured_content" in result.model_fields_set
    made = answer(value) if has_value else _answer_of("\n".join(blocks))
    if made.status != 200 or has_value or value is None:
        return made
    return replace(made, headers=(*made.headers, (ARTIFACT_HEADER, json.dumps(value))))  # as LangChain's adapter keeps it


def _leaves_out(result: Any) -> bool:
    """Return whether the structured value says something that the content, which is read in its place, does not."""
    blocks = [*_blocks(result, whole=True)]
    known = {str(one) for text in blocks for _, one in leaves(read_json(text))}
    return bool(blocks) and any(str(one) not in known and str(one) not in "\n".join(blocks) for _, one in leaves(result.structured_content))


def _blocks(result: Any, *, whole: bool = False) -> Iterator[str]:
    """Return the content as texts: of a resource its text, of a link its name and address, of other data what it is, or the `whole` of it."""
    for part in result.content:
        inner = part.resource if part.type == "resource" else part
        data = getattr(inner, "blob", None) or getattr(inner, "data", None)
        if part.type == "resource_link":
            yield f"[link: {part.name}, {part.uri}]"
        elif data is None or whole:
            yield data or inner.text
        else:
            where = f" {inner.uri}" if part.type == "resource" else ""
            yield f"[{part.type}{where}: {inner.mime_type or 'data'}, {len(data.rstrip('=')) * 3 // 4:,} bytes]"


def _answer_of(text: str) -> HttpResponse:
    """Return a text; one that is a JSON object or list is recorded as that, and read as it stands."""
    if not isinstance(value := read_json(text), dict | list):
        return answer(text if isinstance(value, str) or json.dumps(value) != text else value)
    made = answer(value)
    return replace(made, headers=(*made.headers, (PLAIN_HEADER, "1")), body=text.encode()) if made.status == 200 else answer(text)
