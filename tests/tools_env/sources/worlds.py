"""One tool in every kind of source there is: `double(n)` answers `{"twice": 2n}`, and refuses 13."""

from __future__ import annotations

import json
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

from langchain_core.tools import tool

from talm_sim.tools_env.sources.base import SourceRequest
from talm_sim.tools_env.sources.fail_talms import FailTalmsOptions
from talm_sim.tools_env.sources.python import hand_over


def folder_request(folder: Path, *, trusted: bool = False, network: Literal["off", "on"] = "off") -> SourceRequest:
    """How a folder of tools is asked for."""
    return SourceRequest("numbers", str(folder), FailTalmsOptions(network=network), trusted)


def double(n: int) -> dict[str, int]:
    """Double a number.

    Args:
        n: The number.
    """
    if n == 13:
        raise ValueError("13 is not a number to double")
    return {"twice": 2 * n}


class Doubler:
    """The same as a class, of which every episode has its own."""

    def double(self, n: int) -> dict[str, int]:
        """Double a number.

        Args:
            n: The number.
        """
        return double(n)


@tool("double")
async def as_langchain_tool(n: int) -> dict[str, int]:
    """Double a number."""
    return double(n)


DOCUMENT = {
    "openapi": "3.0.3",
    "info": {"title": "Doubling", "version": "1"},
    "paths": {
        "/double/{n}": {
            "get": {
                "operationId": "double",
                "summary": "Double a number.",
                "parameters": [{"$ref": "#/components/parameters/n"}],
                "responses": {
                    "200": {"description": "ok", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Twice"}}}}
                },
            }
        }
    },
    "components": {
        "parameters": {"n": {"name": "n", "in": "path", "required": True, "schema": {"type": "integer"}}},
        "schemas": {"Twice": {"type": "object", "properties": {"twice": {"type": "integer"}}, "required": ["twice"]}},
    },
}


class Doubling(BaseHTTPRequestHandler):
    """The service of `DOCUMENT`; `seen` keeps what it was asked."""

    protocol_version = "HTTP/1.1"
    seen: list[tuple[str, dict[str, str], bytes]]

    def do_GET(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        type(self).seen.append((self.path, dict(self.headers), self.rfile.read(length)))
        if self.path == "/openapi.json":
            status, answer = 200, dict[str, Any](DOCUMENT)
        elif self.path.startswith("/double/13"):
            status, answer = 400, {"detail": "13 is not a number to double"}
        elif self.path.startswith("/elsewhere"):
            status, answer = 302, {}
        elif self.path.startswith("/double/"):
            status, answer = 200, {"twice": 2 * int(self.path.removeprefix("/double/").partition("?")[0])}
        else:
            status, answer = 200, {"path": self.path, "key": self.headers.get("X-Key"), "unit": self.headers.get("X-Unit")}
        body = json.dumps(answer).encode()
        self.send_response(status)
        if status == 302:
            self.send_header("location", "http://elsewhere.invalid/")
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_PUT = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def doubling_service() -> Iterator[str]:
    """Serve `DOCUMENT` on loopback."""
    Doubling.seen = []
    http = ThreadingHTTPServer(("127.0.0.1", 0), Doubling)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_port}"
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


MCP_SERVER = textwrap.dedent(
    '''
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

    server = MCPServer("doubling", log_level="ERROR")

    @server.tool()
    def double(n: int) -> dict[str, int]:
        """Double a number."""
        if n == 13:
            raise ToolError("13 is not a number to double")
        return {"twice": 2 * n}

    server.run()
    '''
)

FOLDER = {
    "api.py": """
        def double(n):
            if n == 13:
                raise ValueError("13 is not a number to double")
            return {"twice": 2 * n}
    """,
    "numbers.json": {
        "tool_name": "numbers",
        "api_list": [
            {
                "name": "double",
                "description": "Double a number.",
                "required_parameters": [{"name": "n", "type": "INTEGER", "description": "The number."}],
                "optional_parameters": [],
            }
        ],
    },
}


def write_folder(directory: Path, code: str = "") -> Path:
    """A tool folder as Fail-TaLMs has them."""
    for name, content in FOLDER.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (directory / name).write_text(textwrap.dedent(code if code and name == "api.py" else text), encoding="utf-8")
    return directory


@contextmanager
def source_of(kind: str, directory: Path) -> Iterator[str]:
    """How the source of a kind is written on the command line, with what it needs there while the block lasts."""
    if kind in {"python", "class"}:
        name = "double" if kind == "python" else "Doubler"
        (directory / "numbers_of_mine.py").write_text(f"from {__name__} import {name}\n", encoding="utf-8")
        with chdir(directory):
            yield f"numbers=python:numbers_of_mine:{name}"
        sys.modules.pop("numbers_of_mine", None)
    elif kind == "given":
        yield hand_over([as_langchain_tool])
    elif kind == "openapi":
        with doubling_service() as url:
            yield f"numbers={url}/openapi.json"
    elif kind == "mcp":
        (directory / "server.py").write_text(MCP_SERVER, encoding="utf-8")
        yield f"numbers=mcp:{sys.executable} {directory / 'server.py'}"
    else:
        yield f"numbers=fail-talms:{write_folder(directory)}"


def schema_of(spec: Any) -> Any:
    """The schema of `double`'s one argument, without its description."""
    return {key: value for key, value in spec.parameters["properties"]["n"].items() if key != "description"}
