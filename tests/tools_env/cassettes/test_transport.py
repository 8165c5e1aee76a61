from __future__ import annotations

import asyncio
import gzip
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anthropic
import httpx2
import openai
import pytest

from talm_sim.config import Traffic
from talm_sim.tools_env.cassettes import Player, RecordingTransport, Redactor, Tape, current_player


@dataclass
class Server:
    """A real HTTP server that speaks just enough of both protocols; it counts what it is asked."""

    url: str = ""
    asked: list[str] = field(default_factory=list)
    failures: int = 0

    def answer(self, path: str, body: dict[str, object]) -> dict[str, object]:
        messages = body["messages"]
        assert isinstance(messages, list)
        text = f"echo {messages[-1]['content']}"
        if path.endswith("/messages"):
            usage = {"input_tokens": 1, "output_tokens": 1}
            block = {"type": "text", "text": text}
            facts = {"id": "m", "type": "message", "role": "assistant", "model": "x", "stop_reason": "end_turn", "stop_sequence": None}
            return {**facts, "content": [block], "usage": usage}
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        return {"id": "c", "object": "chat.completion", "created": 1, "model": "x", "choices": [choice]}


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            state.asked.append(str(body))
            status, answer = 200, state.answer(self.path, body)
            if state.failures:
                state.failures -= 1
                status, answer = 503, {"error": "later"}
            data = gzip.compress(json.dumps(answer).encode())
            self.send_response(status)
            for name, value in (("content-type", "application/json"), ("content-encoding", "gzip"), ("content-length", str(len(data)))):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    class Http(ThreadingHTTPServer):
        request_queue_size = 128

    http = Http(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{http.server_port}"
    yield state
    http.shutdown()
    http.server_close()
    thread.join()


async def _ask_openai(client: openai.AsyncOpenAI, text: str) -> str | None:
    answer = await client.chat.completions.create(model="x", messages=[{"role": "user", "content": text}])
    return answer.choices[0].message.content


def _openai(url: str, http: httpx2.AsyncClient) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(api_key="sk-test-0123456789abcdef", base_url=url + "/v1", http_client=http, max_retries=0)


async def test_openai_sdk_replays_with_the_server_gone(server: Server) -> None:
    tape = Tape("t")
    async with httpx2.AsyncClient(transport=RecordingTransport()) as http:
        current_player.set(Player(tape, Traffic.RECORD))
        assert await _ask_openai(_openai(server.url, http), "hello") == "echo hello"
    async with httpx2.AsyncClient(transport=RecordingTransport()) as http:
        current_player.set(Player(tape, Traffic.REPLAY))
        # Another address and key: neither belongs to a recording.
        assert await _ask_openai(_openai("http://model.invalid", http), "hello") == "echo hello"
    assert len(server.asked) == 1
    assert "sk-test" not in tape._serialize()
    assert "127.0.0.1" not in tape._serialize()


async def test_anthropic_sdk_replays_with_the_server_gone(server: Server) -> None:
    tape = Tape("t")

    async def ask(mode: Traffic, url: str) -> str:
        async with httpx2.AsyncClient(transport=RecordingTransport()) as http:
            current_player.set(Player(tape, mode))
            client = anthropic.AsyncAnthropic(api_key="key", base_url=url, http_client=http, max_retries=0)
            message = await client.messages.create(model="x", max_tokens=5, messages=[{"role": "user", "content": "hello"}])
            block = message.content[0]
            assert block.type == "text"
            return block.text

    assert await ask(Traffic.RECORD, server.url) == "echo hello"
    assert await ask(Traffic.REPLAY, "http://model.invalid") == "echo hello"
    assert len(server.asked) == 1


async def test_fifty_tasks_on_one_client_keep_their_recordings_apart(server: Server) -> None:
    tapes = [Tape(str(number)) for number in range(50)]
    async with httpx2.AsyncClient(transport=RecordingTransport()) as http:
        client = _openai(server.url, http)

        async def episode(number: int, mode: Traffic) -> str | None:
            current_player.set(Player(tapes[number], mode))
            return await _ask_openai(client, f"task {number}")

        first = await asyncio.gather(*(episode(number, Traffic.RECORD) for number in range(50)))
        asked = len(server.asked)
        again = await asyncio.gather(*(episode(number, Traffic.REPLAY) for number in range(50)))
    assert first == again == [f"echo task {number}" for number in range(50)]
    assert asked == len(server.asked) == 50
    assert all(f"task {number}" in tape._serialize() for number, tape in enumerate(tapes))


async def test_without_a_player_requests_pass_straight_through(server: Server) -> None:
    async with httpx2.AsyncClient(transport=RecordingTransport()) as http:
        assert current_player.get() is None
        assert await _ask_openai(_openai(server.url, http), "hello") == "echo hello"
    assert len(server.asked) == 1


async def test_a_passing_failure_is_not_recorded(server: Server) -> None:
    tape = Tape("t")
    server.failures = 1
    async with httpx2.AsyncClient(transport=RecordingTransport()) as http:
        current_player.set(Player(tape, Traffic.RECORD))
        client = _openai(server.url, http)
        with pytest.raises(openai.InternalServerError):
            await _ask_openai(client, "hello")
        assert await _ask_openai(client, "hello") == "echo hello"
        current_player.set(Player(tape, Traffic.REPLAY))
        assert await _ask_openai(client, "hello") == "echo hello"
    assert len(server.asked) == 2


def test_redactor_reads_secrets_by_variable_name() -> None:
    from talm_sim.tools_env.cassettes.redaction import secrets_in_environment  # noqa: PLC0415

    found = secrets_in_environment({"MY_API_KEY": "abcdefgh1", "GH_TOKEN": "abcdefgh12", "PATH": "abcdefgh123", "X_SECRET": "short"})
    assert found == ("abcdefgh12", "abcdefgh1")
    assert Redactor(found).text("a abcdefgh12 b") == "a REDACTED b"
