"""Hostile MCP servers over stdio: `python hostile_mcp.py MODE [MARK]`, which needs nothing but Python.

Each has a tool `good`, which works, and one `bad`. What is wrong is in `STARTS` and `HANDS` where it is at the start, in `PAGES` where it is
the list of tools, in `LISTS` where it is a tool beside the two, and in `CALLS` where it is in a call of `bad`. MARK is found in the
command line of whatever such a server leaves behind.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

SCHEMA: Final[dict[str, Any]] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
GOOD: Final = {"name": "good", "description": "Double.", "inputSchema": SCHEMA}
BAD: Final = {"name": "bad", "description": "Be bad.", "inputSchema": SCHEMA}
ESCAPES: Final = "\x1b[31mred\x1b]0;title\x07\u202ereversed\u2066\x9b2J"
MIB: Final = 1 << 20
SLEEPER: Final = "import signal, time\nfor s in (1, 2, 15): signal.signal(s, signal.SIG_IGN)\ntime.sleep(3600)"


def send(data: bytes) -> bool:
    while data:
        data = data[os.write(1, data) :]
    return True


def say(**message: Any) -> bool:
    return send(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def text(value: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}]}


def closes(number: int) -> None:
    os.close(number)
    time.sleep(3600)


def forever(piece: bytes, pause: float = 0.0, first: bytes = b"") -> None:
    send(first)
    while True:
        send(piece)
        time.sleep(pause)


def note(method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params}).encode() + b"\n"


def child() -> None:
    """Leave a process behind that hears no signal and holds this one's streams."""
    subprocess.Popen([sys.executable, "-c", SLEEPER, *sys.argv[2:]])
    time.sleep(0.3)


def flood_stderr() -> None:
    while True:
        os.write(2, b"noise " * 10_000)


def dies_and_leaves() -> None:
    child()
    os._exit(3)


def pages(cursor: Any, tools: Callable[[int], list[Any]]) -> dict[str, Any]:
    number = int(cursor or 0)
    return {"tools": [GOOD, BAD] if not number else tools(number), "nextCursor": str(number + 1)}


def asks(number: int) -> bytes:
    params = {"messages": [], "maxTokens": 1}
    return json.dumps({"jsonrpc": "2.0", "id": f"s{number}", "method": "sampling/createMessage", "params": params}).encode() + b"\n"


def drips(id: Any) -> None:
    for byte in json.dumps({"jsonrpc": "2.0", "id": id, "result": text("x" * 10_000)}).encode():
        send(bytes([byte]))
        time.sleep(0.5)


def stops() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


STARTS: Final[dict[str, Callable[[], object]]] = {
    "silence": lambda: time.sleep(3600),
    "end, leaving a child": dies_and_leaves,
    "a line without end": lambda: forever(b"x" * 65536),
    "refusal with escapes": lambda: say(id=1, error={"code": -32022, "message": ESCAPES, "data": {"supported": ["9"]}}) and sys.exit(ESCAPES),
    "no output": lambda: closes(1),
}
"""Before anything is read."""

FINE: Final[dict[str, Callable[[], object]]] = {
    "noise first": lambda: send(b"hello \xff\x00\n{}\n[]\nnull\n5\n" + ESCAPES.encode() + b"\n"),
    "deaf grandchild": child,
}
"""The same, and all is well then."""

HANDS: Final[dict[str, Callable[[Any], object]]] = {"empty": lambda id: say(id=id, result={})}
"""In place of an answer to the handshake."""

DEEP: Final = json.loads('{"a":' * 300 + "1" + "}" * 300)
LISTS: Final[dict[str, Any]] = {
    "no type": {"name": "odd", "inputSchema": {"properties": {}}},
    "a name of another script": {"name": "日本語", "inputSchema": SCHEMA},
    "a number for a name": {"name": 5, "inputSchema": SCHEMA},
    "a description of 3,000,000 characters": {"name": "odd", "description": "x" * 3_000_000, "inputSchema": SCHEMA},
    "properties that are none": {"name": "odd", "inputSchema": {"type": "object", "properties": [1]}},
    "the name of another": {"name": "good", "inputSchema": SCHEMA},
    "escapes in its name": {"name": ESCAPES, "inputSchema": {"type": "array"}},
}
"""Tools that cannot be taken: `list: all` offers them all."""

