from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.scenarios.item_tools import json_schema, parameters_of, required_of, spec_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.sampled_from(["dict", "List[str], optional"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "properties", "items", "required", "function", "parameters", "a"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"type": "tuple", "items": {"type": "float"}, "optional": True}, {"type": "array", "items": {"type": "number"}}),
        ({"type": "any", "description": "x"}, {"description": "x"}),
        ({"type": ["str", "null", "any"]}, {"type": ["string", "null"]}),
        ({"type": ["any"]}, {}),
        ({"type": " Dict[str, int]", "properties": {"type": {"type": "int"}}}, {"type": "object", "properties": {"type": {"type": "integer"}}}),
        ({"properties": ["a"], "items": [1]}, {"properties": {}, "items": {}}),
        ("dict", {}),
    ],
)
def test_types_have_the_names_of_json_schema(given: Any, wanted: dict[str, Any]) -> None:
    assert json_schema(given) == wanted
    assert json_schema(wanted) == wanted


@given(JSON)
def test_whatever_the_data_holds_can_be_read(value: Any) -> None:
    spec = spec_of(json.dumps(value))
    assert isinstance(json_schema(spec), dict)
    assert isinstance(parameters_of(spec), dict)
    assert all(isinstance(name, str) for name in required_of(spec))
