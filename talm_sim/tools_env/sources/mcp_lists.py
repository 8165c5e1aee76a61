"""Rewrite a list of tools over HTTP that has an unreadable one: the client, which reads whole messages, would take none of them."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from pydantic_core import from_json

__all__ = ["UNREADABLE", "Mender"]

UNREADABLE: Final = "talm-sim: cannot be read"
"""The key of the entry that replaces such a tool in the list."""
_END: Final = re.compile(rb"\r\n\r\n|\n\n|\r\r")
"""End of an event."""


class Mender:
    """Rewrites an answer if a tool in it cannot be read.

    Args:
        kind: The answer's content type: one message, or events with one each.
    """

    def __init__(self, kind: str) -> None:
        self._events = kind.strip().lower().startswith("text/event-stream")
        self._rest = bytearray()

    def feed(self, piece: bytes) -> bytes:
        """Return what the next piece completes."""
        begin, seen = 0, max(0, len(self._rest) - 3)
        self._rest += piece
        found = b""
        while self._events and (end := _END.search(self._rest, max(begin, seen))) is not None:
            found += _event(bytes(self._rest[begin : end.end()]))
            begin = end.end()
        del self._rest[:begin]
        return found

    def finish(self) -> bytes:
        """Return what is left at the end."""
        rest, self._rest = bytes(self._rest), bytearray()
        return rest if self._events else _message(rest)


def _event(event: bytes) -> bytes:
    lines = event.splitlines()
    data = b"\n".join(line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:"))
    corrected = _message(data)
    if corrected == data:
        return event
    return b"\n".join([*(line for line in lines if line and not line.startswith(b"data:")), b"data: " + corrected, b"", b""])


def _message(text: bytes) -> bytes:
    """Return the message, with a replacement for each tool that cannot be read."""
    if _is_json(text):
        return text
    try:
        message = json.loads(text)
        tools = message["result"]["tools"]
        message["result"]["tools"] = [
            tool if _is_json(json.dumps({"result": {"tools": [tool]}}).encode()) else _unreadable_tool(tool) for tool in tools
        ]
        return json.dumps(message).encode()
    except (ValueError, RecursionError, LookupError, TypeError):
        return text


def _is_json(text: bytes) -> bool:
    try:
        from_json(text)
    except ValueError:
        return False
    return True


def _unreadable_tool(tool: Any) -> dict[str, Any]:
    name = str(tool.get("name", "")) if isinstance(tool, dict) else ""
    return {"name": "".join(one if one.isprintable() else f"U+{ord(one):04X}" for one in name[:200]), UNREADABLE: True}
