"""The fields that a fault changes, and those that a schema shows."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.tools_env.perturbations.drift import change_fields, lacks_field, short_name

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text("ab/~é", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abC_/~", max_size=5), inner, max_size=3),
    max_leaves=8,
)
_ITEM = {"type": "object", "properties": {"b": {"type": "integer"}}}
_SCHEMAS: list[dict[str, Any]] = [
    {"type": "object", "properties": {"a": _ITEM, "b": {"type": "string"}}},
    {"$ref": "#/$defs/One", "$defs": {"One": {"type": "object", "properties": {"b": {"type": "string"}}}}},
    {"$ref": "#/components/schemas/One", "components": {"schemas": {"One": {"type": "array", "items": _ITEM}}}},
    {"anyOf": [_ITEM, {"type": "null"}]},
]


@pytest.mark.parametrize("schema", _SCHEMAS)
def test_a_schema_shows_which_fields_there_are(schema: dict[str, Any]) -> None:
    assert lacks_field(schema, "") == lacks_field(schema, "b") == lacks_field(schema, "/0/b") == ""
    assert lacks_field(schema, "c") == lacks_field(schema, "/b/c") == "no field 'c' in its answers"


@pytest.mark.parametrize(
    "schema",
    [{}, {"type": "object"}, {"$ref": "#/nowhere"}, {"type": "object", "properties": {}, "additionalProperties": True}, {"items": _ITEM}],
)
def test_one_that_allows_other_fields_lacks_none(schema: dict[str, Any]) -> None:
    assert lacks_field(schema, "c") == ""


def test_a_short_schema_that_is_large_when_written_out_takes_no_time() -> None:
    parts = {f"S{n}": {"type": "object", "properties": {f"p{m}": {"$ref": f"#/$defs/S{n + 1}"} for m in range(10)}} for n in range(20)}
    schema = {"$ref": "#/$defs/S0", "$defs": {**parts, "S20": {"type": "object", "properties": {"q": {"$ref": "#/$defs/S0"}}}}}
    assert (lacks_field(schema, "q"), lacks_field(schema, "r")) == ("", "no field 'r' in its answers")


@given(answer=_JSON, field=st.sampled_from(["", "a", "/a", "/a/0/b", "/~1"]), arguments=st.dictionaries(st.just("x"), _JSON, max_size=1))
def test_changed_answers_are_json_and_without_a_change_they_stay(answer: Any, field: str, arguments: dict[str, Any]) -> None:
    before = json.dumps(answer)
    assert change_fields(answer, field, arguments, lambda name, value: [(name, value)]) == answer
    gone = change_fields(answer, field, arguments, lambda name, value: [])
    renamed = change_fields(answer, field, arguments, lambda name, value: [(short_name(name, ()), value)])
    assert json.dumps(answer) == before, "the answer itself is not changed"
    assert sorted(_leaves(renamed)) == sorted(_leaves(answer)), "no value is lost or invented"
    assert len(_leaves(gone)) <= len(_leaves(answer))


def _leaves(value: Any) -> list[str]:
    if isinstance(value, dict | list):
        return [leaf for one in (value.values() if isinstance(value, dict) else value) for leaf in _leaves(one)]
    return [json.dumps(value)]
