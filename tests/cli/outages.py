"""A real model server on loopback that can go wrong: for some queries, for all, or by not being there any more."""

from __future__ import annotations

import hashlib
import json
import re
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from talm_sim.types import Fact, Facts, GoldCall, Scenario, Turn
from tests.runs.recorded_world import LATITUDE, make_world

MODEL = "openai-api/host/m"
_NUMBER = re.compile(r"number (\d+)")

Fault = tuple[int, str, str]
"""Status, content type and body."""


def refused(status: int, message: str = "no") -> Fault:
    return status, "application/json", json.dumps({"error": {"message": message}})


@dataclass
class Host:
    """What the server does, and what it was asked."""

    port: int = 0
    fault: Callable[[int], Fault | None] = lambda number: None
    """What befalls a request about the query of this number."""
    after: int | None = None
    """Requests after which the server dies: it answers no other."""
    asked: Counter[int] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)
    http: ThreadingHTTPServer | None = None
    place: socket.socket = field(default_factory=socket.socket)
    """Keeps the port from others while the server is dead: bound, it does not listen."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def reply(self, body: dict[str, Any]) -> Fault | None:
        text = json.dumps(body["messages"])
        found = _NUMBER.search(text)
        number = int(found[1]) if found else -1
        with self.lock:
            self.asked[number] += 1
            if self.after is not None and self.asked.total() > self.after:
                return None
        fault = self.fault(number)
        if fault is not None:
            return fault
        drawn = int(hashlib.sha256(text.encode()).hexdigest(), 16) % 3
        said = ("Yes", "No", "I don't know")[drawn] if "Yes" in text else f"Its latitude is {number}."
        message = {"role": "assistant", "content": said}
        usage = {"prompt_tokens": 100, "completion_tokens": 7}
        return 200, "application/json", json.dumps({"choices": [{"index": 0, "finish_reason": "stop", "message": message}], "usage": usage})

    @contextmanager
    def serving(self) -> Iterator[Host]:
        """Listen, on the port of the time before where there was one."""
        self.place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.place.bind(("127.0.0.1", self.port))
        self.port = self.place.getsockname()[1]
        self.http = ThreadingHTTPServer(("127.0.0.1", self.port), _handler_of(self))
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        try:
            yield self
        finally:
            self.die()
            self.place.close()

    def die(self) -> None:
        """Be there no more."""
        with self.lock:
            http, self.http = self.http, None
        if http is not None:
            http.shutdown()
            http.server_close()


def _handler_of(host: Host) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            answer = host.reply(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            # A client that ends its run does not wait for what else it asked.
            with suppress(ConnectionError):
                if answer is not None:
                    self.reply(answer[0], answer[1], answer[2].encode())
            self.close_connection = True
            if host.after is not None and host.asked.total() >= host.after:
                host.die()  # whoever comes now finds nobody there

        def handle(self) -> None:
            with suppress(ConnectionError, ValueError):  # a request that its client broke off is no JSON
                super().handle()

        def reply(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.send_header("connection", "close")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    return Handler


SETTINGS = {"TALM_SIM_TOOLS": "replay", "TALM_SIM_MODELS": "live", "TALM_SIM_MAX_RETRIES": "0"}
"""Options of these runs that have no flag."""


def options(directory: Path, number: int) -> list[str]:
    """The options of a run of `number` queries, whose tools were recorded, by the host's model."""
    world = make_world(directory)
    turns = [f"How far north is town number {n}, in whole degrees?" for n in range(number)]
    scenarios = [_scenario(f"town-{n:02}", turn, n) for n, turn in enumerate(turns)]
    world["scenarios"].write_text("".join(one.model_dump_json() + "\n" for one in scenarios), encoding="utf-8")
    flags = {"scenarios": world["scenarios"], "cassettes": world["cassettes"], "split": "perfect"}
    return [*(word for name, value in flags.items() for word in (f"--{name}", str(value))), "--model", MODEL]


def _scenario(name: str, query: str, number: int) -> Scenario:
    call = GoldCall(name=LATITUDE.name, arguments={"town": name})
    fact = Fact(name="latitude", value=number, call=0, pointer="/latitude")
    return Scenario(
        id=name,
        group="perfect",
        turns=(Turn(messages=({"role": "user", "content": query},), gold_calls=(call,)),),
        tools=(LATITUDE.name,),
        target=Facts(required=(fact,)),
    )
