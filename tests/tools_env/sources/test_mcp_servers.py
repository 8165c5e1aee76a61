"""Real MCP servers: each tool returns through talm-sim what the official client alone gets, but for times and ids.

The servers are those that scripts/mcp.sh installs; one that is not there is skipped.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client

from talm_sim.tools_env.perturbations import Outcome
from talm_sim.tools_env.tool_answers import render_outcome
from talm_sim.tools_env.toolbox import open_tools

THERE = Path(sys.prefix) / "server"
VARYING = re.compile(r"\w{3} \w{3} \d\d \d{4} |\d{4}-\d\d-\d\d|\d\d?:\d\d:\d\d(?:\.\d+)?|\b[0-9a-f]{7,40}\b|\d+(?:\.\d+)?(?= ?m?s\b)")
"""Times and ids."""
ROWS = [json.loads(line) for line in Path(__file__).with_name("mcp_servers.jsonl").read_text(encoding="utf-8").splitlines()]
"""Servers: the command, with W for a folder of its own, the arguments of each tool, called in this order, and the calls that are to fail."""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def furnish(folder: Path) -> None:
    """Make a repository anew that holds a text, and a picture that is not committed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "a.txt").write_text("first\nsecond\n", encoding="utf-8")
    for words in (
        "init -q -b main",
        "add a.txt",
        "-c user.name=A -c user.email=a@b.c commit -q -m First",
        "config user.name A",
        "config user.email a@b.c",
    ):
        subprocess.run(["git", *words.split()], cwd=folder, check=True)
    (folder / "a.png").write_bytes(b"\x89PNG\r\n")


async def alone(command: list[str], folder: Path, calls: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return what the official client alone gets of each tool."""
    found: dict[str, Any] = {}
    async with Client(stdio_client(StdioServerParameters(command=command[0], args=command[1:], cwd=folder))) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        for name, arguments in calls.items():
            try:
                found[name] = await client.call_tool(name, arguments)
            except MCPError as err:
                found[name] = err.error.message
    return {name: found[name] for name in listed}


def told(result: Any) -> list[str]:
    """Return the texts that stand in a result that is read."""
    if isinstance(result, str):
        return [result]
    texts = []
    for part in result.content:
        inner = getattr(part, "resource", part)
        texts += [part.name, str(part.uri)] if part.type == "resource_link" else [getattr(inner, "text", None) or str(inner.mime_type)]
    return texts


def without_times(text: str) -> str:
    return VARYING.sub("~", text)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
async def test_each_tool_returns_what_the_official_client_gets(row: dict[str, Any], tmp_path: Path) -> None:
    (program, *more), raw = shlex.split(row["command"]), json.dumps(row["calls"])
    if not (THERE / program).exists():
        pytest.skip("needs what scripts/mcp.sh installs")
    folder = tmp_path / "w"
    furnish(folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as pages:
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        calls = json.loads(raw.replace('"W', f'"{folder}').replace("PORT", str(pages.server_port)))
        command = [str(THERE / program), *(word.replace("W", str(folder), 1) if word.startswith("W") else word for word in more)]
        expected = await alone(command, folder, calls)
        assert expected.keys() == calls.keys()
        furnish(folder)
        tools = await open_tools([f"m=mcp:{shlex.join(command)}"])
        try:
            ours = dict(zip(expected, tools.specs, strict=True))
            answers = {one: (await tools.call(ours[one], arguments))[0] for one, arguments in calls.items()}
        finally:
            await tools.aclose()
            pages.shutdown()
    for one, answer in answers.items():
        failed = isinstance(expected[one], str) or expected[one].is_error
        read, error = render_outcome(Outcome.of(answer), 10**6)
        text, texts = without_times(json.loads(read)["error"] if error else read), [*map(without_times, told(expected[one]))]
        assert bool(error) == failed == (one in row.get("failing", ())), one
        if failed or all(part.type == "text" for part in expected[one].content):
            assert text == "\n".join(texts), one
        assert texts and all(part in text for part in texts), one
