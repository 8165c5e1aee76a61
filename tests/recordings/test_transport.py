from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager

import anthropic
import httpx2
import openai
import pytest

from talm_sim.config import Traffic
from talm_sim.errors import CassetteMissError
from talm_sim.recordings import Player, RecordingTransport, current_player
from talm_sim.recordings.tape import Tape
from tests.recordings.model_server import ModelServer, model_server

GONE = "http://model.invalid"
"""Where a replaying client believes the server to be."""
Ask = Callable[[httpx2.AsyncClient, str, str], Awaitable[str]]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as running:
        yield running


@asynccontextmanager
async def _client(tape: Tape, mode: Traffic) -> AsyncIterator[httpx2.AsyncClient]:
    token = current_player.set(Player(tape, mode))
    async with httpx2.AsyncClient(transport=RecordingTransport(), follow_redirects=True) as client:
        yield client
    current_player.reset(token)


def _openai(http: httpx2.AsyncClient, url: str, base: str = "/v1") -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(api_key="sk-test-0123456789abcdef", base_url=url + base, http_client=http, max_retries=0)


async def _ask_openai(http: httpx2.AsyncClient, url: str, text: str) -> str:
    answer = await _openai(http, url).chat.completions.create(model="x", messages=[{"role": "user", "content": text}])
    return answer.choices[0].message.content or ""


async def _stream_openai(http: httpx2.AsyncClient, url: str, text: str) -> str:
    stream = await _openai(http, url).chat.completions.create(model="x", messages=[{"role": "user", "content": text}], stream=True)
    return " ".join([chunk.choices[0].delta.content or "" async for chunk in stream])


async def _ask_anthropic(http: httpx2.AsyncClient, url: str, text: str) -> str:
    client = anthropic.AsyncAnthropic(api_key="key", base_url=url, http_client=http, max_retries=0)
    message = await client.messages.create(model="x", max_tokens=5, messages=[{"role": "user", "content": text}])
    assert message.content[0].type == "text"
    return message.content[0].text


async def _stream_anthropic(http: httpx2.AsyncClient, url: str, text: str) -> str:
    client = anthropic.AsyncAnthropic(api_key="key", base_url=url, http_client=http, max_retries=0)
    async with client.messages.stream(model="x", max_tokens=5, messages=[{"role": "user", "content": text}]) as stream:
        return await stream.get_final_text()


@pytest.mark.parametrize("ask", [_ask_openai, _stream_openai, _ask_anthropic, _stream_anthropic])
async def test_both_sdks_replay_with_the_server_gone(ask: Ask) -> None:
    tape = Tape("t")
    with model_server() as server:
        async with _client(tape, Traffic.RECORD) as http:
            assert await ask(http, server.url, "hello there") == "echo hello there"
    async with _client(tape, Traffic.REPLAY) as http:
        assert await ask(http, GONE, "hello there") == "echo hello there"
    assert len(server.asked) == 1
    text = tape.text()
    assert "http://model.invalid/v1/" in text
    for hidden in ("127.0.0.1", "sk-test", "set-cookie", "content-encoding", "x-stainless"):
        assert hidden not in text.lower()
    assert "hello" in text


async def test_without_a_player_requests_pass_straight_through(server: ModelServer) -> None:
    async with httpx2.AsyncClient(transport=RecordingTransport()) as http:
        assert current_player.get() is None
        assert await _ask_openai(http, server.url, "hello") == "echo hello"
    assert len(server.asked) == 1


async def test_a_redirect_is_recorded_without_the_servers_address() -> None:
    tape = Tape("t")

    async def ask(http: httpx2.AsyncClient, url: str) -> str | None:
        answer = await _openai(http, url, "/old").chat.completions.create(model="x", messages=[{"role": "user", "content": "hi"}])
        return answer.choices[0].message.content

    with model_server() as server:
        async with _client(tape, Traffic.RECORD) as http:
            assert await ask(http, server.url) == "echo hi"
    assert server.asked == ["/old/chat/completions", "/v1/chat/completions"]
    async with _client(tape, Traffic.REPLAY) as http:
        assert await ask(http, GONE) == "echo hi"
    assert "127.0.0.1" not in tape.text()
    assert [item["response"]["status"]["code"] for item in json.loads(tape.text())["interactions"]] == [307, 200]


