"""What MCP servers answer: structured results within their schema, checked in time; anything else as it came."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from talm_sim.tools_env.perturbations import Outcome
from talm_sim.tools_env.tool_answers import render_outcome
from talm_sim.tools_env.toolbox import Tools, open_tools
from tests.schemas.hostile import HOSTILE

HALF = "\ud800"
SERVER = """
import json, sys

MODERN = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
TOOLS, RESULTS = json.load(open(sys.argv[1], encoding="utf-8"))
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method, parameters = asked["method"], asked.get("params", {})
    if method == "server/discover":
        found = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    elif method == "initialize":
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
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {**MODERN, **found}}), flush=True)
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
            assert call.result()[0].status in {200, 500}
    finally:
        await tools.aclose()


BLOCK = {"uri": "file:///a.txt", "mimeType": "text/plain"}
PAIR = [{"type": "text", "text": "first"}, {"type": "resource", "resource": {**BLOCK, "text": "the file"}}]
DATA = {"data": "aGVsbG8=", "mimeType": "image/png"}
VALUE = {"outputSchema": {"type": "object", "properties": {"v": {"type": "integer"}}, "required": ["v"]}}
READ: dict[str, tuple[Any, ...]] = {
    # What the tool returns, the body that is recorded, and the tool's description if it matters; a failure's words begin with "!".
    "object": (text('{"b": 1.10,  "a": 2}'), '{"b": 1.10,  "a": 2}'),
    "quoted": (text('"shipped"'), r'"\"shipped\""'),
    "number": (text("12.0"), "12.0"),
    "not_written_so": (text("1.10"), '"1.10"'),
    "no_number_of_JSON": (text('{"a": NaN}'), r'"{\"a\": NaN}"'),
    "empty": ({"content": []}, '""'),
    "blocks": ({"content": [*PAIR, {"type": "text", "text": ""}]}, r'"first\nthe file\n"'),
    "resource": ({"content": PAIR[1:]}, '"the file"'),
    "binary": ({"content": [{"type": "resource", "resource": {"uri": "x:/b", "blob": "aGVsbG8="}}]}, '"[resource x:/b: data, 5 bytes]"'),
    "link": ({"content": [{"type": "resource_link", "name": "notes", "uri": "x:/n"}]}, '"[link: notes, x:/n]"'),
    "image": ({"content": [{"type": "image", **DATA}]}, '"[image: image/png, 5 bytes]"'),
    "audio": ({"content": [{"type": "audio", **DATA}]}, '"[audio: image/png, 5 bytes]"'),
    "structured_alone": ({"content": [], "structuredContent": {"v": 1}}, '{"v":1}'),
    "structured_and_text": (text("31 degrees", structuredContent={"v": 30}), '"31 degrees"'),
    "null_beside_text": (text("ok", structuredContent=None), '"ok"'),
    "a_list_of_2026": ({"content": [], "structuredContent": [1, None]}, "[1,null]"),
    "a_text_of_2026": (text("more", structuredContent="less"), '"more"'),
    "null_of_2026": ({"content": [], "structuredContent": None}, "null"),
    "fits": (text("1", structuredContent={"v": 1}), "1", VALUE),
    "differs": (text("1", structuredContent={"v": "x"}), "!its structured result does not fit its output schema: v: 'x' is not of", VALUE),
    "none": (text("1"), "!the tool has an output schema, but gave no structured result", VALUE),
    "fails": (text("No project called x.", isError=True), "!No project called x.", VALUE),
    "fails_with_its_text": (text('{"why": "x"}', isError=True, structuredContent={"why": "x"}), '!{"why": "x"}'),
    "fails_with_more": (text("No.", isError=True, structuredContent={"code": 7}), '!No.\n{"code": 7}'),
    "fails_without_a_word": ({"content": [], "isError": True}, "!It said nothing."),
    "refuses": ({"error": {"code": -32602, "message": "Unknown tool."}}, "!Unknown tool."),
    "half": (text(json.dumps(HALF)), json.dumps(json.dumps(HALF))),
    "half_in_an_object": (text(json.dumps({"a": [HALF]})), json.dumps({"a": [HALF]})),
    "half_a_key": (text(json.dumps({HALF: 1})), json.dumps({HALF: 1})),
    "half_in_an_error": (text(json.dumps(HALF), isError=True), f"!{json.dumps(HALF)}"),
}
SAID = ["structured_and_text", "a_text_of_2026"]
"""Those whose structured value says more than the content, which is read."""


async def test_a_result_is_what_the_tool_returned(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tools = await opened(
        tmp_path, {name: {} if len(row) == 2 else row[2] for name, row in READ.items()}, {name: row[0] for name, row in READ.items()}
    )
    try:
        answers = {name: (await tools.call(name, {}))[0] for name in [*READ, *SAID]}
    finally:
        await tools.aclose()
    for name, one in answers.items():
        shown, error = render_outcome(Outcome.of(one), 1000)
        if READ[name][1].startswith("!"):
            assert (error, one.status) == ("function_error", 500), name
            assert json.loads(shown)["error"].startswith(READ[name][1][1:]), name
        else:
            assert (one.body.decode(), error, one.status) == (READ[name][1], "", 200), name
            blocks = READ[name][0]["content"]
            assert len(blocks) != 1 or blocks[0]["type"] != "text" or shown == blocks[0]["text"], name
    assert [record.message.partition("result of ")[2].partition(" says more")[0] for record in caplog.records] == SAID
