"""An MCP server of 2026-07-28 that asks by its results: `python rounds_mcp.py FILE`, which needs nothing but Python.

Its tool `ask` has an argument `rounds`: what it asks for, one after the other, as fields of its results. Only the state tells it how often it
has asked, and it returns what it was sent last. FILE gets a line with the parameters of each call.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

LISTED = {"ttlMs": 0, "cacheScope": "private"}
TOOLS = [{"name": "ask", "inputSchema": {"type": "object", "properties": {"rounds": {"type": "array"}}}}]


def form(message: str, **fields: Any) -> dict[str, Any]:
    """Return a request to fill in a form, by default with a seat."""
    schema = {"type": "object", "properties": fields or {"seat": {"type": "string"}}}
    return {"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}}


def asked(params: dict[str, Any]) -> dict[str, Any]:
    rounds, (number, _, rest) = params["arguments"].get("rounds", []), params.get("requestState", "0|").partition("|")
    if rest == "old":
        return {"content": [{"type": "text", "text": "The state has expired."}], "isError": True}
    if int(number) == len(rounds):
        return {"content": [], "structuredContent": {"state": params.get("requestState"), "said": params.get("inputResponses")}}
    return {"resultType": "input_required", "requestState": f"{int(number) + 1}|\u00e9 ", **rounds[int(number)]}


def main(file: Path) -> None:
    for message in map(json.loads, sys.stdin):
        found: dict[str, Any] = {}
        if message["method"] == "server/discover":
            found = {**LISTED, "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        elif message["method"] == "tools/list":
            found = {**LISTED, "tools": TOOLS}
        elif message["method"] == "tools/call":
            with file.open("a", encoding="utf-8") as log:
                log.write(json.dumps(message["params"]) + "\n")
            found = asked(message["params"])
        if "id" in message:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"resultType": "complete", **found}}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
