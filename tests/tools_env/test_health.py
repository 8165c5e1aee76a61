"""Health of tools over real sources: a service that breaks in several ways, Python, an MCP server."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from talm_sim.tools_env.environment import Environment
from talm_sim.tools_env.health import ToolHealth, health_of
from talm_sim.tools_env.toolbox import open_tools
from talm_sim.tools_env.trials import try_tools
from talm_sim.types import JsonObject, Scenario, ToolCall, Turn

N = {"name": "n", "in": "query", "required": True, "schema": {"type": "integer", "example": 4}}
UNKNOWN = {"name": "n", "in": "query", "required": True, "schema": {"type": "integer"}}
IMPOSSIBLE = {"name": "n", "in": "query", "required": True, "schema": {"type": "string", "pattern": "^x\\by$"}}
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


BROKEN = {"cut_short": b"{not json", "deep": b"[" * 100_000}
"""Bodies that nobody can be shown."""


class Service(BaseHTTPRequestHandler):
    """`/STATUS` answers with it; `/flaky` fails every second time, `/text` gives a text for the number it promises."""

    protocol_version = "HTTP/1.1"
    calls: dict[str, int]
    document: JsonObject
    waiting: threading.Barrier

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        name = self.path.partition("?")[0].removeprefix("/")
        self.calls[name] = self.calls.get(name, 0) + 1
        if name == "cut":
            self.connection.close()
            self.close_connection = True
            return
        if name.startswith("together"):
            self.waiting.wait(timeout=60)
        status = int(name[:3]) if name[:3].isdecimal() else 503 if name == "flaky" and self.calls[name] % 2 == 0 else 200
        value: Any = (
            self.document if name == "openapi.json" else {"n": "four" if name == "text" else 4} if status < 300 else {"detail": f"is {status}"}
        )
        body = BROKEN.get(name) or json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def operation(name: str, parameter: JsonObject) -> JsonObject:
    responses = {"200": {"description": "ok", "content": {"application/json": {"schema": NUMBER}}}}
    return {"operationId": name, "parameters": [parameter], "responses": responses}


PATHS: dict[str, JsonObject] = {
    "/fine": {"get": operation("fine", N)},
    "/text": {"get": operation("text", N)},
    "/flaky": {"get": operation("flaky", N)},
    "/404": {"get": operation("refuses_what_is_given", N)},
    "/404x": {"get": operation("refuses_what_is_made_up", UNKNOWN)},
    "/500": {"get": operation("breaks", N)},
    "/500x": {"get": operation("breaks_on_what_is_made_up", UNKNOWN)},
    "/503": {"get": operation("unavailable", UNKNOWN)},
    "/401": {"get": operation("unauthorised", UNKNOWN)},
    "/cut": {"get": operation("cut", N)},
    "/write": {"post": operation("writes", N)},
    "/odd": {"get": operation("odd", IMPOSSIBLE)},
}


@pytest.fixture
def service() -> Iterator[str]:
    Service.calls, Service.document = {}, {"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": PATHS}
    http = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{http.server_port}/openapi.json"
    http.shutdown()
    http.server_close()
    thread.join()


async def check(source: str, **options: Any) -> dict[str, ToolHealth]:
    tools = await open_tools([source])
    try:
        tried = await try_tools(tools, **{"times": 4, **options})
    finally:
        await tools.aclose()
    return {one.tool: health_of(one, tools.response_schema(one.tool)) for one in tried}


async def test_what_is_up_and_what_is_down_and_why(service: str) -> None:
    found = await check(f"s={service}")
    assert {name: (one.up, one.calls, one.failed, one.matches) for name, one in found.items()} == {
        "fine": (True, 4, 0, True),
        "text": (True, 4, 0, False),
        "flaky": (False, 4, 2, True),
        "refuses_what_is_given": (False, 4, 4, None),
        "refuses_what_is_made_up": (True, 4, 0, None),
        "breaks": (False, 4, 4, None),
        "breaks_on_what_is_made_up": (None, 4, 0, None),
        "unavailable": (False, 4, 4, None),
        "unauthorised": (False, 4, 4, None),
        "cut": (False, 1, 1, None),
        "writes": (None, 0, 0, None),
        "odd": (None, 0, 0, None),
    }
    assert {name: one.status for name, one in found.items() if name in {"fine", "flaky", "breaks", "refuses_what_is_made_up", "writes"}} == {
        "fine": "HTTP 200",
        "flaky": "2 x HTTP 200; 2 x HTTP 503: is 503",
        "breaks": "HTTP 500: is 500",
        "refuses_what_is_made_up": "HTTP 404: is 404 (to made-up arguments)",
        "writes": "not called: may change data",
    }
    assert found["cut"].status == "The source 's' does not answer: RemoteProtocolError."
    assert found["odd"].status.startswith("not called: no suitable arguments are known (Invalid arguments at n: ")
    assert "write" not in Service.calls and "odd" not in Service.calls
    fine = found["fine"]
    assert fine.arguments == {"n": 4} and fine.median_ms is not None and fine.p95_ms is not None and 0 < fine.median_ms <= fine.p95_ms
    assert found["cut"].median_ms is None


async def test_what_a_run_calls_failed_is_down(service: str) -> None:
    paths = {f"/{name}": {"get": operation(name, N)} for name in BROKEN} | {"/302": {"get": operation("moved", UNKNOWN)}}
    Service.document = {**Service.document, "paths": paths}
    found = await check(f"s={service}", times=1)
    assert {name: (one.up, one.failed) for name, one in found.items()} == dict.fromkeys((*BROKEN, "moved"), (False, 1))
    assert found["cut_short"].status == "HTTP 200: The tool answered with a broken body: {not json"
    assert found["moved"].status == "HTTP 302: it redirects, and redirects are not followed (to made-up arguments)"
    tools = await open_tools([f"s={service}"])
    scenario = Scenario(id="s", group="perfect", turns=(Turn(messages=({"role": "user", "content": "q"},)),), tools=tuple(tools.specs))
    opened = Environment(tools).open(scenario)
    events = [await opened.call(ToolCall(id="1", name=name, arguments={"n": 4}), 0) for name in found]
    await tools.aclose()
    assert [event.ok for event in events] == [False] * len(found)


async def test_what_may_change_something_is_called_where_the_user_says_so(service: str) -> None:
    assert (await check(f"s={service}", writing=True))["writes"].up
    assert (await check(f"s={service}", given={"writes": {"n": 5}}))["writes"].arguments == {"n": 5}
    fixed = await check(f"s={service}", given={"breaks_on_what_is_made_up": {"n": 5}})
    assert fixed["breaks_on_what_is_made_up"].up is False


READING_SERVER = '''
from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("two", log_level="ERROR")

@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def look(n: int) -> dict[str, int]:
    """Look."""
    return {"n": n}

@server.tool()
def change(n: int) -> dict[str, int]:
    """Change."""
    return {"n": n}

server.run()
'''


@pytest.mark.skipif(find_spec("mcp") is None, reason="needs the extra mcp")
async def test_an_mcp_server_says_which_of_its_tools_only_read(tmp_path: Path) -> None:

    (tmp_path / "two.py").write_text(READING_SERVER, encoding="utf-8")
    found = await check(f"two=mcp:{sys.executable} {tmp_path / 'two.py'}")
    assert {name: (one.up, one.calls, one.matches) for name, one in found.items()} == {"look": (True, 4, True), "change": (None, 0, None)}
