"""Two toy tools, a seed that uses them, and what the scenarios built from it look like."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from talm_sim.errors import ToolError
from talm_sim.types import ToolSpec

HEIGHTS = {"HAN": 39, "LPB": 13355}


def _schema(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


SPECS = {
    "get_height": ToolSpec(
        name="get_height",
        category="toys",
        description="Get how high an airport lies.",
        parameters=_schema(code={"type": "string", "description": "Code of the airport.", "maxLength": 3}),
        human_replaceable=True,
    ),
    "add_up": ToolSpec(
        name="add_up",
        category="toys",
        description="Add two numbers.",
        parameters=_schema(first={"type": "integer", "description": "One number."}, second={"type": "integer", "description": "The other."}),
        is_record=True,  # as if nobody could add
    ),
}


def call_toy(tool: str, arguments: Mapping[str, Any]) -> Any:
    """Execute a toy tool."""
    if tool == "add_up":
        return {"sum": arguments["first"] + arguments["second"], "terms": [arguments["first"], arguments["second"]]}
    if arguments["code"] not in HEIGHTS:
        raise ToolError(f"No airport '{arguments['code']}'.", "http_404")
    return {"feet": HEIGHTS[arguments["code"]]}


SEED = """
[[scenario]]
query = "How high, in feet, is the airport of La Paz (LPB), and what do 17 and 26 make?"
calls = [{ name = "get_height", arguments = { code = "LPB" } }, { name = "add_up", arguments = { first = 17, second = 26 } }]
facts = [{ name = "height", call = 0, pointer = "/feet" }, { name = "sum", call = 1, pointer = "/sum", accepted = ["forty-three"] }]
[[scenario.underspecified]]
query = "How high, in feet, is the airport, and what do 17 and 26 make?"
call = 0
argument = "code"
removed_text = "of La Paz (LPB)"
human_answer = "The one of La Paz, LPB."
[scenario.unavailable]
tool = "get_height"
human_answer = "It lies {height:,} feet up."
"""


def write_seed(directory: Path, text: str = SEED) -> Path:
    """Write a seeds directory with one category, toys."""
    (directory / "toys.toml").write_text(text, encoding="utf-8")
    return directory
