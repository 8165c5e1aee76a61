"""Tools behind a server, OpenAPI and MCP, and how an agent that has no framework for them takes them: nothing of talm-sim is imported."""

from __future__ import annotations

import asyncio
import json
import sys
import urllib.request
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from langchain_core.tools import BaseTool, StructuredTool


def _operation(name: str, about: str, kind: str, *parameters: dict[str, Any]) -> dict[str, Any]:
    answers = {"200": {"description": "ok", "content": {kind: {"schema": {}}}}}
    return {"get": {"operationId": name, "summary": about, "parameters": [*parameters], "responses": answers}}


_CITY = {"name": "city", "in": "query", "required": True, "description": "Where.", "schema": {"type": "string"}}
_DAYS = {"name": "days", "in": "query", "schema": {"type": ["integer", "null"], "minimum": 1, "default": 2}}
_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
_UNIT = {"name": "unit", "in": "query", "schema": {"type": "string", "enum": ["C", "F"]}}
DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Weather", "version": "1"},
    "paths": {
        "/forecast": _operation("forecast", "Weather in a city.", "application/json", _CITY, _DAYS),
        "/stations/{id}": _operation("station", "A station.", "application/json", _ID, _UNIT),
        "/bulletin": _operation("bulletin", "The bulletin of the day.", "text/csv"),
    },
}
ANSWERS = {
    "forecast": ("application/json", '{"zone": "CET", "degrees": 31.0, "city": "M\\u00e1laga"}'),
    "stations": ("application/json", '{"unit":"C","id":7,"at":[40.4,-3.7],"open":null}'),
    "bulletin": ("text/csv; charset=utf-8", 'city,"degrees"\nMálaga,31\n'),
}


async def tools_of(kind: str, places: Mapping[str, str], stack: AsyncExitStack) -> list[BaseTool]:
    """The tools of a server, for as long as the stack lasts."""
    if kind == "openapi":
        return [_of_operation(path, item["get"], places["openapi"]) for path, item in DOCUMENT["paths"].items()]
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    server = StdioServerParameters(command=sys.executable, args=[places["mcp_program"]])
    client = await stack.enter_async_context(Client(places["mcp_http"] if kind == "mcp_http" else stdio_client(server)))
    return [_of_mcp(client, tool) for tool in (await client.list_tools()).tools]


def _of_operation(path: str, operation: Mapping[str, Any], url: str) -> BaseTool:
    given = operation.get("parameters", [])
    properties = {one["name"]: one["schema"] | ({"description": one["description"]} if "description" in one else {}) for one in given}
    required = [one["name"] for one in given if one.get("required")]
    schema = {"type": "object", "properties": properties} | ({"required": required} if required else {})

    async def call(**arguments: Any) -> Any:
        in_path = {one["name"]: quote(str(arguments.pop(one["name"]))) for one in given if one["in"] == "path"}
        query = urlencode({name: value for name, value in arguments.items() if value is not None})
        return await asyncio.to_thread(_get, url + path.format(**in_path) + f"?{query}" * bool(query))

    name, about = operation["operationId"], operation["summary"]
    return StructuredTool.from_function(None, call, name=name, description=about, args_schema=schema, infer_schema=False)


def _get(url: str) -> Any:
    with urllib.request.urlopen(url) as answer:
        body = answer.read().decode()
        return json.loads(body) if answer.headers["content-type"] == "application/json" else body


def _of_mcp(client: Any, tool: Any) -> BaseTool:
    async def call(**arguments: Any) -> str:
        result = await client.call_tool(tool.name, arguments)
        return "\n".join(part.text if part.type == "text" else part.resource.text for part in result.content)

    return StructuredTool.from_function(
        None, call, name=tool.name, description=tool.description, args_schema=tool.input_schema, infer_schema=False
    )


MCP_SERVER = '''
import sys
from typing import Any
from mcp.server.mcpserver import MCPServer
from mcp.types import EmbeddedResource, TextResourceContents

server = MCPServer("weather", log_level="ERROR")

@server.tool("get-forecast")
def get_forecast(city: str) -> str:
    """Weather in a city.

    In two lines.
    """
    return f'{city}:\\n"31 degrees"'

@server.tool()
def entry(city: str, days: int | None = None) -> dict[str, Any]:
    """The city's entry.

    With what is known of it.
    """
    return {"name": city, "degrees": 31, "days": days, "at": "Málaga"}

@server.tool()
def numbers() -> list[int]:
    """The stations' numbers."""
    return [3, 1, 2]

@server.tool()
def page() -> EmbeddedResource:
    """The page of the day."""
    resource = TextResourceContents(uri="file:///page.md", mimeType="text/markdown", text="# Sunny\\n")
    return EmbeddedResource(type="resource", resource=resource)

if sys.argv[1:]:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
else:
    server.run()
'''


def write_program(directory: Path) -> Path:
    """Write the MCP server as a program: over stdio, or over HTTP at the port that it is given."""
    program = directory / "weather_server.py"
    program.write_text(MCP_SERVER, encoding="utf-8")
    return program
