"""Traces are sent to a real HTTP server: whole, in batches, with the headers of the environment, tried again where that may help."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.runs.exports import collector
from talm_sim.runs.exports.collector import headers_from_environment, send, traces_address
from talm_sim.runs.exports.spans import Trace

SECRET = "hunter2-hunter2-hunter2"
TRACES = [Trace(json.dumps({"resource": {}, "number": number}), 3) for number in range(5)]


NOT_THE_PROTOCOL = [b"", b"{}", b"[]", b"\xff", b'{"partialSuccess": 1}', b'{"partialSuccess": {"rejectedSpans": "x"}}', b"[" * 5000]


class Collector(ThreadingHTTPServer):
    """Answers with each of `answers` in turn, the last one for ever."""

    daemon_threads = True

    def __init__(self, answers: Sequence[tuple[int, bytes, dict[str, str]]]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = list(answers)
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.address = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}, json.loads(body)))
        status, told, headers = self.server.answers.pop(0) if len(self.server.answers) > 1 else self.server.answers[0]
        self.send_response(status)
        for name, value in {"content-length": str(len(told)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def collectors() -> Iterator[Any]:
    started: list[Collector] = []

    def start(*answers: tuple[int, bytes, dict[str, str]]) -> Collector:
        server = Collector(answers or [(200, b"{}", {})])
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        started.append(server)
        return server

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


def no_wait(seconds: float) -> None:
    raise AssertionError(f"waits for {seconds} s")


def test_all_is_sent_as_one_body_with_the_environments_headers(collectors: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server = collectors()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"Authorization=Basic%20{SECRET}, x-tenant=a%2Cb")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "x-tenant=traces")
    sent = send(TRACES, server.address, wait=no_wait)
    assert (sent.episodes, sent.spans, sent.requests, sent.rejected) == (5, 15, 1, 0)
    ((path, headers, body),) = server.requests
    assert (path, headers["content-type"]) == ("/v1/traces", "application/json")
    assert (headers["authorization"], headers["x-tenant"]) == (f"Basic {SECRET}", "traces")
    assert [one["number"] for one in body["resourceSpans"]] == [0, 1, 2, 3, 4]


def test_a_large_run_is_sent_in_several_bodies_and_no_episode_is_split(collectors: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server = collectors()
    monkeypatch.setattr(collector, "_LARGEST_BODY", 2 * len(TRACES[0].text))
    assert send(TRACES, server.address, wait=no_wait).requests == 3
    assert [[one["number"] for one in body["resourceSpans"]] for _, _, body in server.requests] == [[0, 1], [2, 3], [4]]


def test_a_busy_collector_is_asked_again(collectors: Any) -> None:
    server = collectors((503, b"", {}), (429, b"", {"retry-after": "7"}), (200, b"", {}))
    waited: list[float] = []
    assert send(TRACES[:1], server.address, wait=waited.append).spans == 3
    assert waited == [1.0, 7.0] and len(server.requests) == 3
    assert len({json.dumps(body) for _, _, body in server.requests}) == 1


def test_spans_that_are_rejected_are_counted(collectors: Any) -> None:
    told = json.dumps({"partialSuccess": {"rejectedSpans": "2", "errorMessage": "too\nold"}}).encode()
    sent = send(TRACES, collectors((200, told, {})).address, wait=no_wait)
    assert (sent.spans, sent.rejected, sent.why) == (15, 2, "too old")


@pytest.mark.parametrize(
    "told", [b"", b"{}", b"[]", b"\xff", b'{"partialSuccess": 1}', b'{"partialSuccess": {"rejectedSpans": "x"}}', b"[" * 5000]
)
def test_an_answer_that_is_not_the_protocols_rejects_nothing(collectors: Any, told: bytes) -> None:
    assert send(TRACES, collectors((200, told, {})).address, wait=no_wait).rejected == 0


@pytest.mark.parametrize(
    ("status", "headers", "fix"),
    [
        (401, {}, "give its credentials in OTEL_EXPORTER_OTLP_HEADERS"),
        (404, {}, "check the address"),
        (302, {"location": "http://127.0.0.1:9/else"}, "check the address"),
        (413, {}, "export without --content"),
        (400, {}, "see its log"),
        (503, {}, "see its log"),
    ],
)
def test_a_refusal_is_one_line_without_secrets(
    collectors: Any, monkeypatch: pytest.MonkeyPatch, status: int, headers: dict[str, str], fix: str
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"x-anything={SECRET}")
    server = collectors((status, f"no\n\x1b[31m{SECRET}".encode(), headers))
    with pytest.raises(PrerequisiteError, match=f"answered {status} ") as caught:
        send(TRACES, server.address, wait=lambda _: None)
    assert SECRET not in str(caught.value) and "\n" not in str(caught.value) and fix in str(caught.value)
    assert len(server.requests) == (4 if status == 503 else 1)


def test_a_collector_that_is_not_there_is_one_line(collectors: Any) -> None:
    server = collectors()
    server.shutdown()
    server.server_close()
    with pytest.raises(PrerequisiteError, match=r"cannot be reached \(ConnectionError\); is a collector"):
        send(TRACES, server.address, wait=lambda _: None)


@pytest.mark.parametrize("address", ["", "localhost:4318", "ftp://h", "http://", "http://h:x", "http://h:99999", "http://a b", "http://h/\x1b"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(PrerequisiteError, match="is not the address of a collector"):
        traces_address(address)


@pytest.mark.parametrize("address", [f"http://u:{SECRET}@h", f"http://h/?key={SECRET}", f"http://h/#{SECRET}"])
def test_credentials_in_an_address_are_refused_and_not_shown(address: str) -> None:
    with pytest.raises(PrerequisiteError, match="put credentials into OTEL_EXPORTER_OTLP_HEADERS") as caught:
        traces_address(address)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("value", [SECRET, f"a b={SECRET}", f"={SECRET}", f"a={SECRET}%0Ab"])
def test_a_header_in_another_form_is_refused_and_not_shown(value: str) -> None:
    with pytest.raises(PrerequisiteError, match=r"^OTEL_EXPORTER_OTLP_HEADERS: ") as caught:
        headers_from_environment({"OTEL_EXPORTER_OTLP_HEADERS": value})
    assert SECRET not in str(caught.value)
