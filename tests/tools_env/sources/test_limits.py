"""Answers of any size and form over real HTTP/1.1: what is empty is an answer, what is too large is refused, told, and replayed as that."""

from __future__ import annotations

import gzip
import json
import threading
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from talm_sim.config import Traffic
from talm_sim.errors import ProviderError
from talm_sim.recordings import CassetteLibrary, Player
from talm_sim.tools_env.environment import Environment
from talm_sim.tools_env.health import health_of
from talm_sim.tools_env.sources import base
from talm_sim.tools_env.sources.base import MOST_BYTES
from talm_sim.tools_env.sources.http import HttpSource, HttpTools
from talm_sim.tools_env.toolbox import Tools
from talm_sim.tools_env.trials import try_tools
from talm_sim.types import Origin, Route, Scenario, ToolCall, ToolEvent, ToolSpec, Turn

SCENARIO = Scenario(id="s", group="perfect", turns=(Turn(messages=({"role": "user", "content": "q"},)),), tools=("t",))
TOOLS = HttpTools({"t": ToolSpec(name="t")}, {"t": Route(path="/shop/t")})
SMALL = json.dumps({"item": "cup"}).encode()


def plain(body: bytes, *headers: tuple[str, str], status: int = 200) -> Callable[[Any], None]:
    def reply(handler: Any) -> None:
        handler.send_response(status)
        for name, value in headers:
            handler.send_header(name, value)
        if status != 204:
            handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return reply


