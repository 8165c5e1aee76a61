"""Answers of MCP servers that are too large, over HTTP as JSON and as events, compressed and endless, and over stdio."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from talm_sim.tools_env.environment import Environment
from talm_sim.tools_env.sources import mcp
from talm_sim.tools_env.toolbox import Tools, open_tools
from talm_sim.types import Scenario, ToolCall, ToolEvent, Turn
from tests.tools_env.sources.test_mcp import HEAD, over_http

SCENARIO = Scenario(id="s", group="perfect", turns=(Turn(messages=({"role": "user", "content": "q"},)),), tools=("tell", "flood"))
SERVER = (
    HEAD
    + """
import socket, uvicorn
from starlette.middleware.gzip import GZipMiddleware

@server.tool()
def tell(n: int) -> str:
    "Tell something long."
    return "x" * n

@server.tool()
def flood(n: int) -> str:
    "Never end."
    return ""

class Flooded:
    "Answers calls of `flood` with what has no end."

    def __init__(self, app, kind):
        self.app, self.kind = app, kind

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http" or scope["method"] != "POST":
            return await self.app(scope, receive, send)
        message = await receive()
        first = [message]
        if b'"flood"' not in message.get("body", b""):
            return await self.app(scope, lambda: pop(first, receive), send)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", self.kind)]})
        while (await send({"type": "http.response.body", "body": b" " * 65536, "more_body": True})) is None:
            await __import__("asyncio").sleep(0)

async def pop(first, receive):
    return first.pop() if first else await receive()
"""
)
SERVED = """
app = server.streamable_http_app(host="127.0.0.1", json_response={as_json})
app = Flooded(GZipMiddleware(app) if {packed} else app, {kind})
uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[socket.socket(fileno=int(sys.argv[1]))])
"""


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("START_S", "CALL_S"):
        monkeypatch.setattr(mcp, name, 100.0)


async def called(tools: Tools, name: str, n: int) -> ToolEvent:
    return await Environment(tools).open(SCENARIO).call(ToolCall(id="1", name=name, arguments={"n": n}), 0)


async def _check(tools: Tools, *names: str) -> None:
    for name in names:
        event = await called(tools, name, 4_500_000)
        assert (event.ok, event.error, event.status) == (False, "answer_too_large", 200), name
        assert json.loads(event.result) == {"error": "The tool's answer is larger than 4 MB and was not read."}
    fine = await called(tools, "tell", 1_500_000)
    assert (fine.ok, fine.error) == (True, ""), "the server lives on, and what is large and not too large is read"


@pytest.mark.parametrize(
    ("as_json", "packed"), [(True, False), (True, True), (False, False), (False, True)], ids=["json", "json, gzip", "events", "events, gzip"]
)
async def test_over_http_it_is_not_read_to_its_end(as_json: bool, packed: bool, tmp_path: Path) -> None:
    kind: Any = b"application/json" if as_json else b"text/event-stream"
    with over_http(tmp_path, SERVER + SERVED.format(as_json=as_json, packed=packed, kind=kind) + "\nraise SystemExit\n") as url:
        tools = await open_tools([f"w=mcp:{url}"])
        try:
            await _check(tools, "tell", "flood")
        finally:
            await tools.aclose()


async def test_over_stdio_it_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(f"{SERVER}\nserver.run()\n", encoding="utf-8")
    tools = await open_tools([f"mcp:{sys.executable} {tmp_path / 'server.py'}"])
    try:
        await _check(tools, "tell")
    finally:
        await tools.aclose()
