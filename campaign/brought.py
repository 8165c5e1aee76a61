"""What users bring to a run: an agent, tools of every kind of source with scenarios for them, and published outputs to import."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import Any, Final

__all__ = ["SOURCES", "bring"]

_SCENARIOS: Final = 24
SOURCES: Final = {
    "python": ("--tools-from", "numbers=python:brought:double"),
    "openapi": ("--tools-from", "numbers=openapi:numbers.openapi.json,server={service}"),
    "mcp": ("--tools-from", f"numbers=mcp:{sys.executable} server.py"),
    "sandboxed": ("--tools-from", "numbers=fail-talms:numbers", "--trust"),
}
"""Kind of source to the options that name one with the tool `double`; `{service}` is the address of whoever answers over HTTP."""
_PYTHON: Final = '''
    """An agent and a tool of the user's own."""


    def double(n: int) -> dict[str, int]:
        """Double a number."""
        return {"twice": 2 * n}


    def agent(messages, tools):
        """Ask what is missing, and call the first tool with what it says."""
        by_name = {tool.name: tool for tool in tools}
        asks = by_name.pop("ask_human", None)
        said = asks.invoke({"question": "Which one do you mean?"}) if asks else "nothing"
        called = [tool.invoke({name: said for name in tool.args}) for tool in list(by_name.values())[:1]]
        return f"{said}: {called}"
'''
_SERVER: Final = '''
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("doubling", log_level="ERROR")


    @server.tool()
    def double(n: int) -> dict[str, int]:
        """Double a number."""
        return {"twice": 2 * n}


    server.run()
'''
_NUMBER: Final = {"name": "n", "in": "path", "required": True, "schema": {"type": "integer"}}
_DOCUMENT: Final = {
    "openapi": "3.0.3",
    "info": {"title": "Doubling", "version": "1"},
    "paths": {
        "/double/{n}": {
            "get": {
                "operationId": "double",
                "summary": "Double a number.",
                "parameters": [_NUMBER],
                "responses": {"200": {"description": "ok", "content": {"application/json": {"schema": {"type": "object"}}}}},
            }
        }
    },
}
_FOLDER: Final = {
    "tool_name": "numbers",
    "api_list": [
        {
            "name": "double",
            "description": "Double a number.",
            "required_parameters": [{"name": "n", "type": "INTEGER", "description": "The number."}],
            "optional_parameters": [],
        }
    ],
}


def bring(place: Path) -> None:
    """Write all of it into a folder."""
    (place / "numbers").mkdir()
    (place / "numbers" / "numbers.json").write_text(json.dumps(_FOLDER), encoding="utf-8")
    (place / "numbers" / "api.py").write_text('def double(n):\n    return {"twice": 2 * n}\n', encoding="utf-8")
    (place / "brought.py").write_text(textwrap.dedent(_PYTHON), encoding="utf-8")
    (place / "server.py").write_text(textwrap.dedent(_SERVER), encoding="utf-8")
    (place / "numbers.openapi.json").write_text(json.dumps(_DOCUMENT), encoding="utf-8")
    (place / "numbers.jsonl").write_text("".join(json.dumps(_scenario(number)) + "\n" for number in range(_SCENARIOS)), encoding="utf-8")
    for model in ("small_auto_eval", "large_auto_eval"):
        file = place / "release" / "outputs" / "underspecified" / model / "answers.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps([_answer(number) for number in range(400)]), encoding="utf-8")


def _scenario(number: int) -> dict[str, Any]:
    turn = {
        "messages": [{"role": "user", "content": f"Double {number}."}],
        "gold_calls": [{"tool": "double", "arguments": {"n": number}}],
    }
    fact = {"name": "twice", "value": 2 * number, "call": 0, "pointer": "/twice"}
    target = {"type": "facts", "required": [fact]}
    return {"id": f"double-{number}", "group": "perfect", "turns": [turn], "tools": ["double"], "target": target}


def _answer(number: int) -> dict[str, Any]:
    return {
        "query_id": number,
        "query": f"Query {number}?",
        "model_answer": "An answer.",
        "pass_rate": number % 2,
        "skipped": False,
        "info_annotation": "idk",
        "info_awareness": "I do not know.",
    }
