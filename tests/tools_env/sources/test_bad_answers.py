"""Answers over HTTP that have no end, no form or no measure: each is one failed call within the limit of time, while others go on."""

from __future__ import annotations

import asyncio
import gzip
import time
import zlib
from collections.abc import Awaitable, Callable
from functools import cache

import pytest

from talm_sim.errors import PrerequisiteError, ProviderError
from talm_sim.tools_env.environment import Environment
from talm_sim.tools_env.sources import base, openapi
from talm_sim.tools_env.sources.http import HttpSource, HttpTools
from talm_sim.tools_env.toolbox import Tools, open_tools
from talm_sim.types import Route, Scenario, ToolCall, ToolEvent, ToolSpec, Turn
from tests.tools_env.sources.lines import Play, answered, good, listening

TIMEOUT_S = 0.5
MOST_BYTES = 200_000
ONE = HttpTools({"t": ToolSpec(name="t")}, {"t": Route(path="/shop/t")})
SCENARIO = Scenario(id="s", group="perfect", turns=(Turn(messages=({"role": "user", "content": "q"},)),), tools=("t",))
OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
CHUNKED = OK + b"transfer-encoding: chunked\r\n"
GZIP = OK + b"content-encoding: gzip\r\n"
BODY = b'{"item": "cup"}'


def said(data: bytes) -> Play:
    async def play(writer: asyncio.StreamWriter) -> None:
        writer.write(data)

    return play


def endless(head: bytes, piece: bytes, pause: float = 0.0) -> Play:
    async def play(writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)

    return play


