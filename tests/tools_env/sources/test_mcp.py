"""MCP servers: over stdio and HTTP, what of them is taken, and how they fail, each in one line."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytest.importorskip("mcp")

from talm_sim.errors import PrerequisiteError, ProviderError
from talm_sim.tools_env.sources import mcp
from talm_sim.tools_env.sources.registry import open_source
from talm_sim.tools_env.toolbox import open_tools

HEAD = """
import os, sys, time
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("theirs", log_level="ERROR")
"""
MANY = (
    HEAD
    + """
@server.tool()
async def whoami(context: Context) -> str:
    "Say who asks."
    return context.request_context.request.headers.get("authorization", "nobody")

@server.tool(name="get.weather/now")
def weather(city: str, days: int = 1) -> str:
    "The weather."
    return f"{city}: rain"

@server.tool(name="get weather now")
def other(city: str) -> str:
    "The same under nearly the same name."
    return "sun"

@server.resource("note://one")
def note() -> str:
    return "a note"

@server.prompt()
def ask() -> str:
    return "a prompt"
"""
)
FAILING = (
    HEAD
    + """
@server.tool()
def die(n: int) -> int:
    "Die."
    print("the disk is full", file=sys.stderr, flush=True)
    os._exit(3)

@server.tool()
async def wait(n: int) -> int:
    "Never answer."
    import anyio
    await anyio.sleep_forever()

@server.tool()
def refuse(n: int) -> int:
    "Refuse."
    from mcp import MCPError
    raise MCPError(code=-32602, message="the shop is closed")

@server.tool()
def tell(n: int) -> str:
    "Tell the environment."
    return " ".join(sorted(os.environ))

server.run()
"""
)

SERVED = """
import socket, uvicorn

app = server.streamable_http_app(host="127.0.0.1")
uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[socket.socket(fileno=int(sys.argv[1]))])
"""

LISTED = """
async def main(text):
    try:
        tools = await open_tools([text])
    except Exception as err:
        return print(err)
    print(list(tools.specs))
    await tools.aclose()
"""


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("START_S", "CALL_S"):
        monkeypatch.setattr(mcp, name, 100.0)


@pytest.fixture
def fresh(tmp_path: Path) -> Callable[[str], str]:
    """Write a program; how an MCP server of it is written."""

    def write(code: str) -> str:
        (tmp_path / "server.py").write_text(code, encoding="utf-8")
        return f"mcp:{sys.executable} {tmp_path / 'server.py'}"

    return write


@contextmanager
def over_http(directory: Path, code: str) -> Iterator[str]:
    """Serve over streamable HTTP on loopback, at a port that is taken already: whoever comes early waits."""
    file = directory / "served.py"
    file.write_text(f"{code}{SERVED}", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port, number = taken.getsockname()[1], taken.fileno()
        program = subprocess.Popen([sys.executable, str(file), str(number)], stderr=subprocess.DEVNULL, pass_fds=[number])
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        program.kill()
        program.wait()


async def test_over_http_it_is_shown_the_credential_that_was_named_and_tells_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEIRS", "word-of-the-server-77")
    with over_http(tmp_path, MANY) as url:
        tools = await open_tools([f"w=mcp:{url},auth=THEIRS"])
        try:
            assert list(tools.specs) == ["whoami", "get_weather_now"]
            (response, _), (weather, _) = await tools.call("whoami", {}), await tools.call("get_weather_now", {"city": "Oslo"})
        finally:
            await tools.aclose()
    assert "word-of-the-server-77" not in response.body.decode() and "REDACTED" in response.body.decode()
    assert "Oslo: rain" in weather.body.decode()
    assert [tuple(one) for one in tools.not_taken()["w"]] == [("get weather now", "the name 'get_weather_now' is used twice.")]


async def test_over_stdio(fresh: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "key-of-the-shop-1")
    monkeypatch.setenv("CITY", "Oslo")
    with pytest.raises(PrerequisiteError, match="the environment variable NOT_SET is not set"):
        await open_source(fresh(FAILING) + ",env=NOT_SET")
    tools = await open_tools([fresh(FAILING) + ",env=CITY"])
    try:
        told = (await tools.call("tell", {"n": 1}))[0].body.decode()
        assert "CITY" in told and "SHOP_API_KEY" not in told, "it is given no variable but those named"
        response, _ = await tools.call("refuse", {"n": 1})
        assert response.status >= 400 and "the shop is closed" in response.body.decode()
        monkeypatch.setattr(mcp, "CALL_S", 0.3)
        with pytest.raises(TimeoutError):
            await tools.call("wait", {"n": 1})
        monkeypatch.setattr(mcp, "CALL_S", 100.0)
        for _ in range(2):
            with pytest.raises(ProviderError, match=r"^The MCP server 'server' has ended; it said: the disk is full\.$"):
                await tools.call("die", {"n": 1})
    finally:
        await tools.aclose()


async def test_an_address_that_answers_no_more_is_told(tmp_path: Path) -> None:
    with over_http(tmp_path, MANY) as url:
        tools = await open_tools([f"w=mcp:{url}"])
    try:
        with pytest.raises(ProviderError, match=r"^The MCP server 'w' has ended\.$"):
            await tools.call("whoami", {})
    finally:
        await tools.aclose()


async def test_what_is_said_beside_the_protocol_is_not_printed(fresh: Callable[[str], str]) -> None:
    class Page(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    text = fresh(FAILING.replace("import os, sys, time", "import os, sys, time\nprint('hello, dear user', flush=True)"))
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as http:
        thread = threading.Thread(target=http.serve_forever, daemon=True)
        thread.start()
        both = [text, f"mcp:http://127.0.0.1:{http.server_port}/mcp"]
        code = f"import asyncio\nfrom talm_sim.tools_env.toolbox import open_tools\n{LISTED}\nfor one in {both}: asyncio.run(main(one))"
        ended = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=120)
        http.shutdown()
        thread.join()
    listed, refused = ended.stdout.splitlines()
    assert (listed, ended.stderr, ended.returncode) == ("['die', 'wait', 'refuse', 'tell']", "", 0)
    assert "could not be asked for its tools (Unexpected content type: text/html)" in refused


async def test_an_mcp_server_that_dies_is_told_with_its_last_words(tmp_path: Path, fresh: Callable[[str], str]) -> None:
    with pytest.raises(PrerequisiteError, match=r"could not be asked for its tools \(.*\); it said: no licence found\.$"):
        await open_source(fresh("import sys; print('no licence found', file=sys.stderr)"))


async def test_an_mcp_server_that_never_answers_is_ended(monkeypatch: pytest.MonkeyPatch, fresh: Callable[[str], str], tmp_path: Path) -> None:
    monkeypatch.setattr(mcp, "START_S", 1.0)
    code = f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    with pytest.raises(PrerequisiteError, match="the MCP server did not answer within 1 s"):
        await open_source(fresh(code))
    if (tmp_path / "pid").is_file():  # on a very slow machine it was ended before it could write
        with pytest.raises(ProcessLookupError):
            os.kill(int((tmp_path / "pid").read_text()), 0)
