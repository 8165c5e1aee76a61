"""What MCP servers answer: structured results within their schema, checked in time; half a character is one failed call."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from talm_sim.errors import ToolError
from talm_sim.tools_env.perturbations import Outcome
from talm_sim.tools_env.tool_answers import read_answer
from talm_sim.tools_env.toolbox import Tools, open_tools
from tests.schemas.hostile import HOSTILE

HALF = "\ud800"
SERVER = """
import json, sys

TOOLS, RESULTS = json.load(open(sys.argv[1], encoding="utf-8"))
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method, parameters = asked["method"], asked.get("params", {})
    if method == "initialize":
        found = {"protocolVersion": parameters["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif method == "tools/list":
        found = {"tools": TOOLS}
    elif method == "tools/call":
        found = RESULTS[parameters["name"]]
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    if "error" in found:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **found}), flush=True)
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": found}), flush=True)
"""


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}], **more}


async def opened(tmp_path: Path, tools: dict[str, dict[str, Any]], results: dict[str, Any]) -> Tools:
    listed = [{"name": name, "description": "Does it.", "inputSchema": {"type": "object"}, **more} for name, more in tools.items()]
    (tmp_path / "server.py").write_text(SERVER, encoding="utf-8")
    (tmp_path / "said.json").write_text(json.dumps([listed, results]), encoding="utf-8")
    return await open_tools([f"s=mcp:{sys.executable} {tmp_path / 'server.py'} {tmp_path / 'said.json'}"])


def _of_a_field(schema: dict[str, Any]) -> dict[str, Any]:
    part = {key: value for key, value in schema.items() if key != "$defs"}
    return {"type": "object", "properties": {"v": part}, "$defs": schema.get("$defs", {})}


NAMES = ("pattern that goes back", "doublings of anyOf", "contains")


async def test_a_result_is_checked_in_time(tmp_path: Path) -> None:
    schemas = {f"t{n}": {"outputSchema": _of_a_field(HOSTILE[name][0])} for n, name in enumerate(NAMES)}
    results = {f"t{n}": text("ok", structuredContent={"v": HOSTILE[name][1]}) for n, name in enumerate(NAMES)}
    tools = await opened(tmp_path, schemas, results)
    try:
        for tool in schemas:
            call = asyncio.ensure_future(tools.call(tool, {}))
            longest, last = 0.0, time.thread_time()
            while not call.done():
                await asyncio.sleep(0.001)
                longest, last = max(longest, time.thread_time() - last), time.thread_time()
            assert longest < 1, tool
            assert call.result()[0].status in {200, 502}
    finally:
        await tools.aclose()


async def test_a_result_that_does_not_fit_is_a_failed_call(tmp_path: Path) -> None:
    schema = {"outputSchema": {"type": "object", "properties": {"v": {"type": "integer"}}, "required": ["v"]}}
    results = {
        "fits": text("1", structuredContent={"v": 1}),
        "differs": text("1", structuredContent={"v": "x"}),
        "none": text("1"),
        "fails": text("it broke", isError=True),
    }
    tools = await opened(tmp_path, dict.fromkeys(results, schema), results)
    try:
        answers = {name: (await tools.call(name, {}))[0] for name in results}
    finally:
        await tools.aclose()
    assert {name: one.status for name, one in answers.items()} == {"fits": 200, "differs": 502, "none": 502, "fails": 500}
    assert "'x' is not of type 'integer'" in answers["differs"].body.decode()


async def test_half_a_character_in_an_answer_is_a_failed_call(tmp_path: Path) -> None:
    inner = json.dumps(HALF)
    results = {
        "text": text(inner),
        "part": text(json.dumps({"a": [HALF]})),
        "key": text(json.dumps({HALF: 1})),
        "error": text(inner, isError=True),
        "error_object": text(json.dumps({"why": HALF}), isError=True),
    }
    tools = await opened(tmp_path, {name: {} for name in results}, results)
    try:
        answers = {name: (await tools.call(name, {}))[0] for name in results}
    finally:
        await tools.aclose()
    for name, one in answers.items():
        with pytest.raises(ToolError):
            read_answer(Outcome.of(one))
        assert one.status == 500, name
