"""Hostile model servers, over both protocols: whatever they send ends at most its own episode, and memory stays flat."""

from __future__ import annotations

import gzip
import json
import random
import socket
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Final

from campaign.base import Outcome, Part, talm

MOST_MEMORY: Final = 600 * 10**6
EPISODES: Final = 16
TIMEOUT: Final = 4
ENDLESS_S: Final = 120
MODELS: Final = {"chat": "openai-api/evil/m", "messages": "anthropic/m"}
Play = Callable[[socket.socket], None]
JSON_KIND: Final = {"content-type": "application/json"}


@dataclass
class Server:
    """A server that plays one thing to all who ask.

    Attributes:
        url: Its address.
        play: What it does once it has read a request.
        heard: The requests it has read, heads and bodies.
    """

    url: str
    play: Play
    heard: list[bytes]


@contextmanager
def serve(play: Play, *, patience: float = TIMEOUT * 4) -> Iterator[Server]:
    """Serve on loopback, a thread a connection, one request each; none is waited for longer than `patience` seconds."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    server = Server(f"http://127.0.0.1:{listener.getsockname()[1]}", play, [])

    def one(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(patience)
            server.heard.append(_request(connection))
            server.play(connection)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=one, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield server
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _request(connection: socket.socket) -> bytes:
    raw = b""
    while b"\r\n\r\n" not in raw:
        raw += connection.recv(65536) or b"\r\n\r\n"
    head, _, body = raw.partition(b"\r\n\r\n")
    length = next((int(line.split(b":")[1]) for line in head.splitlines() if line.lower().startswith(b"content-length:")), 0)
    while len(body) < length:
        more = connection.recv(1 << 20)
        if not more:
            break
        body += more
    return head + b"\r\n\r\n" + body


def http(body: bytes, status: str = "200 OK", headers: dict[str, str] | None = None, *, length: bool = True) -> bytes:
    """An answer as it goes over the line."""
    fields = {**JSON_KIND, **(headers or {}), **({"content-length": str(len(body))} if length else {}), "connection": "close"}
    return f"HTTP/1.1 {status}\r\n".encode() + b"".join(f"{name}: {value}\r\n".encode() for name, value in fields.items()) + b"\r\n" + body


def chat_turn(text: Any = "Yes.", calls: list[tuple[Any, Any]] | None = None, **top: Any) -> dict[str, Any]:
    """A chat completion; calls are (name, arguments)."""
    called = [{"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": args}} for n, (name, args) in enumerate(calls or [])]
    message = {"role": "assistant", "content": text, **({"tool_calls": called} if called else {})}
    usage = {"prompt_tokens": 5, "completion_tokens": 5}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage, **top}


def anthropic_turn(text: Any = "Yes.", calls: list[tuple[Any, Any]] | None = None, **top: Any) -> dict[str, Any]:
    """The same of the Messages protocol; JSON text is given as what it reads as, where it is JSON."""
    blocks: list[Any] = [{"type": "text", "text": text}]
    blocks += [{"type": "tool_use", "id": f"c{n}", "name": name, "input": _read(args)} for n, (name, args) in enumerate(calls or [])]
    usage = {"input_tokens": 5, "output_tokens": 5}
    return {"type": "message", "role": "assistant", "content": blocks, "stop_reason": "end_turn", "usage": usage, **top}


def _read(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return text


TURNS: Final[dict[str, Callable[..., dict[str, Any]]]] = {"chat": chat_turn, "messages": anthropic_turn}


def _send(data: bytes) -> Play:
    return lambda connection: connection.sendall(data)


def _endless(head: bytes, piece: bytes, pause: float = 0.0) -> Play:
    def play(connection: socket.socket) -> None:
        connection.sendall(head)
        until = time.monotonic() + ENDLESS_S
        while time.monotonic() < until:
            connection.sendall(piece)
            time.sleep(pause)

    return play


def _reset(data: bytes) -> Play:
    def play(connection: socket.socket) -> None:
        connection.sendall(data)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return play


@lru_cache
def _zipped(size: int, filler: bytes = b" ") -> bytes:
    packer, chunk = zlib.compressobj(9, zlib.DEFLATED, 31), filler * 2**20
    return b"".join(packer.compress(chunk) for _ in range(size >> 20)) + packer.flush()


OK: Final = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
CHUNKED: Final = OK + b"transfer-encoding: chunked\r\n"
MIB: Final = 2**20


def statuses() -> Iterator[tuple[str, Play]]:
    """Answers of any status."""
    for status in (
        "201 Created", "204 No Content", "206 Partial", "300 Many", "304 Not Modified", "400 Bad", "401 No", "402 Pay", "403 No", "404 No",
        "418 Tea",        "429 Wait", "451 Law", "500 Oh", "503 Later", "529 Full",
        "599 x", "600 x", "999 x", "099 x", "1000 x", "-1 x", "abc x", "200",
    ):  # fmt: skip
        yield f"status {status}", _send(http(b'{"error": {"message": "what", "code": "x"}}', status))
    yield "status 100 for ever", _endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100, 0.001)
    yield "401 of 7 MiB", _send(http(json.dumps({"error": {"message": "x " * (7 * MIB // 2)}}).encode(), "401 No"))
    yield "404 page", _send(http(b"<!doctype html><h1>no", "404 No", {"content-type": "text/html"}))
    yield "500 in utf-16", _send(http('{"error": "né"}'.encode("utf-16"), "500 Oh", {"content-type": "text/plain; charset=utf-16"}))
    yield "400 overflow", _send(http(b'{"error": {"message": "maximum context length"}}', "400 Bad"))
    for to in ("http://model.invalid/v1", "//other.invalid/", "ftp://x/", "http://[", "/v1/again", "\x00", "http://127.0.0.1:1/", "x" * 60_000):
        yield f"redirect to {to[:30]!r}", _send(http(b"", "307 Go", {"location": to}))


def heads(good: bytes) -> Iterator[tuple[str, Play]]:
    """Answers whose heads are odd."""
    for name, value in (
        ("content-type", "application/json; charset=punycode"), ("content-type", "text/html; charset=rot13"), ("content-type", "\u00e9"),
        ("content-type", ""), ("content-type", "text/event-stream"), ("content-encoding", "gzip"), ("content-encoding", "br"),
        ("content-encoding", "zstd"), ("content-encoding", ",".join(["gzip"] * 2000)), ("content-encoding", "x-unknown"),
        ("set-cookie", "a=" + "b" * 50_000), ("x-odd", "\x01\x7f"),
    ):  # fmt: skip
        yield f"{name}: {value[:30]!r}", _send(http(good, headers={name: value}))
    yield "length too long", _send(http(good, headers={"content-length": str(len(good) + 9)}, length=False))
    yield "length too short", _send(http(good, headers={"content-length": "7"}, length=False))
    yield "length negative", _send(http(good, headers={"content-length": "-7"}, length=False))
    yield "length 10^30", _send(http(good, headers={"content-length": "1" + "0" * 30}, length=False))
    yield "two lengths", _send(http(good, headers={"Content-Length": "3"}))
    yield "no length", _send(http(good, length=False))
    yield "chunk of no size", _send(CHUNKED + b"\r\nzz\r\n" + good)
    yield "chunk of 10^18", _send(CHUNKED + b"\r\nfffffffffffffff\r\n" + good)
    yield "chunks of one byte", _send(CHUNKED + b"\r\n" + b"".join(b"1\r\n%c\r\n" % byte for byte in good) + b"0\r\n\r\n")
    yield "endless headers", _endless(OK, b"a: b\r\n" * 500)
    yield "endless header", _endless(OK + b"a: ", b"b" * 65536)
    yield "endless trailers", _endless(CHUNKED + b"\r\n2\r\n{}\r\n0\r\n", b"a: b\r\n" * 500)
    yield "endless extension", _endless(CHUNKED + b"\r\n2;", b"a=b;" * 5000)
    yield "no HTTP", _send(b"\x16\x03\x01 what\r\n\r\n")
    yield "HTTP/0.9", _send(good)


def lines(good: bytes) -> Iterator[tuple[str, Play]]:
    """What breaks off, never ends, or unpacks to more."""
    whole = http(good)
    yield "nothing", _send(b"")
    yield "reset", _reset(b"")
    yield "reset in the head", _reset(whole[:20])
    yield "reset in the body", _reset(whole[:-9])
    yield "cut off", _send(whole[:-9])
    yield "silence", _endless(b"", b"", 1.0)
    yield "drops of a head", _endless(b"HTTP/1.1 200 OK\r\na: ", b"b", 0.2)
    yield "drops of a body", _endless(CHUNKED + b"\r\n", b"1\r\n \r\n", 0.05)
    yield "endless body", _endless(OK + b"\r\n", b" " * 65536)
    yield "endless chunks", _endless(CHUNKED + b"\r\n", b"10000\r\n" + b"[" * 65536 + b"\r\n")
    yield "endless events", _endless(OK + b"\r\n", b'data: {"choices": []}\n\n' * 1000)
    yield "two answers", _send(whole + whole)
    for size, name in ((1024, "1 GiB"), (9, "9 MiB"), (7, "7 MiB")):
        yield f"gzip of {name} of blanks", _send(http(_zipped(size * MIB), headers={"content-encoding": "gzip"}))
    yield "gzip in gzip of 1 GiB", _send(http(gzip.compress(_zipped(1024 * MIB)), headers={"content-encoding": "gzip, gzip"}))
    yield "deflate of 200 MiB", _send(http(zlib.compress(b" " * (200 * MIB), 9), headers={"content-encoding": "deflate"}))
    yield "endless empty gzip", _endless(OK + b"content-encoding: gzip\r\n\r\n", gzip.compress(b"") * 3000)
    yield "gzip cut off", _send(http(gzip.compress(good)[:-9], headers={"content-encoding": "gzip"}))
    for name, piece in (("lists", b"[],"), ("objects", b"{},"), ("pairs", b'{"a":1},'), ("numbers", b"0.1,"), ("texts", b'"\\u00e9",')):
        yield f"8 MiB of {name}", _send(http(b'{"choices": [' + piece * (8 * MIB // len(piece) - 99) + b"1]}"))


def _bodies(protocol: str) -> Iterator[tuple[str, Play]]:
    turn = TURNS[protocol]
    for raw in (
        b"", b" ", b"null", b"[]", b'"x"', b"0", b"{}", b"NaN", b"{", b"\xff\xfe", b"\xef\xbb\xbf{}", b"[" * 100_000, b'{"a":' * 100_000,
        b"1" * 5000, b'{"error": ' + b"9" * 5000 + b"}", b'{"error": {"code": "\xc2\xb2"}}', b'{"error": [[]]}', b"<html>", b"data: [DONE]\n\n",
    ):  # fmt: skip
        yield f"body {raw[:20]!r} ({len(raw)})", _send(http(raw))
    odds: tuple[Any, ...] = ("five", -1, 1e40, 2.5, True, [], {}, 10**400, float("nan"), float("inf"), "9" * 5000)
    for odd in odds:
        name = next(iter(turn()["usage"]))
        yield f"usage {str(odd)[:20]}", _said(turn(usage={**turn()["usage"], name: odd}))
    deep = "[" * 800 + "]" * 800
    written: tuple[Any, ...] = (
        '{"a": ' + deep + "}", deep, "[" * 50_000 + "]" * 50_000, "{", "null",
        "[]", '{"a": NaN}', '{"a": 1e999}', '{"a": "\\ud800"}', '{"a": ' + "1" * 5000 + "}",
        '{"a": "' + "x" * (7 * MIB) + '"}', '{"a": [' + "{}," * (2 * MIB) + "1]}", '{"__proto__": 1, "": 2, "\\u0000": 3}', "\x00", 5, None,
        [deep], {"a": 1},
    )  # fmt: skip
    for arguments in written:
        yield f"arguments {str(arguments)[:20]!r} ({len(str(arguments))})", _said(turn(calls=[("search_web", arguments)]))
    for name in ("", " ", None, 5, [], "x" * MIB, "ask_human", "../../etc", "\x1b[2J", "a\nb", "\ud800"):
        yield f"tool {str(name)[:20]!r}", _said(turn(calls=[(name, "{}")]))
    yield "8 MiB beside a turn", _said(turn(beside=[{}] * (2 * MIB)))
    yield "1,000 calls", _said(turn(calls=[("ask_human", "{}")] * 1000))
    yield "100,000 calls", _said(turn(calls=[("f", "{}")] * 80_000))
    long = ("<think>" * 100_000, "1 " * (MIB // 2 - 99), "\n" * MIB, "x" * (7 * MIB), "\U0001f600" * MIB)
    texts = (None, 5, [{"text": 5}], "", "\ud800", "\x1b]0;x\x07", *long)
    for text in texts:
        yield f"text {str(text)[:12]!r} ({len(str(text))})", _said(turn(text))


def _said(value: Any) -> Play:
    return _send(http(json.dumps(value).encode()))


def _mutant(protocol: str, rng: random.Random) -> tuple[str, Play]:
    """A good answer with one part replaced by something else."""
    value: Any = TURNS[protocol](calls=[("search_web", '{"query": "x"}')])
    odd: Any = rng.choice((None, True, -1, 10**30, 1.5, "", "x", "\ud800", [], [[]], {}, {"a": {}}, [None], "x" * 100_000))
    path: list[Any] = []
    spot = value
    while isinstance(spot, dict | list) and spot and (not path or rng.random() < 0.8):
        key: Any = rng.choice(list(spot) if isinstance(spot, dict) else range(len(spot)))
        path.append(key)
        parent, spot = spot, spot[key]
    parent[path[-1]] = odd
    return f"{'.'.join(map(str, path))} = {str(odd)[:20]!r}", _said(value)


GROUPS: Final[tuple[Callable[[str], Iterator[tuple[str, Play]]], ...]] = (
    lambda protocol: statuses(),
    lambda protocol: heads(json.dumps(TURNS[protocol]()).encode()),
    lambda protocol: lines(json.dumps(TURNS[protocol]()).encode()),
    _bodies,
)


def _cases(count: int, rng: random.Random) -> list[tuple[str, int, int]]:
    """Protocol, group and place in it; what is left over are mutants, by their seed.

    What they send is made when they are tried: a child is said to have used at least what this process did when it started it.
    """
    drawn = [(protocol, group, place) for protocol in TURNS for group, kinds in enumerate(GROUPS) for place, _ in enumerate(kinds(protocol))]
    rng.shuffle(drawn)
    listed = drawn[: count - count // 8]
    return listed + [(("chat", "messages")[number % 2], -1, rng.randrange(10**9)) for number in range(count - len(listed))]


def _made(case: tuple[str, int, int]) -> tuple[str, Play]:
    protocol, group, place = case
    return _mutant(protocol, random.Random(place)) if group < 0 else next(islice(GROUPS[group](protocol), place, None))


def _try(number: int, case: tuple[str, int, int], scratch: Path) -> tuple[str, int]:
    """What is wrong, or nothing, and the most memory it took."""
    protocol = case[0]
    name, play = _made(case)
    folder = scratch / f"{number}"
    folder.mkdir()
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # else a child begins with the most memory that this process ever had
    with serve(play) as server:
        base = {"EVIL_BASE_URL": f"{server.url}/v1", "ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "none-needed"}
        args = ("--split", "perfect", "--limit", str(EPISODES), "--model", MODELS[protocol], "--display", "none")
        env = base | {"TALM_SIM_MAX_RETRIES": "0", "TALM_SIM_TIMEOUT": str(TIMEOUT), "TALM_SIM_FAIL_FAST": "false"}
        ran = talm("run", *args, "--run-id", "r", scratch=folder, env=env)
        wrong = ran.wrong or ("" if ran.code in {0, 1} else f"exit {ran.code}: {ran.err[-200:]}")
        if not wrong and ran.most_memory > MOST_MEMORY:
            wrong = f"{ran.most_memory / 10**6:.0f} MB"
        if not wrong and number % 3 == 0:
            server.play = _said(TURNS[protocol]("Yes, done."))
            again = talm("resume", "r", "--display", "none", scratch=folder, env=base | {"TALM_SIM_TIMEOUT": "30"})
            wrong = again.wrong or ("" if again.code == 0 else f"resume: exit {again.code}: {again.err[-200:]}")
    return (f"{protocol}, {name}: {wrong}" if wrong else ""), ran.most_memory


def play(count: int, rng: random.Random, scratch: Path) -> Outcome:
    """Run 16 episodes against each server, then go on with those of every third against a good one."""
    cases = _cases(count, rng)
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda pair: _try(pair[0], pair[1], scratch), enumerate(cases)))
    most = max(memory for _, memory in found)
    return Outcome(len(cases), [wrong for wrong, _ in found if wrong], {"most memory": f"{most / 10**6:.0f} MB", "in flight": str(EPISODES)})


PARTS = (Part("servers", "hostile model servers, both protocols", "servers", 150, 0, play),)
