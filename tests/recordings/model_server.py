"""A real HTTP server on loopback that speaks just enough of both LLM protocols."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from typing import Any

from tests.models.loopback import QuietHandler, running


@dataclass
class ModelServer:
    """What the server does, and what it was asked."""

    url: str = ""
    asked: list[str] = field(default_factory=list)
    """Request target of each request, as it came."""
    first: list[tuple[int, object]] = field(default_factory=list)
    """Statuses and bodies to answer with before anything else."""
    cut_streams: bool = False

    def reply(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body for a request."""
        self.asked.append(path)
        if self.first:
            status, failure = self.first.pop(0)
            return status, {"content-type": "application/json", "retry-after": "3"}, json.dumps(failure).encode()
        if "/old/" in path:
            return 307, {"location": self.url + path.replace("/old/", "/v1/")}, b""
        text = f"echo {body['messages'][-1]['content']}"
        kind = "anthropic" if path.endswith("/messages") else "openai"
        if body.get("stream"):
            data = _STREAMS[kind](text)
            return 200, {"content-type": "text/event-stream; charset=utf-8"}, data[: len(data) // 2] if self.cut_streams else data
        answer = json.dumps(_ANSWERS[kind](text)).encode()
        headers = {"content-type": "application/json", "content-encoding": "gzip", "x-request-id": "req-1", "set-cookie": "a=b"}
        return 200, headers, gzip.compress(answer)


def _openai(text: str) -> dict[str, object]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "x", "choices": [choice]}


def _anthropic(text: str) -> dict[str, object]:
    facts = {"id": "m", "type": "message", "role": "assistant", "model": "x", "stop_reason": "end_turn", "stop_sequence": None}
    return {**facts, "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 1, "output_tokens": 1}}


def _openai_stream(text: str) -> bytes:
    chunks = [
        {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "x", "choices": [{"index": 0, "delta": {"content": part}}]}
        for part in text.split(" ")
    ]
    return b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks) + b"data: [DONE]\n\n"


def _anthropic_stream(text: str) -> bytes:
    deltas = [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": part}} for part in (text[:4], text[4:])]
    events: list[dict[str, object]] = [
        {"type": "message_start", "message": {**_anthropic(""), "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *deltas,
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


_ANSWERS = {"openai": _openai, "anthropic": _anthropic}
_STREAMS = {"openai": _openai_stream, "anthropic": _anthropic_stream}


class _Http(ThreadingHTTPServer):
    request_queue_size = 128
    state: ModelServer


class _Handler(QuietHandler):
    server: _Http

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        status, headers, data = self.server.state.reply(self.path, body)
        if "event-stream" not in headers.get("content-type", ""):
            self.send_whole(data, status, headers)
            return
        self.send_head(status, {**headers, "transfer-encoding": "chunked"})
        for start in range(0, len(data), 50):
            piece = data[start : start + 50]
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            self.wfile.flush()
        if self.server.state.cut_streams:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """Run a server as long as the block."""
    http = _Http(("127.0.0.1", 0), _Handler)
    http.state = ModelServer(url=f"http://127.0.0.1:{http.server_port}")
    with running(http):
        yield http.state
