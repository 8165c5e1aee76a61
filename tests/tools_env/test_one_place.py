"""One function writes a result for the built-in agent, one makes a tool's name, one shortens a schema for show: each source follows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from talm_sim.tools_env.environment import Environment
from talm_sim.tools_env.sources.base import tool_name
from talm_sim.tools_env.sources.openapi_document import tools_from_openapi
from talm_sim.tools_env.sources.python import PythonSource
from talm_sim.tools_env.sources.tool_schemas import read_schema, shorten
from talm_sim.tools_env.tool_answers import write_result
from talm_sim.tools_env.toolbox import Tools
from talm_sim.types import Scenario, ToolCall, Turn


def look_up(place: str) -> dict[str, int]:
    """Look a place up."""
    return {"height": 31}


def _replace(monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any], other: Callable[..., Any]) -> None:
    """Replace what a function does, wherever it has been imported."""
    monkeypatch.setattr(function, "__code__", other.__code__)


def _document() -> dict[str, Any]:
    argument = {"name": "place", "in": "query", "schema": {"type": "object", "properties": {"name": {"type": "string"}}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "paths": {"/p": {"get": {"operationId": "look", "parameters": [argument]}}},
    }


async def test_a_result_is_written_by_one_function(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = Scenario(id="s", group="perfect", turns=(Turn(messages=({"role": "user", "content": "q"},)),), tools=("look_up",))
    opened = Environment(Tools([PythonSource("s", [look_up])])).open(scenario)
    call = ToolCall(id="1", name="look_up", arguments={"place": "x"})
    assert (await opened.call(call, 0)).result == '{"height":31}'
    _replace(monkeypatch, write_result, lambda value: "written")
    assert (await opened.call(call, 1)).result == "written"


def test_a_name_is_made_by_one_function(monkeypatch: pytest.MonkeyPatch) -> None:
    _replace(monkeypatch, tool_name, lambda own: "named")
    assert [*PythonSource("s", [look_up]).specs] == [*tools_from_openapi(_document()).specs] == ["named"]


def test_a_schema_is_shortened_by_one_function(monkeypatch: pytest.MonkeyPatch) -> None:
    _replace(monkeypatch, shorten, lambda reading, schema, deepest=0, seen=(), **more: {"type": "string", "description": "short"})
    (operation,) = tools_from_openapi(_document()).specs.values()
    assert operation.parameters["properties"]["place"]["description"] == "short"
    assert read_schema({"type": "object"})[0]["description"] == "short"  # what a Python source and an MCP server call
