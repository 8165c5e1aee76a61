"""What comes in from a server: bounded, from that server, without credentials; over real sockets."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx2
import pytest
from langchain_core.messages import HumanMessage

from talm_sim.errors import ProviderError, RefusedError
from talm_sim.models.base import GenerationSettings
from talm_sim.models.registry import open_model
from talm_sim.models.server_client import MOST_BYTES, ServerClient
from talm_sim.types import ModelTurn
from tests.models.loopback import Answer, anthropic_answer, chat_answer, loopback

KEY = "own-key-of-this-run-4711"
HELLO = [HumanMessage("Hello?")]
PROTOCOLS = ["openai/m", "anthropic/m"]
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], "asyncio.Future[None]"]


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{name}_API_KEY", KEY)


async def ask(model: str, url: str, monkeypatch: pytest.MonkeyPatch, *, timeout: float = 100.0, fail_fast: bool = False) -> ModelTurn:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
    opened = open_model(model, max_retries=0, timeout=timeout, fail_fast=fail_fast)
    try:
        return await opened.generate(HELLO, (), GenerationSettings())
    finally:
        await opened.aclose()


@pytest.mark.parametrize("model", PROTOCOLS)
async def test_a_header_of_any_bytes_costs_no_answer(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 429 Too\r\nRetry-After: \xb2\r\nX-Odd: \xff\xc3\xa4\r\nContent-Length: 13\r\n\r\n" + b'{"error":"x"}')
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        with pytest.raises(ProviderError, match="HTTP 429"):
            await ask(model, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", monkeypatch)


def saying(model: str, text: str) -> Answer:
    return chat_answer(text) if model.startswith("openai") else anthropic_answer({"type": "text", "text": text})


@asynccontextmanager
async def endless(head: bytes, piece: bytes, pause: float = 0.0) -> AsyncIterator[str]:
    """A server that begins its answer and never ends it."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(head)
            while True:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(pause)
        except (ConnectionError, asyncio.CancelledError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


def gzipped(size: int) -> bytes:
    packer, chunk = zlib.compressobj(9, zlib.DEFLATED, 31), b" " * 2**16
    return b"".join(packer.compress(chunk) for _ in range(size // 2**16)) + packer.flush()


@pytest.mark.parametrize("model", PROTOCOLS)
@pytest.mark.parametrize("encoding", ["gzip", ""])
async def test_an_answer_has_at_most_so_many_bytes(model: str, encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body = gzipped(2 * MOST_BYTES) if encoding else b" " * (MOST_BYTES + 1)
    with loopback(Answer(body, headers={"content-encoding": encoding} if encoding else {})) as server:
        with pytest.raises(ProviderError, match=rf"{model} at .*: the answer is larger than 8 MiB$"):
            await ask(model, server.url, monkeypatch)
        assert len(server.seen) == 1


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"transfer-encoding: chunked\r\n"


@pytest.mark.parametrize(
    ("head", "piece", "words"),
    [
        (CHUNKED + b"\r\n", b"10000\r\n" + b"x" * 65536 + b"\r\n", "larger than 8 MiB"),
        (OK + b"\r\n", b"x" * 65536, "larger than 8 MiB"),
        (CHUNKED + b"content-encoding: gzip\r\n\r\n", b"4000\r\n" + b"\0" * 16384 + b"\r\n", "no connection"),
        (OK, b"a: b\r\n" * 1000, "no connection"),
    ],
)
async def test_what_never_ends_is_ended(head: bytes, piece: bytes, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with endless(head, piece) as url:
        with pytest.raises(ProviderError, match=words):
            await ask("openai/m", url, monkeypatch)


@pytest.mark.parametrize("head", [OK, CHUNKED + b"\r\n1000\r\n"])
async def test_drops_count_towards_the_time_of_a_request(head: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    async with endless(head, b"a", pause=0.02) as url:
        with pytest.raises(ProviderError, match="no answer in time"):
            await ask("openai/m", url, monkeypatch, timeout=0.2)
        async with httpx2.AsyncClient(transport=ServerClient(), timeout=0.2) as client:
            with pytest.raises(httpx2.ReadTimeout):
                await client.post(url)


@pytest.mark.parametrize("model", PROTOCOLS)
async def test_another_host_is_not_told_the_conversation(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with loopback(saying(model, "hi")) as other, loopback(Answer({}, 307, {"location": f"{other.url}/v1"})) as server:
        host = other.url.removeprefix("http://")
        with pytest.raises(ProviderError, match=f"redirects to http://{host}, another server: not followed$"):
            await ask(model, server.url, monkeypatch)
        with pytest.raises(RefusedError, match="check that the server is running and that the base URL is right"):
            await ask(model, server.url, monkeypatch, fail_fast=True)
        assert other.seen == []


@pytest.mark.parametrize("model", PROTOCOLS)
@pytest.mark.parametrize("location", ["/elsewhere", "v2/x"])
async def test_the_server_itself_may_redirect(model: str, location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with loopback(Answer({}, 308, {"location": location}), saying(model, "hi")) as server:
        assert (await ask(model, server.url, monkeypatch)).text == "hi"
        assert len(server.seen) == 2


@pytest.mark.parametrize("model", PROTOCOLS)
async def test_what_a_request_bears_does_not_come_back(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with loopback(saying(model, f"It is {KEY} or ghp_{'b2' * 12}.")) as server:
        assert (await ask(model, server.url, monkeypatch)).text == "It is REDACTED or REDACTED."
    bad = Answer({"error": {"message": f"bad key {KEY}, Bearer abcd1234efgh"}}, 401)
    with loopback(bad) as server, pytest.raises(ProviderError, match=r"HTTP 401: bad key REDACTED, Bearer REDACTED$"):
        await ask(model, server.url, monkeypatch)


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (json.dumps({"a": KEY}).encode("utf-16"), {}),
        (json.dumps({"a": KEY}).encode("utf-32-le"), {}),
        (b"\xef\xbb\xbf" + json.dumps({"a": KEY}).replace("own", "\\u006fwn").encode(), {}),
        (b"\xe9 " + KEY.encode(), {"content-type": "text/plain; charset=latin-1"}),
        (gzip.compress(KEY.encode(), mtime=0), {"content-encoding": "gzip"}),
        (b"x", {"x-request-id": f"{KEY} \u00e9"}),
        (b"x", {"x-request-id": KEY, "content-type": f"text/plain; note={KEY}"}),
    ],
)
async def test_no_form_of_an_answer_holds_it(body: bytes, headers: dict[str, str]) -> None:
    with loopback(Answer(body, headers=headers)) as server:
        async with httpx2.AsyncClient(transport=ServerClient()) as client:
            answer = await client.post(server.url, headers={"x-api-key": KEY})
    assert "REDACTED" in answer.text + str(answer.headers)
    assert not any(part in answer.text + str(answer.headers) for part in ("4711", "\\u006f"))


async def test_an_answer_without_credentials_stays_as_it_is() -> None:
    body = json.dumps({"a": "page token p9o8i7u6y5t4r3e2w1q", "b": "é \ud83d\ude00", "c": "\\u006fwn"}, ensure_ascii=True).encode()
    with loopback(Answer(body, headers={"content-encoding": "identity"})) as server:
        async with httpx2.AsyncClient(transport=ServerClient()) as client:
            assert (await client.post(server.url)).content == body