def then(data: bytes, what: Callable[[asyncio.StreamWriter], object]) -> Play:
    async def play(writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()
        what(writer)

    return play


def closed(writer: asyncio.StreamWriter) -> None:
    writer.close()


def reset(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@cache
def bomb(megabytes: int, wbits: int = 31) -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, wbits)
    return b"".join(packer.compress(b" " * 2**20) for _ in range(megabytes)) + packer.flush()


PLAYS: dict[str, Play] = {
    "silence": endless(b"", b"", 0.05),
    "a head in drops": endless(b"HTTP/1.1 200 OK\r\na: ", b"b", 0.02),
    "a body in drops": endless(CHUNKED + b"\r\n", chunk(b" "), 0.02),
    "a body in drops that says its length": endless(OK + b"content-length: 100000\r\n\r\n", b" ", 0.02),
    "a drop of white space behind the answer's head": endless(OK + b"content-length: 2\r\n\r\n{", b"", 0.05),
    "answers to come": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "hints to come": endless(b"", b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" * 100, 0.01),
    "one header without end": endless(OK + b"a: ", b"b" * 65_536),
    "headers without end": endless(OK, b"a: b\r\n" * 1_000),
    "one line without end": endless(b"", b"b" * 65_536),
    "a chunk's extension without end": endless(CHUNKED + b"\r\n2;", b"a=b;" * 10_000),
    "a chunk's size without end": endless(CHUNKED + b"\r\n", b"0" * 65_536),
    "trailers without end": endless(CHUNKED + b"\r\n" + chunk(BODY) + b"0\r\n", b"a: b\r\n" * 1_000),
    "chunks of one byte": endless(CHUNKED + b"\r\n", chunk(b" ") * 1_000),
    "a body without end": endless(OK + b"\r\n", b" " * 65_536),
    "a gzip bomb": said(GZIP + b"content-length: %d\r\n\r\n" % len(bomb(64)) + bomb(64)),
    "a deflate bomb": said(OK + b"content-encoding: deflate\r\ncontent-length: %d\r\n\r\n" % len(bomb(64, 15)) + bomb(64, 15)),
    "a gzip bomb in a second member": said(answered(gzip.compress(b"{") + bomb(64), "200 OK", "content-encoding: gzip")),
    "empty gzips without end": endless(GZIP + b"\r\n", gzip.compress(b"") * 500),
    "many empty gzips": said(answered(gzip.compress(b"") * 5_000 + gzip.compress(BODY), "200 OK", "content-encoding: gzip")),
    "gzip that breaks off": said(answered(gzip.compress(BODY)[:-9], "200 OK", "content-encoding: gzip")),
    "gzip in gzip": said(answered(gzip.compress(bomb(64)), "200 OK", "content-encoding: gzip, gzip")),
    "no gzip": said(answered(BODY, "200 OK", "content-encoding: gzip")),
    "brotli": said(answered(b"\x8b\x02\x80\xff\xff", "200 OK", "content-encoding: br")),
    "cut off": then(answered(BODY)[:-3], closed),
    "cut off in the head": then(OK[:30], closed),
    "reset": then(OK, reset),
    "nothing": then(b"", closed),
    "another protocol": said(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n" + b"x" * 1_000),
    "redirected": said(answered(b"", "302 Found", "location: http://127.0.0.1:1/")),
    "no HTTP": said(b"\x16\x03\x01 what\r\n\r\n"),
    "a length below nothing": said(OK + b"content-length: -7\r\n\r\n{}"),
    "a length without measure": endless(OK + b"content-length: 1" + b"0" * 30 + b"\r\n\r\n", b"", 0.05),
    "two lengths": said(OK + b"content-length: 3\r\ncontent-length: 4\r\n\r\n{}  "),
    "an empty page": said(answered(b"<html>")),
}


async def called(tools: Tools) -> ToolEvent:
    return await Environment(tools).open(SCENARIO).call(ToolCall(id="1", name="t", arguments={}), 0)


@pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)
async def test_a_bad_answer_is_one_failed_call_in_time_while_others_go_on(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "MOST_BYTES", MOST_BYTES)
    async with listening(play) as bad, listening() as sound:
        tools = Tools([HttpSource(f"http://127.0.0.1:{bad.port}", ONE, name="shop", timeout=TIMEOUT_S)])
        others = Tools([HttpSource(f"http://127.0.0.1:{sound.port}", ONE, name="shop")])
        began = time.monotonic()
        failing = asyncio.create_task(called(tools))
        while not bad.heard and not failing.done():
            await asyncio.sleep(0.001)
        assert (await called(others)).ok, "meanwhile"
        try:
            event = await failing
        except ProviderError as err:
            assert str(err).startswith("The source 'shop' ") and str(err).isprintable()
        else:
            assert not event.ok and event.error in {"timeout", "answer_too_large", "malformed_body", "http_101", "http_302"}
        assert time.monotonic() - began < TIMEOUT_S * 10
        await tools.aclose()
        await others.aclose()
    assert len(bad.heard) <= 2, "a reading call is sent again once, where the connection broke"


@pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)
async def test_a_document_that_is_a_bad_answer_is_one_line_before_the_run(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openapi, "_LARGEST", MOST_BYTES)
    monkeypatch.setattr(openapi, "_FETCH_S", TIMEOUT_S)
    async with listening(play) as bad:
        began = time.monotonic()
        with pytest.raises(PrerequisiteError) as caught:
            await open_tools([f"http://127.0.0.1:{bad.port}/openapi.json"])
        assert str(caught.value).isprintable() and time.monotonic() - began < TIMEOUT_S * 10


async def test_time_in_the_queue_is_not_the_calls_own() -> None:
    async def late(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(TIMEOUT_S * 0.6)
        await good(writer)

    async with listening(late) as slow:
        tools = Tools([HttpSource(f"http://127.0.0.1:{slow.port}", ONE, name="shop", timeout=TIMEOUT_S, connections=1)])
        assert [event.ok for event in await asyncio.gather(called(tools), called(tools))] == [True, True]
        await tools.aclose()


async def test_a_call_that_is_broken_off_leaves_its_place_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    plays: list[Callable[[asyncio.StreamWriter], Awaitable[None]]] = [endless(b"", b"", 0.01), good]

    async def play(writer: asyncio.StreamWriter) -> None:
        await plays.pop(0)(writer)

    async with listening(play) as line:
        tools = Tools([HttpSource(f"http://127.0.0.1:{line.port}", ONE, name="shop", connections=1)])
        hanging = asyncio.create_task(called(tools))
        while not line.heard and not hanging.done():
            await asyncio.sleep(0.001)
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging
        assert (await called(tools)).ok
        await tools.aclose()
