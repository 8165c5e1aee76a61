"""A real HTTP server on loopback that answers from a script: status, headers and body, in the order of the requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

S = TypeVar("S", bound=ThreadingHTTPServer)


@dataclass(frozen=True)
class Answer:
    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    """Seconds until it is given, or until the server closes."""
    together: int = 0
    """It is kept back until so many requests have been in flight at a time."""
    hang_up: bool = False


@dataclass
class Seen:
    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


@dataclass
class Loopback:
    url: str
    script: list[Answer]
    seen: list[Seen] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    closing: threading.Event = field(default_factory=threading.Event)
    reply: Callable[[Seen], Answer] | None = None
    """What answers in place of the script."""

    def next_answer(self) -> Answer:
        """The last answer of the script is repeated."""
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]


class QuietHandler(BaseHTTPRequestHandler):
    """Keeps connections alive, prints nothing, and minds no client that gave up."""

    protocol_version = "HTTP/1.1"

    def send_head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def send_whole(self, body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        self.send_head(status, {"content-length": str(len(body)), "content-type": "application/json", **(headers or {})})
        self.wfile.write(body)

    def handle(self) -> None:
        with suppress(ConnectionError):
            super().handle()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def running(server: S) -> Iterator[S]:
    """Serve from a thread until the block ends."""
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def loopback(*script: Answer) -> Iterator[Loopback]:
    class Handler(QuietHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length", 0)))
            with state.lock:
                state.in_flight += 1
                state.most_in_flight = max(state.most_in_flight, state.in_flight)
                state.seen.append(Seen(self.path, {name.lower(): value for name, value in self.headers.items()}, raw))
                answer = state.next_answer() if state.reply is None else state.reply(state.seen[-1])
            while state.most_in_flight < answer.together and not state.closing.wait(0.005):
                pass
            state.closing.wait(answer.delay)
            with state.lock:
                state.in_flight -= 1
            if answer.hang_up:
                self.close_connection = True
                return
            body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            self.send_whole(body, answer.status, answer.headers)

        do_GET = do_POST

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state = Loopback(f"http://127.0.0.1:{server.server_address[1]}", list(script))
    with running(server):
        try:
            yield state
        finally:
            state.closing.set()


def chat_answer(content: str | None = "hello", *, finish: str = "stop", **message: Any) -> Answer:
    """An answer of the chat-completions protocol."""
    return Answer(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14, "prompt_tokens_details": {"cached_tokens": 8}},
        }
    )


def text_answer(text: str | None = "hello", *, finish: str = "stop", top: Any = None) -> Answer:
    """An answer of the completions protocol; `top` are its `top_logprobs`, one object a token."""
    logprobs = None if top is None else {"tokens": ["x"], "token_logprobs": [-0.5], "top_logprobs": top, "text_offset": [0]}
    return Answer(
        {
            "id": "cmpl-1",
            "object": "text_completion",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "text": text, "logprobs": logprobs, "finish_reason": finish}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
        }
    )


def anthropic_answer(*blocks: dict[str, Any], stop: str = "end_turn") -> Answer:
    """An answer of the Messages protocol."""
    return Answer(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": list(blocks),
            "stop_reason": stop,
            "usage": {"input_tokens": 4, "output_tokens": 3, "cache_read_input_tokens": 6, "cache_creation_input_tokens": 1},
        }
    )
