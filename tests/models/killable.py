"""A served model on a port of its own that is killed in the middle of an answer, if it is run as a program: `python -m tests.models.killable`.

What it answers follows from what it is asked, so that several are one model.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable
from contextlib import AbstractContextManager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.models.loopback import QuietHandler, running


class Served(ThreadingHTTPServer):
    """A server with keep-alive; `hold` is called before each answer, and the answer of number `last` is its last half one."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, port: int = 0, *, last: int = 0, hold: Callable[[], object] = lambda: None) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.last = last
        self.hold = hold
        self.asked = 0
        self.lock = threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(QuietHandler):
    server: Served

    def do_GET(self) -> None:
        self._send(str(self.server.asked).encode())

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["content-length"]))
        with self.server.lock:
            self.server.asked += 1
            number = self.server.asked
        self.server.hold()
        self._send(_answer(json.loads(raw)), killed=number == self.server.last)

    def _send(self, body: bytes, *, killed: bool = False) -> None:
        self.send_head(200, {"content-type": "application/json", "content-length": str(len(body))})
        self.wfile.write(body[: len(body) // 2])
        self.wfile.flush()
        if killed:
            os.kill(os.getpid(), signal.SIGKILL)
        self.wfile.write(body[len(body) // 2 :])


def _answer(body: dict[str, Any]) -> bytes:
    """Call the one tool with the town that is asked for, then tell what it returned, or something else in a third of the requests."""
    messages = body["messages"]
    drawn = hashlib.sha256(json.dumps([messages[0], body.get("seed")]).encode()).digest()[0]
    results = [message["content"] for message in messages if message["role"] == "tool"]
    if not body.get("tools"):
        message = {"role": "assistant", "content": ("Yes", "No", "I don't know")[drawn % 3]}
    elif not results:
        town = re.findall(r"How far north is (\w+)", json.dumps(messages))[-1]
        message = _calling("town_latitude", {"town": town})
    else:
        message = _calling("Finish", {"final_answer": f"It is {json.loads(results[-1])['latitude'] if drawn % 3 else drawn}."})
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return json.dumps({"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 7}}).encode()


def _calling(tool: str, arguments: dict[str, str]) -> dict[str, Any]:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "call", "type": "function", "function": function}]}


def serving(hold: Callable[[], object] = lambda: None) -> AbstractContextManager[Served]:
    """Serve in this process until the block ends."""
    return running(Served(hold=hold))


class Killable:
    """The server as a process of its own; its port is kept for it while it is dead.

    Args:
        last: The request in the middle of whose answer the process is killed.
    """

    def __init__(self, last: int) -> None:
        self._place = socket.socket()
        self._place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._place.bind(("127.0.0.1", 0))
        self.port = self._place.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self.process = self._start(last)

    def _start(self, last: int) -> subprocess.Popen[str]:
        words = [sys.executable, "-m", "tests.models.killable", str(self.port), str(last)]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        return process

    @property
    def is_dead(self) -> bool:
        return self.process.poll() is not None

    def start_again(self) -> None:
        """Serve again on the same port, and stay."""
        self.close()
        self.process = self._start(0)

    def asked(self) -> int:
        """Return the number of requests since its last start."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=30) as answer:
            return int(answer.read())

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def __enter__(self) -> Killable:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
        self._place.close()


def main() -> None:
    """Serve on a port, up to the middle of an answer."""
    server = Served(int(sys.argv[1]), last=int(sys.argv[2]))
    print("ready", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
