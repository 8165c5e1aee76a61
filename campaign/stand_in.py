"""A model server whose answers follow from what it is asked, so that a broken run can be compared with a whole one."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["Model", "serving"]


@dataclass
class Model:
    """A model server on loopback whose answer follows from the request, and what it was asked."""

    queries: tuple[str, ...]
    """One of them stands in a request."""
    address: str = ""
    asked: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, raw: bytes) -> bytes:
        messages = json.loads(raw)["messages"]
        text = " ".join(str(message.get("content")) for message in messages)
        query = max((query for query in self.queries if query in text), key=len, default="")
        with self.lock:
            self.asked[query] += 1
        drawn = hashlib.sha256(query.encode()).digest()[0]
        said = ("Pass", "Fail", "Yes", "No")[drawn % 2 + 2 * ("Pass or Fail" not in text)]
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": f"{said}. {drawn}"}}
        return json.dumps({"choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 2}}).encode()

    def environment(self) -> dict[str, str]:
        return {"HOST_API_KEY": "k", "HOST_BASE_URL": f"{self.address}/v1"}


@contextmanager
def serving(model: Model) -> Iterator[Model]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = model.answer(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def handle(self) -> None:
            try:
                super().handle()
            except (ConnectionError, ValueError):  # whoever asked was killed, perhaps in the middle of it
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

    server = Server(("127.0.0.1", 0), Handler)
    model.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