def chunked(pieces: Callable[[], Iterator[bytes]], *headers: tuple[str, str]) -> Callable[[Any], None]:
    def reply(handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("transfer-encoding", "chunked")
        for name, value in headers:
            handler.send_header(name, value)
        handler.end_headers()
        for piece in pieces():
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        handler.wfile.write(b"0\r\n\r\n")

    return reply


def endless() -> Iterator[bytes]:
    while True:
        yield b" " * 65_536


def bomb() -> Iterator[bytes]:
    """A gigabyte in a megabyte."""
    packer = zlib.compressobj(wbits=31)
    for _ in range(1024):
        yield packer.compress(b" " * (1 << 20)) or packer.flush(zlib.Z_SYNC_FLUSH)
    yield packer.flush()


def endless_nothing() -> Iterator[bytes]:
    """Blocks that unpack to no byte."""
    yield zlib.compressobj(wbits=31).compress(b"")
    while True:
        yield b"\0\0\0\xff\xff" * 8_192


def bare_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


class Serving(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    replies: list[Callable[[Any], None]]
    connections: set[Any]
    broken: threading.Semaphore

    def do_GET(self) -> None:
        type(self).connections.add(self.client_address)
        try:
            type(self).replies.pop(0)(self)
        except OSError:  # the caller has closed the connection
            self.close_connection = True
            type(self).broken.release()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def serving(*replies: Callable[[Any], None]) -> Iterator[str]:
    Serving.replies, Serving.connections, Serving.broken = list(replies), set(), threading.Semaphore(0)
    http = ThreadingHTTPServer(("127.0.0.1", 0), Serving)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_port}"
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


@asynccontextmanager
async def tools_of(*replies: Callable[[Any], None]) -> AsyncIterator[Tools]:
    with serving(*replies) as url:
        tools = Tools([HttpSource(url, TOOLS, name="shop")])
        try:
            yield tools
        finally:
            await tools.aclose()


async def called(tools: Tools, player: Player | None = None) -> ToolEvent:
    return await Environment(tools).open(SCENARIO, player=player).call(ToolCall(id="1", name="t", arguments={}), 0)


@pytest.mark.parametrize("status", [200, 201, 204])
async def test_a_success_without_a_body_is_an_answer(status: int, tmp_path: Path) -> None:
    library = CassetteLibrary(tmp_path)
    async with tools_of(plain(b"", status=status), plain(SMALL)) as tools:
        player = library.open_tools("s", "perfect", Traffic.RECORD)
        event = await called(tools, player)
        player.save()
        assert (event.ok, event.status, event.error, json.loads(event.result)) == (True, status, "", {"status": status})
        assert (await called(tools)).ok and len(Serving.connections) == 1, "the connection is used again"
    library.save_tools(tools.specs, tools.routes)
    again = CassetteLibrary(tmp_path)
    replayed = await called(Tools(recorded=again.tools()), again.open_tools("s", "perfect", Traffic.REPLAY))
    assert (replayed.result, replayed.ok, replayed.status) == (event.result, True, status)


LARGE = {
    "with its length": plain(b'"' + b"x" * 5_000_000 + b'"'),
    "one byte too many": plain(b'"' + b"x" * (MOST_BYTES - 1) + b'"'),
    "endless": chunked(endless),
    "a gzip bomb": chunked(bomb, ("content-encoding", "gzip")),
    "a gzip bomb with its length": plain(gzip.compress(b" " * (64 << 20), 1), ("content-encoding", "gzip")),
    "endless, and empty unpacked": chunked(endless_nothing, ("content-encoding", "gzip")),
    "endless, and an error": plain(b"x" * 5_000_000, status=503),
}


@pytest.mark.parametrize("kind", LARGE)
async def test_an_answer_that_is_too_large_is_refused_told_and_replayed(kind: str, tmp_path: Path) -> None:
    library = CassetteLibrary(tmp_path)
    async with tools_of(LARGE[kind], plain(SMALL)) as tools:
        player = library.open_tools("s", "perfect", Traffic.RECORD)
        event = await called(tools, player)
        player.save()
        status = 503 if "error" in kind else 200
        assert (event.ok, event.error, event.status, event.origin) == (False, "answer_too_large", status, Origin.LIVE)
        assert json.loads(event.result) == {"error": "The tool's answer is larger than 4 MB and was not read."}
        if "endless" in kind and "error" not in kind:
            assert Serving.broken.acquire(timeout=100), "the connection is closed"
        assert (await called(tools)).ok and len(Serving.connections) == 2, "and another one taken"
    library.save_tools(tools.specs, tools.routes)
    again = CassetteLibrary(tmp_path)
    replayed = await called(Tools(recorded=again.tools()), again.open_tools("s", "perfect", Traffic.REPLAY))
    assert [(one.result, one.ok, one.error, one.status) for one in (replayed,)] == [(event.result, False, "answer_too_large", status)]


async def test_the_largest_answer_is_read_whole() -> None:
    whole = b'"' + b"x" * (MOST_BYTES - 2) + b'"'
    async with tools_of(plain(whole), plain(gzip.compress(whole), ("content-encoding", "gzip"))) as tools:
        assert [(await tools.call("t", {}))[0].body for _ in range(2)] == [whole, whole]


@pytest.mark.parametrize(
    ("encoding", "pack"), [("gzip", gzip.compress), ("x-gzip", gzip.compress), ("deflate", zlib.compress), ("Deflate", bare_deflate)]
)
async def test_a_compressed_answer_is_unpacked(encoding: str, pack: Callable[[bytes], bytes]) -> None:
    async with tools_of(plain(pack(SMALL), ("content-encoding", encoding))) as tools:
        assert json.loads((await called(tools)).result) == {"item": "cup"}


async def test_what_is_damaged_or_breaks_off_is_no_answer() -> None:
    def cut(handler: Any) -> None:
        plain(b'{"item"', ("connection", "close"))(handler)

    def short(handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("content-length", "100")
        handler.end_headers()
        handler.wfile.write(SMALL)
        handler.close_connection = True

    async with tools_of(plain(b"no gzip", ("content-encoding", "gzip")), cut, short, short) as tools:
        with pytest.raises(ProviderError, match="source 'shop' cannot be asked: its answer cannot be unpacked"):
            await called(tools)
        assert (await called(tools)).error == "malformed_body"
        with pytest.raises(ProviderError, match="source 'shop' does not answer: RemoteProtocolError"):
            await called(tools)


async def test_a_check_says_that_an_answer_is_too_large_and_takes_an_empty_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "MOST_BYTES", 100)
    async with tools_of(plain(b" " * 101), plain(b"", status=204)) as tools:
        large, empty = [(await try_tools(tools, times=1))[0] for _ in range(2)]
    assert (health_of(large, {}).up, health_of(large, {}).status) == (
        False,
        "HTTP 200: The tool's answer is larger than 4 MB and was not read.",
    )
    found = health_of(empty, {"type": "object", "required": ["item"]})
    assert (found.up, found.status, found.matches, empty.answers[0].value()) == (True, "HTTP 204", None, None)
