"""Hostile MCP servers over streamable HTTP, in threads of this process: each has a tool `good`, which works, and one `bad`, which does not."""

from __future__ import annotations

import gzip
import json
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SO_LINGER, SOL_SOCKET, socket
from typing import Any, Final

from tests.tools_env.sources.hostile_mcp import BAD, GOOD, MIB, asks, note, text

JSON: Final = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
EVENTS: Final = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
CLOSED: Final = b"connection: close\r\n\r\n"
Play = Callable[[socket, int], object]


def said(id: int, result: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode()


def sent(head: bytes, body: bytes) -> bytes:
    return head + b"content-length: %d\r\n" % len(body) + CLOSED + body


def event(data: bytes, head: bytes = b"") -> bytes:
    return head + b"event: message\ndata: " + data.rstrip() + b"\n\n"


@lru_cache
def zipped(mib: int) -> bytes:
    packer, piece = zlib.compressobj(9, zlib.DEFLATED, 31), b" " * MIB
    return b"".join(packer.compress(piece) for _ in range(mib)) + packer.flush()


def forever(first: bytes, piece: bytes, pause: float = 0.0) -> Play:
    def play(line: socket, id: int) -> None:
        line.sendall(first)
        until = time.monotonic() + 120
        while time.monotonic() < until:
            line.sendall(piece)
            time.sleep(pause)

    return play


def reset(line: socket, id: int) -> None:
    line.sendall(JSON + b"content-length: 900\r\n\r\n{")
    line.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))


def whole(head: bytes, body: Callable[[int], bytes]) -> Play:
    return lambda line, id: line.sendall(sent(head, body(id)))


GZIP: Final = JSON + b"content-encoding: gzip\r\n"
ENDLESS: Final = {
    "an endless body": forever(JSON + CLOSED, b" " * 65536),
    "endless events": forever(EVENTS + CLOSED, event(note("progress", progressToken=1, progress=1)) * 500),
    "endless requests": forever(EVENTS + CLOSED, event(asks(1)) * 200),
}
SLOW: Final = {
    "a head a byte a time": forever(JSON + b"a: ", b"x", 0.2),
    "an event a time": forever(EVENTS + CLOSED, b": still here\n\n", 0.2),
    "silence": lambda line, id: time.sleep(120),
}
LARGE: Final = "x" * 1_500_000
ANSWERED: Final[dict[str, Play]] = {
    "gzip": whole(GZIP, lambda id: gzip.compress(said(id, text(LARGE)))),
    "event": whole(EVENTS, lambda id: event(said(id, text(LARGE)))),
}
BAD_ANSWERS: Final[dict[str, Play]] = {
    **ENDLESS,
    "gzip of 100 MiB": whole(GZIP, lambda id: zipped(100)),
    "events in gzip cut off": whole(EVENTS + b"content-encoding: gzip\r\n", lambda id: gzip.compress(event(said(id, text("x" * 1000))))[:20]),
    "10 MB": whole(JSON, lambda id: said(id, text("x" * 10 * MIB))),
    "an event of 10 MB": whole(EVENTS, lambda id: event(said(id, text("x" * 10 * MIB)))),
    "of another": whole(JSON, lambda id: said(id + 1000, text("x"))),
    "a page": whole(JSON.replace(b"application/json", b"text/html"), lambda id: b"<html>"),
    "nothing": lambda line, id: None,
    "a reset": reset,
    "events cut off": lambda line, id: line.sendall(EVENTS + CLOSED + b"id: 1\nretry: 0\ndata: \n\n"),
    "redirected": lambda line, id: line.sendall(b"HTTP/1.1 307 Go\r\nlocation: http://127.0.0.1:9/mcp\r\ncontent-length: 0\r\n\r\n"),
    "500 without end": forever(b"HTTP/1.1 500 Oh\r\ncontent-type: application/json\r\n" + CLOSED, b" " * 65536),
}
"""Each fails the call."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        id, params = message.get("id"), message.get("params") or {}
        match message.get("method"):
            case "initialize":
                version = params["protocolVersion"]
                self._say({"protocolVersion": version, "capabilities": {}, "serverInfo": {"name": "h", "version": "1"}}, id)
            case "tools/list":
                self._list(said(id, {"tools": [GOOD, *self.server.listed, BAD]}))
            case "tools/call" if params["name"] == "bad":
                self._play(self.server.play, id)
            case "tools/call":
                self._say(text(json.dumps({"twice": 2 * params["arguments"]["n"]})), id)
            case _ if id is not None and "method" in message:
                self._send(json.dumps({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}}).encode())
            case _:
                self.do_DELETE()

    def do_DELETE(self) -> None:
        if self.server.aside is not None:
            return self._play(self.server.aside, 0)
        self.wfile.write(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")

    def do_GET(self) -> None:
        self.do_DELETE()

    def _list(self, body: bytes) -> None:
        if not self.server.events:
            return self._send(body)
        self.close_connection = True
        self.wfile.write(event(note("message", level="info", data="x"), EVENTS + CLOSED) + event(body))

    def _say(self, result: Any, id: int) -> None:
        self._send(said(id, result))

    def _send(self, body: bytes) -> None:
        self.wfile.write(JSON + b"mcp-session-id: s\r\ncontent-length: %d\r\n\r\n" % len(body) + body)

    def _play(self, play: Play, id: int) -> None:
        self.close_connection = True
        with suppress(OSError):
            play(self.connection, id)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, play: Play, aside: Play | None, listed: Sequence[Any], events: bool) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.play, self.aside, self.listed, self.events = play, aside, listed, events

    def handle_error(self, request: Any, client_address: Any) -> None:
        """The other side has had enough."""


@contextmanager
def served(play: Play, aside: Play | None = None, listed: Sequence[Any] = (), *, events: bool = False) -> Iterator[str]:
    """Serve on loopback.

    Args:
        play: Answers a call of `bad`, on the bare connection.
        aside: Answers what is no request: messages that need no answer, GET and DELETE.
        listed: Further tools in its list.
        events: Whether the list is sent as an event.
    """

    with Server(play, aside, listed, events) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/mcp"
        finally:
            server.shutdown()
            thread.join()
