"""The wall between the MCP client and a server: each answer once, within limits, in a form that cannot break or burden the client."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.dispatcher import coerce_request_id
from mcp.types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from pydantic_core import to_json

TOO_LARGE: Final = "talm-sim: answer too large"
_MOST_OF_A_TOOL: Final = 100_000
"""Bytes that the description of one tool may have, its schema included."""
_MOST_ASKED: Final = 20
"""Requests of the server, for example for a model's answer or a person's, that are answered per request of ours; further ones are ignored."""


class Wall:
    """Filters between one server and the client.

    Attributes:
        listed: The tools of the last page of a list, as the server sent them; the client is shown those of them that it can take.
        ended: Set once nothing more comes.
    """

    def __init__(self) -> None:
        self.listed: list[Any] = []
        self.ended = asyncio.Event()
        self._asked: dict[Any, str] = {}
        self._left = 0

    def asks(self, message: Any) -> None:
        """Note what the client sends."""
        if isinstance(message, JSONRPCRequest):
            _declare_forms_alone(message.params or {})
            self._asked[message.id] = message.method
            self._left = _MOST_ASKED
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._asked.pop((message.params or {}).get("requestId"), None)

    def filter_incoming(self, message: Any) -> Any:
        """Return what the client should read of a message; None for progress, logs, changes of the list of tools, and answers to nothing."""
        if isinstance(message, JSONRPCRequest):
            self._left -= 1
            return message if self._left >= 0 else None  # the client answers it, which the server waits for
        if isinstance(message, JSONRPCNotification) or message.id is None:
            return None
        method = self._asked.pop(coerce_request_id(message.id), "")
        if isinstance(message, JSONRPCError) or not method:
            return message if method else None
        items = message.result.get("tools") if method == "tools/list" else None
        if not isinstance(items, list):
            return message
        self.listed = items
        shown = [_minimal_tool(tool) for tool in items if not explain_refusal(tool)]
        return JSONRPCResponse(jsonrpc="2.0", id=message.id, result={**message.result, "tools": shown})


def explain_refusal(tool: Any) -> str:
    """Say why a tool cannot be shown to the client, which would refuse its whole page; empty if it can."""
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
        return "it has no name."
    if len(to_json(tool)) > _MOST_OF_A_TOOL:
        return f"its description is longer than {_MOST_OF_A_TOOL:,} bytes."
    schema = tool.get("inputSchema")
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return 'its inputSchema has no "type": "object".'
    return "" if isinstance(schema.get("properties", {}), dict) else "the properties of its inputSchema are not schemas."


def _minimal_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the client needs of a tool: its name, and which arguments go to headers."""
    properties = {name: one for name, one in tool["inputSchema"].get("properties", {}).items() if isinstance(one, dict)}
    return {"name": tool["name"], "inputSchema": {"type": "object", "properties": properties}}


def _declare_forms_alone(params: Mapping[str, Any]) -> None:
    """Take the capability of URL mode, which the client always declares beside that of forms, out of the parameters of a request."""
    for one in (params.get("capabilities"), *(params.get("_meta") or {}).values()):
        elicitation = one.get("elicitation") if isinstance(one, dict) else None
        if isinstance(elicitation, dict):
            elicitation.pop("url", None)


class IncomingStream(ObjectReceiveStream[Any]):
    """A stream of messages to the client, through the wall."""

    def __init__(self, stream: Any, wall: Wall) -> None:
        self._stream, self._wall = stream, wall

    async def receive(self) -> Any:
        """Return the next message that passes."""
        while True:
            try:
                item = await self._stream.receive()
            except BaseException:
                self._wall.ended.set()
                raise
            if not isinstance(item, Exception) and (message := self._wall.filter_incoming(item.message)) is not None:
                item.message = message
                return item

    async def aclose(self) -> None:
        """Close it."""
        await self._stream.aclose()


class OutgoingStream(ObjectSendStream[Any]):
    """A stream of messages from the client, seen by the wall."""

    def __init__(self, stream: Any, wall: Wall) -> None:
        self._stream, self._wall = stream, wall

    async def send(self, item: Any, /) -> None:
        """Send a message."""
        self._wall.asks(item.message)
        await self._stream.send(item)

    async def aclose(self) -> None:
        """Close it."""
        await self._stream.aclose()
