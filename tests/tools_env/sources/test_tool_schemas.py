"""A schema is shown in few words and checked whole; what LangChain's framework fills in is no argument."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest
from langchain.tools import ToolRuntime, tool
from langchain_core.tools import InjectedToolArg, InjectedToolCallId, StructuredTool
from langgraph.prebuilt import InjectedState, InjectedStore
from pydantic import BaseModel

from talm_sim.errors import PrerequisiteError, ToolError
from talm_sim.tools_env.argument_check import validate_arguments
from talm_sim.tools_env.sources.python import PythonSource
from talm_sim.tools_env.sources.tool_schemas import read_schema
from talm_sim.types import ToolSpec

OPTIONAL = {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}
VALUE = {"anyOf": [{"type": ["string", "null"]}, {"type": "array", "items": {"$ref": "#/$defs/value"}}]}
NODE = {"type": "object", "properties": {"next": {"$ref": "#"}, "n": OPTIONAL}, "required": ["n"], "additionalProperties": False}
TUPLE = {"type": "array", "items": [{"type": "integer"}, OPTIONAL], "definitions": {"x": {"exclusiveMinimum": True}}}

SCHEMAS: list[tuple[Any, dict[str, Any], list[Any], list[Any]]] = [
    (OPTIONAL, {"type": "integer"}, [1, None], ["x"]),
    ({"type": "array", "items": OPTIONAL}, {"type": "array", "items": {"type": "integer"}}, [[None, 1]], [[None, "x"]]),
    ({"type": ["string", "null"], "enum": ["a"]}, {"type": "string", "enum": ["a"]}, ["a"], [None]),
    ({"oneOf": [{"const": "a"}, {"type": "null"}], "description": 5}, {"const": "a"}, ["a", None], ["b"]),
    ({"$ref": "#/$defs/value"}, {"anyOf": [{"type": "string"}, {"type": "array", "items": {}}]}, ["a", [["b", None]], None], [3, [[3]]]),
    (TUPLE, {"type": "array"}, [[1, None], [1]], [["x"], [1, "x"]]),
    (True, {}, [1, None], []),
]


@pytest.mark.parametrize(("schema", "shown", "fitting", "wrong"), SCHEMAS)
def test_what_is_checked_is_not_shortened(schema: Any, shown: dict[str, Any], fitting: list[Any], wrong: list[Any]) -> None:
    short, whole = read_schema({"type": "object", "properties": {"v": schema}, "$defs": {"value": VALUE}})
    assert short["properties"] == {"v": shown}
    spec = ToolSpec(name="t", parameters=short, whole=whole)
    for value in fitting:
        validate_arguments(spec, {"v": value})
    for value in wrong:
        with pytest.raises(ToolError, match="Invalid arguments at v"):
            validate_arguments(spec, {"v": value})


def test_a_schema_that_is_its_own_part_is_checked_to_any_depth() -> None:
    short, whole = read_schema(NODE)
    assert short["properties"]["next"] == {"type": "object", "properties": {"next": {}, "n": {"type": "integer"}}, "required": ["n"]}
    spec = ToolSpec(name="t", parameters=short, whole=whole)
    validate_arguments(spec, {"n": None, "next": {"n": 1, "next": {"n": None}}})
    with pytest.raises(ToolError, match="Invalid arguments at next"):
        validate_arguments(spec, {"n": None, "next": {"n": 1, "next": {"n": None, "next": {"m": 1}}}})


def test_a_fault_is_told_as_what_is_shown_says_it() -> None:
    short, whole = read_schema({"type": "object", "properties": {"a": OPTIONAL, "b": OPTIONAL}})
    with pytest.raises(ToolError, match=r"^Invalid arguments at b: 'x' is not of type 'integer'$"):
        validate_arguments(ToolSpec(name="t", parameters=short, whole=whole), {"a": None, "b": "x"})


class Filter(BaseModel):
    most: int | None = None
    within: Filter | None = None


def search(q: str, filter: Filter, limit: int | None = None) -> list[Any]:
    """Search."""
    return [q, filter.model_dump(), limit]


async def test_null_reaches_a_python_function() -> None:
    source = PythonSource("x", [search])
    arguments = {"q": "a", "filter": {"most": None, "within": {"most": 3, "within": None}}, "limit": None}
    validate_arguments(source.specs["search"], arguments)
    assert json.loads((await source.call("search", arguments, "")).body) == ["a", arguments["filter"], None]


@tool
def of_runtime(q: str, runtime: ToolRuntime) -> list[Any]:
    """Say what it is given."""
    return [q, runtime.state, runtime.tool_call_id]


@tool
async def of_state(q: str, state: Annotated[dict[str, Any], InjectedState], call: Annotated[str, InjectedToolCallId]) -> list[Any]:
    """Say what it is given."""
    return [q, state, call]


@tool
def of_store(q: str, store: Annotated[Any, InjectedStore()]) -> list[Any]:
    """Say what it is given."""
    return [q, store]


@tool
def of_default(q: str, user: Annotated[str, InjectedToolArg] = "someone") -> list[Any]:
    """Say what it is given."""
    return [q, user]


def of_function(q: str, runtime: ToolRuntime) -> list[Any]:
    """Say what it is given."""
    return [q, runtime.state, runtime.tool_call_id]


@tool
def of_nobody(q: str, user: Annotated[str, InjectedToolArg]) -> str:
    """Say what it is given."""
    return q + user


async def _adapted(**given: Any) -> list[Any]:
    return [given["q"], given["n"]]


async def test_a_tool_with_a_json_schema_of_its_own_is_checked_by_all_of_it() -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string"}, "n": OPTIONAL}, "required": ["q"]}
    source = PythonSource("x", [StructuredTool(name="t", description="It does.", args_schema=schema, coroutine=_adapted)])
    validate_arguments(source.specs["t"], {"q": "a", "n": None})
    assert json.loads((await source.call("t", {"q": "a", "n": None}, "")).body) == ["a", None]


async def test_what_the_framework_fills_in_is_no_argument() -> None:
    source = PythonSource("x", [of_runtime, of_function, of_default, of_state, of_store, of_nobody])
    given: dict[str, list[Any]] = {"of_runtime": [{}, "call"], "of_function": [{}, "call"], "of_default": ["someone"]}
    for name, found in given.items():
        assert [*source.specs[name].parameters["properties"]] == ["q"]
        assert json.loads((await source.call(name, {"q": "a"}, "")).body) == ["a", *found]
    for name, needed in {"of_state": "state", "of_store": "store", "of_nobody": "user"}.items():
        with pytest.raises(PrerequisiteError, match=f"'{needed}' from the graph that calls it; name that compiled graph"):
            await source.call(name, {"q": "a"}, "")
