"""Half a character (half of a surrogate pair), which no file or request can hold: a tool with it is left out, an answer shows it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import StructuredTool

from talm_sim.common.digests import canonical_json
from talm_sim.errors import PrerequisiteError
from talm_sim.tools_env.environment import Environment
from talm_sim.tools_env.routes import answer
from talm_sim.tools_env.sources.fail_talms import ToolFolder
from talm_sim.tools_env.sources.openapi_document import tools_from_openapi
from talm_sim.tools_env.sources.python import PythonSource, hand_over
from talm_sim.tools_env.sources.spec_file import open_spec_list
from talm_sim.tools_env.toolbox import Tools
from talm_sim.types import Scenario, ToolCall, ToolSpec, Turn

HALF = "\ud800"
REASON = "half a surrogate pair"


def operation(name: str, schema: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    parameter = {"name": "q", "in": "query", "schema": schema or {"type": "string"}}
    return {"get": {"operationId": name, "summary": "It does.", "parameters": [parameter], "responses": {}, **more}}


def document(path: str, item: dict[str, Any]) -> dict[str, Any]:
    return {"openapi": "3.1.0", "info": {}, "paths": {"/fine": operation("fine"), path: item}}


@pytest.mark.parametrize(
    "item",
    [
        operation("odd", summary=f"It {HALF}"),
        operation("odd", description=HALF),
        operation("odd", tags=[HALF]),
        operation("odd", parameters=[{"name": HALF, "in": "query", "schema": {}}]),
        operation("odd", parameters=[{"name": HALF, "in": "header", "schema": {}}]),
        operation("odd", parameters=[{"name": "q", "in": "query", "description": HALF, "schema": {}}]),
        operation("odd", parameters=[{"name": "q", "in": "query", "example": HALF, "schema": {}}]),
        operation("odd", requestBody={"content": {"application/json": {"schema": {"properties": {HALF: {}}}}}}),
        *(operation("odd", {"type": "string", **one}) for one in ({"default": HALF}, {"enum": ["a", HALF]}, {"examples": [[HALF]]})),
        *(operation("odd", {"type": "string", **one}) for one in ({"const": {"a": HALF}}, {"pattern": HALF}, {"required": [HALF]})),
        operation("odd", {"anyOf": [{"type": "object", "properties": {HALF: {}}}, {"type": "string"}]}),
    ],
)
def test_an_operation(item: dict[str, Any]) -> None:
    found = tools_from_openapi(document("/odd", item), "s")
    assert list(found.specs) == ["fine"]
    assert [one.tool for one in found.not_taken] == ["GET /odd"]
    assert REASON in found.not_taken[0].reason or "no header can be called" in found.not_taken[0].reason


def test_a_name_is_written_without_it_and_the_schema_of_an_answer_is_shown_to_nobody() -> None:
    told = {"200": {"content": {"application/json": {"schema": {"properties": {HALF: {"pattern": HALF}}}}}}}
    found = tools_from_openapi(document("/odd", operation(f"odd{HALF}", responses=told)), "s")
    assert list(found.specs) == ["fine", "odd"]
    canonical_json([spec.model_dump() for spec in found.specs.values()]).encode()


@pytest.mark.parametrize(
    "entry",
    [
        {"name": f"odd{HALF}"},
        {"name": "odd", "category": HALF},
        {"name": "odd", "description": HALF},
        {"name": "odd", "parameters": {"type": "object", "properties": {HALF: {}}}},
        {"name": "odd", "parameters": {"type": "object", "properties": {"a": {"default": [HALF]}}}},
        {"name": "odd", "parameters": {"type": "object", "properties": {"a": {"examples": [{HALF: 1}]}}}},
    ],
)
def test_an_entry_of_a_list_of_tools(entry: dict[str, Any]) -> None:
    found = open_spec_list("s", [{"name": "fine"}, entry])
    assert list(found.specs) == ["fine"] and len(found.not_taken) == 1 and REASON in found.not_taken[0].reason
    with pytest.raises(PrerequisiteError, match=REASON):
        open_spec_list("s", [entry])


@pytest.mark.parametrize(
    "function",
    [
        {"name": "odd", "description": HALF},
        {"name": "odd", "required_parameters": [{"name": HALF, "type": "STRING"}]},
        {"name": "odd", "required_parameters": [{"name": "a", "type": "STRING", "description": HALF}]},
        {"name": "odd", "optional_parameters": [{"name": "a", "type": "STRING", "default": HALF}]},
    ],
)
def test_a_function_of_a_folder(function: dict[str, Any], tmp_path: Path) -> None:
    written = {"tool_name": "t", "api_list": [{"name": "fine", "description": "Fine."}, function]}
    (tmp_path / "t.json").write_text(json.dumps(written), encoding="utf-8")
    found = ToolFolder("s", tmp_path)
    assert list(found.specs) == ["fine"] and REASON in found.not_taken[0].reason


def fine(n: int) -> int:
    """Give it back."""
    return n


def _described(description: str) -> Callable[..., Any]:
    def odd(n: int) -> int:
        return n

    odd.__doc__ = description
    return odd


def _with_default() -> Callable[..., Any]:
    def odd(n: str = HALF) -> str:
        """Give it back."""
        return n

    return odd


SCHEMA = {"type": "object", "properties": {"a": {"type": "string", "enum": [HALF]}}}


@pytest.mark.parametrize(
    "odd", [_described(f"It {HALF}"), _with_default(), StructuredTool(name="odd", description="It does.", args_schema=SCHEMA, func=fine)]
)
def test_a_python_tool(odd: Any) -> None:
    found = PythonSource("s", [fine, odd])
    assert list(found.specs) == ["fine"] and REASON in found.not_taken[0].reason
    with pytest.raises(PrerequisiteError, match=rf"^tools: \w+: {REASON}"):
        hand_over([odd])


def _deep(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def gives_half() -> str:
    """Give half a character."""
    return HALF


def gives_half_a_key() -> dict[str, int]:
    """Give half a key."""
    return {HALF: 1}


def raises_half() -> None:
    """Raise half a character."""
    raise ValueError(f"no {HALF}!")


def gives_no_number() -> float:
    """Give no number."""
    return math.nan


def gives_much_depth() -> Any:
    """Give lists in lists."""
    return _deep(400)


@pytest.mark.parametrize(
    ("tool", "error", "shown"),
    [
        (gives_half, "", "\\ud800"),
        (gives_half_a_key, "", '{"\\ud800":1}'),
        (raises_half, "function_error", "no ?!"),
        (gives_no_number, "function_error", "NaN"),
        (gives_much_depth, "", "[[["),
    ],
)
async def test_an_answer_shows_it_and_can_be_kept(tool: Callable[..., Any], error: str, shown: str) -> None:
    tools = Tools([PythonSource("s", [tool])])
    scenario = Scenario(id="a", group="perfect", turns=(Turn(messages=({"role": "user", "content": "Go."},)),), tools=(tool.__name__,))
    event = await Environment(tools).open(scenario).call(ToolCall(id="1", name=tool.__name__, arguments={}), 0)
    assert (event.ok, event.error) == (not error, error) and shown in event.result
    event.model_dump_json().encode()


@pytest.mark.parametrize("value", [math.nan, {"a": math.inf}, _deep(2_000)])
def test_what_is_no_answer(value: Any) -> None:
    made = answer(value)
    assert made.status == 500 and json.loads(made.body)["detail"]


def test_a_description_cannot_be_made_with_it() -> None:
    for fields in ({"name": HALF}, {"name": "a", "description": HALF}, {"name": "a", "parameters": {"default": {HALF: 1}}}):
        with pytest.raises(ValueError, match=REASON):
            ToolSpec.model_validate(fields)