PAGES: Final[dict[str, Callable[[Any], dict[str, Any]]]] = {
    "pages without end": lambda cursor: pages(cursor, lambda number: [{**GOOD, "name": f"t{number}"}]),
    "a cursor that stands still": lambda cursor: {"tools": [{**GOOD, "name": f"t{cursor}"}], "nextCursor": "c"},
    "pages of 1 MB": lambda cursor: pages(cursor, lambda n: [{**GOOD, "name": f"t{n}x{k}", "description": "x" * 90_000} for k in range(11)]),
    "a page of 10 MB": lambda cursor: {"tools": [GOOD, {**GOOD, "name": "t", "description": "x" * 10 * MIB}]},
    "a page of 60,000 tools": lambda cursor: {"tools": [{"name": "a"}] * 60_000},
    "a tool 300 deep": lambda cursor: {"tools": [GOOD, {"name": "odd", "inputSchema": {"type": "object", "properties": {"a": DEEP}}}]},
    "half a character": lambda cursor: {"tools": [GOOD, {"name": "odd", "description": "\ud800", "inputSchema": SCHEMA}]},
}

CALLS: Final[dict[str, Callable[[Any], object]]] = {
    "silence": lambda id: None,
    "end, leaving a child": lambda id: dies_and_leaves(),
    "killed": lambda id: os.kill(os.getpid(), signal.SIGKILL),
    "stopped": lambda id: stops(),
    "no output": lambda id: os.close(1),
    "an answer without end": lambda id: forever(b"x" * 65536, first=b'{"jsonrpc":"2.0","id":%d,"result":{"a":"' % id),
    "10 MB, the id last": lambda id: send(b'{"result":%s,"jsonrpc":"2.0","id":%d}\n' % (json.dumps(text("x" * 10 * MIB)).encode(), id)),
    "half a character": lambda id: say(id=id, result=text("\ud800")),
    "an error of 3 MB with escapes": lambda id: say(id=id, error={"code": -1, "message": ESCAPES * 100_000}),
    "a result that is none": lambda id: say(id=id, result=5),
    "progress without end": lambda id: forever(note("progress", progressToken=id, progress=1) * 500),
    "errors without end": lambda id: flood_stderr(),
    "a byte each half second": drips,
    "a page to open first": lambda id: say(id=id, error={"code": -32042, "message": "Pay first."}),
    "more input": lambda id: say(id=id, result={"resultType": "input_required", "inputRequests": {}, "requestState": "x"}),
}
"""Each fails the call, or ends the server."""

ANSWERED: Final[dict[str, Callable[[Any], object]]] = {
    "twice": lambda id: [say(id=id, result=text("first")), say(id=id, result=text("second"))],
    "another's id as text": lambda id: say(id=str(id), result=text("first")),
    "a request first": lambda id: [send(asks(1)), say(id=id, result=text("first"))],
    "1.5 MB": lambda id: say(id=id, result=text("x" * 1_500_000)),
    "other tools from now on": lambda id: [send(note("tools/list_changed")), say(id=id, result=text("first"))],
}
"""Each answers the call."""


def living(mark: str) -> list[str]:
    """Command lines of the servers that bear a mark, and of what they left behind."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if mark in words and "talm_sim" not in words:
                found.append(" ".join(words))
    return found


def main(mode: str) -> None:
    kind, _, what = mode.partition(": ")
    {**STARTS, **FINE}.get(what if kind == "start" else "", lambda: None)()
    changed = False
    for line in iter(sys.stdin.buffer.readline, b""):
        message = json.loads(line)
        id, params = message.get("id"), message.get("params") or {}
        match message.get("method"):
            case "initialize" if kind == "hand":
                HANDS[what](id)
            case "initialize":
                version = params["protocolVersion"]
                say(id=id, result={"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "h", "version": "1"}})
            case "tools/list" if kind == "page":
                say(id=id, result=PAGES[what](params.get("cursor")))
            case "tools/list":
                odd = [*LISTS.values()] if kind == "list" else [{"name": "new", "inputSchema": SCHEMA}] if changed else []
                say(id=id, result={"tools": [*odd, GOOD] if changed else [*odd, GOOD, BAD]})
            case "tools/call" if params["name"] == "bad" and kind == "call":
                changed = True
                {**CALLS, **ANSWERED}[what](id)
            case "tools/call":
                say(id=id, result=text(json.dumps({"twice": 2 * params["arguments"]["n"]})))
            case _ if id is not None and "method" in message:
                say(id=id, error={"code": -32601, "message": "no"})


if __name__ == "__main__":
    main(sys.argv[1])
