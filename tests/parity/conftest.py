"""The servers that agents and tools ask, and the process in which agents play alone."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.models.loopback import Answer, Loopback, Seen, chat_answer, loopback
from tests.parity.cases import Case, Turn
from tests.parity.served import ANSWERS, DOCUMENT, write_program


def weather(seen: Seen) -> Answer:
    """The service of `served.DOCUMENT`."""
    kind, text = ANSWERS[re.split(r"[/?]", seen.path)[1]]
    return Answer(text.encode(), headers={"content-type": kind})


def policy(case: Case) -> Callable[[Seen], Answer]:
    """How the stand-in answers: by what it is asked, and by how often it has spoken."""

    def reply(seen: Seen) -> Answer:
        body = seen.body
        special = next((turn for words, turn in case.asked.items() if words in json.dumps(body)), None)
        place = sum(message["role"] == "assistant" for message in body["messages"])
        place -= sum(message["role"] == "assistant" for message in case.turns[0])
        place = max(place, int(body["messages"][-1]["role"] == "tool"))  # of a conversation that was cut short, this much is seen
        answer = _said(case.script[min(place, len(case.script) - 1)] if special is None else special, place, body.get("tools") or ())
        return _streamed(answer.body) if body.get("stream") else answer

    return reply


def _said(turn: Turn, place: int, tools: Any) -> Answer:
    """An answer in words, unless it calls a tool that it was offered."""
    whole: Any = {"content": None, "tool_calls": turn} if isinstance(turn, list) else {"content": turn} if isinstance(turn, str) else turn
    calls: list[dict[str, Any]] = [
        {
            "id": f"call_{place}_{number}",
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for number, (name, given) in enumerate(whole.get("tool_calls", ()))
    ]
    offered = {tool["function"]["name"] for tool in tools}
    if calls and not {call["function"]["name"] for call in calls} & offered:
        return chat_answer("I have no such tool.")
    made = {**whole, "tool_calls": calls} if calls else whole
    return chat_answer(**{"finish": "tool_calls" if calls else "stop", **made})


def _streamed(whole: Any) -> Answer:
    """The same answer in pieces, as server-sent events."""
    choice = whole["choices"][0]
    message = choice["message"]
    calls = [{"index": place, **call} for place, call in enumerate(message.get("tool_calls", ()))]
    deltas: list[dict[str, Any]] = [
        {"role": "assistant", "content": ""},
        *({"content": part} for part in re.findall(r"\S+\s*", message["content"] or "")),
    ]
    deltas += [{"tool_calls": [call]} for call in calls]
    pieces = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    pieces.append({"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]})
    head = {"id": whole["id"], "object": "chat.completion.chunk", "created": 1, "model": "m"}
    events = [*({**head, "choices": [piece]} for piece in pieces), {**head, "choices": [], "usage": whole["usage"]}]
    text = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    return Answer(text.encode(), headers={"content-type": "text/event-stream"})


@pytest.fixture(scope="session")
def model() -> Iterator[Loopback]:
    with loopback() as server:
        yield server


@pytest.fixture(scope="session")
def places(model: Loopback, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Where the servers are."""
    directory = tmp_path_factory.mktemp("places")
    document = directory / "weather.json"
    with loopback() as http:
        http.reply = weather
        document.write_text(json.dumps(DOCUMENT | {"servers": [{"url": http.url}]}), encoding="utf-8")
        yield {"model": model.url, "openapi": http.url, "document": str(document), "mcp_program": str(write_program(directory))}


@pytest.fixture(scope="session")
def mcp_http(places: dict[str, str]) -> Iterator[str]:
    """The MCP server over HTTP."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    process = subprocess.Popen([sys.executable, places["mcp_program"], str(port)])
    try:
        while process.poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        places["mcp_http"] = f"http://127.0.0.1:{port}/mcp"
        yield places["mcp_http"]
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="session")
def alone() -> Iterator[Callable[..., dict[str, Any]]]:
    """Plays a case in a process that knows nothing of talm-sim."""
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.parity.alone"], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )
    assert process.stdin is not None and process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    def play(case: str, places: Mapping[str, str]) -> dict[str, Any]:
        stdin.write(json.dumps({**places, "case": case}) + "\n")
        stdin.flush()
        found: dict[str, Any] = json.loads(stdout.readline())
        assert found["case"] == case and not found.get("imported"), found
        return found

    try:
        yield play
    finally:
        stdin.close()
        process.wait()
        stdout.close()
