"""An HTTP/1.1 server with an OpenAPI document: mountains that can be looked up, and notes that can be taken."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

_HEIGHTS = {"Elbrus": ("Russia", 5642), "Kazbek": ("Georgia", 5047), "Mont Blanc": ("France", 4806)}
MONT_BLANC = '{"name":"Mont Blanc","country":"France","elevation":4806,"unit":"m","surveyed":"2023-09-12"}'
"""What a model reads of the undamaged answer."""


def _query(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema}


def _answers(schema: dict[str, Any]) -> dict[str, Any]:
    return {"200": {"description": "OK", "content": {"application/json": {"schema": schema}}}}


_TEXT = {"type": "string"}
_MOUNTAIN = {
    "type": "object",
    "properties": {
        "name": _TEXT,
        "country": _TEXT,
        "elevation": {"type": "integer", "description": "Elevation, in the unit."},
        "unit": _TEXT,
        "surveyed": {"type": "string", "format": "date"},
    },
}
_DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Alps", "version": "1"},
    "paths": {
        "/mountains/{name}": {
            "get": {
                "operationId": "get_mountain",
                "summary": "Get the elevation of a mountain.",
                "parameters": [
                    {"name": "name", "in": "path", "required": True, "schema": _TEXT},
                    _query("unit", {"type": "string", "enum": ["m", "ft"], "default": "m"}),
                ],
                "responses": _answers(_MOUNTAIN),
            }
        },
        "/mountains": {
            "get": {
                "operationId": "list_mountains",
                "summary": "List the mountains, the highest first, with their elevations in metres.",
                "parameters": [_query("limit", {"type": "integer", "minimum": 1, "default": 3})],
                "responses": _answers({"type": "object", "properties": {"mountains": {"type": "array", "items": _MOUNTAIN}}}),
            }
        },
        "/notes": {
            "post": {
                "operationId": "take_note",
                "summary": "Take a note.",
                "requestBody": {"content": {"application/json": {"schema": {"type": "object", "properties": {"text": _TEXT}}}}},
                "responses": _answers({"type": "object", "properties": {"id": {"type": "integer"}}}),
            }
        },
    },
}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.seen.append(self.path)  # type: ignore[attr-defined]
        parts = urlsplit(self.path)
        name, query = unquote(parts.path.removeprefix("/mountains").strip("/")), parse_qs(parts.query)
        if not name:
            first = sorted(_HEIGHTS, key=lambda one: -_HEIGHTS[one][1])[: int(query.get("limit", ["3"])[0])]
            self._answer(200, {"mountains": [{"name": one, "elevation": _HEIGHTS[one][1]} for one in first]})
        elif name not in _HEIGHTS:
            self._answer(404, {"detail": f"no mountain '{name}'"})
        else:
            (country, metres), unit = _HEIGHTS[name], query.get("unit", ["m"])[0]
            elevation = metres if unit == "m" else round(metres / 0.3048)
            self._answer(200, {"name": name, "country": country, "elevation": elevation, "unit": unit, "surveyed": "2023-09-12"})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.seen.append(self.path)  # type: ignore[attr-defined]
        self._answer(200, {"id": len(self.server.seen)})  # type: ignore[attr-defined]

    def _answer(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class Alps:
    """The running server.

    Args:
        source: How `--tools-from` names it.
        seen: The paths that it was asked for, in order.
    """

    def __init__(self, source: str, seen: list[str]) -> None:
        self.source = source
        self.seen = seen


@contextmanager
def alps(folder: Path) -> Iterator[Alps]:
    """Run the server, with its document in a folder."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.seen = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    file = folder / "alps.json"
    file.write_text(json.dumps({**_DOCUMENT, "servers": [{"url": f"http://127.0.0.1:{server.server_port}"}]}), encoding="utf-8")
    try:
        yield Alps(f"openapi:{file}", server.seen)  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