@pytest.mark.parametrize(
    "failure", [(503, {"error": "later"}), (429, {"error": "slow down"}), (200, {"error": {"code": 502, "message": "upstream"}})]
)
async def test_a_passing_failure_is_not_recorded(server: ModelServer, failure: tuple[int, object]) -> None:
    tape = Tape("t")
    server.first = [failure]
    async with _client(tape, Traffic.RECORD) as http:
        body = {"messages": [{"content": "hello"}]}
        first = await http.post(server.url + "/v1/chat/completions", json=body)
        assert (first.status_code, first.json()) == failure
        assert (await http.post(server.url + "/v1/chat/completions", json=body)).json()["choices"]
    assert len(json.loads(tape.text())["interactions"]) == 1
    assert len(server.asked) == 2


async def test_a_failure_for_good_is_replayed_as_one(server: ModelServer) -> None:
    tape = Tape("t")
    server.first = [(400, {"error": {"message": "maximum context length"}})]
    async with _client(tape, Traffic.RECORD) as http:
        with pytest.raises(openai.BadRequestError, match="maximum context length"):
            await _ask_openai(http, server.url, "long")
    async with _client(tape, Traffic.REPLAY) as http:
        with pytest.raises(openai.BadRequestError, match="maximum context length") as err:
            await _ask_openai(http, GONE, "long")
    assert err.value.response.headers["retry-after"] == "3"
    assert len(server.asked) == 1


async def test_a_stream_that_breaks_off_is_not_recorded(server: ModelServer) -> None:
    tape = Tape("t")
    server.cut_streams = True
    async with _client(tape, Traffic.RECORD) as http:
        with pytest.raises(openai.APIConnectionError):
            await _stream_openai(http, server.url, "hello there")
        server.cut_streams = False
        assert await _stream_openai(http, server.url, "hello there") == "echo hello there"
    assert len(json.loads(tape.text())["interactions"]) == 1


async def test_an_encoding_that_cannot_be_undone_is_the_clients_error_and_not_recorded() -> None:
    tape = Tape("t")
    current_player.set(Player(tape, Traffic.RECORD))
    stream = httpx2.ByteStream(b"no gzip")
    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, headers={"content-encoding": "gzip"}, stream=stream))
    async with httpx2.AsyncClient(transport=RecordingTransport(inner)) as http:
        with pytest.raises(httpx2.DecodingError):
            await http.post("http://h.invalid/v1")
    assert json.loads(tape.text())["interactions"] == []


@pytest.mark.parametrize("ask", [_ask_openai, _ask_anthropic])
async def test_a_miss_reaches_the_caller_through_both_sdks(ask: Ask) -> None:
    tape = Tape("empty")
    async with _client(tape, Traffic.REPLAY) as http:
        with pytest.raises((CassetteMissError, anthropic.APIConnectionError)) as err:
            await ask(http, GONE, "hello")
        player = current_player.get()
    miss = err.value if isinstance(err.value, CassetteMissError) else err.value.__cause__
    assert isinstance(miss, CassetteMissError)
    assert player is not None
    assert player.misses == [str(miss)]


async def test_proxies_of_the_environment_are_heeded(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", server.url.removeprefix("http://"))
    current_player.set(None)
    async with httpx2.AsyncClient(transport=RecordingTransport()) as http:
        assert await _ask_openai(http, "http://far.invalid", "hello") == "echo hello"
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert await _ask_openai(http, server.url, "hello") == "echo hello"
    assert server.asked == ["http://far.invalid/v1/chat/completions", "/v1/chat/completions"]


async def test_a_header_of_other_letters_is_recorded_and_replayed() -> None:
    tape = Tape("t")
    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, headers=[(b"x-request-id", "né".encode())], content=b"{}"))
    for mode in (Traffic.RECORD, Traffic.REPLAY):
        current_player.set(Player(tape, mode))
        async with httpx2.AsyncClient(transport=RecordingTransport(inner)) as http:
            assert (await http.post("http://h.invalid/v1")).headers["x-request-id"] == "né"
