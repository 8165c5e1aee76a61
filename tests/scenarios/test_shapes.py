from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.scenarios.stand_ins import shape_of
from talm_sim.schemas import Schema
from talm_sim.tools_env.sources.tool_schemas import write_out

PLACE = {"type": "object", "properties": {"name": {"type": "string"}, "feet": {"type": "integer"}}, "required": ["name"]}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/nowhere"},
        {"$ref": "http://elsewhere.example/schema"},
        {"$ref": 3},
        {"$ref": "#"},
        {"type": "object", "properties": {"child": {"$ref": "#/properties/child"}}},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
    ],
)
def test_a_reference_that_leads_nowhere_or_around_takes_anything(schema: dict[str, Any]) -> None:
    found = write_out(schema)
    assert "$ref" not in json.dumps(found) or schema["$ref"] == 3
    assert Schema(found).fits({"child": 3}) and isinstance(shape_of(found), str)


SHAPES: list[tuple[dict[str, Any], str]] = [
    ({}, ""),
    (PLACE, '{"name": text, "feet": whole number}'),
    ({"type": "array", "items": PLACE}, '[{"name": text, "feet": whole number}, ...]'),
    ({"type": ["string", "null"]}, "text or null"),
    ({"anyOf": [{"type": "number"}, {"type": "null"}]}, "number or null"),
    ({"enum": ["a", 2]}, '"a" or 2'),
    ({"enum": list(range(9))}, "0 or 1 or 2 or 3 or 4 or 5 or ..."),
    ({"const": "é"}, '"é"'),
    ({"type": "string", "format": "date"}, "date as YYYY-MM-DD"),
    ({"type": "object"}, "{...}"),
    ({"type": "boolean"}, "true or false"),
    ({"type": "array"}, "[anything, ...]"),
    ({"type": ["object", "array"], "properties": {"a": {}}}, '{"a": anything} or [anything, ...]'),
    ({"type": {"odd": 1}}, "anything"),
    ({"title": "odd"}, "anything"),
]


def test_the_shape_of_a_schema_is_readable() -> None:
    assert [shape_of(schema) for schema, _ in SHAPES] == [shape for _, shape in SHAPES]


def test_a_long_shape_is_cut_and_a_deep_one_ends() -> None:
    assert len(shape_of({"type": "object", "properties": {f"field_{number}": {"type": "string"} for number in range(99)}})) == 600
    deep: Any = {"type": "string"}
    for _ in range(400):
        deep = {"type": ["object", "array", "object"], "properties": {"a": deep}, "items": deep}
    assert "anything" in shape_of(deep)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "properties", "items", "anyOf", "enum", "$ref", "const", "format", "$defs", "a"]), inner)
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["type", "properties", "items", "oneOf", "enum", "$ref", "components"]), ANY))
def test_whatever_a_schema_is_something_is_said(schema: dict[str, Any]) -> None:
    assert isinstance(shape_of(write_out(schema)), str) and isinstance(shape_of(schema), str)
