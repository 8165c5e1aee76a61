from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.scenarios.invention import invent

SCHEMAS: list[dict[str, Any]] = [{}, {"type": "string"}, {"type": "integer", "maximum": 5}, {"type": "array", "items": {}}, {"enum": ["a"]}]


@pytest.mark.parametrize(
    ("schema", "gold", "invented"),
    [
        ({"examples": ["HAN", "CDG"]}, "han", "CDG"),
        ({"examples": ["CDG"]}, "HAN", "CDG"),
        ({"enum": ["m", "ft"]}, "m", "ft"),
        ({"default": "EUR"}, "USD", "EUR"),
        ({"anyOf": [{"type": "string", "examples": ["VN"]}, {"type": "null"}], "default": None}, "FR", "VN"),
        ({"type": "boolean"}, True, False),
        ({"type": "integer"}, 7, 8),
        ({"type": "integer", "maximum": 7}, 7, 6),
        ({"type": "number"}, 1.5, 2.5),
        ({}, "2024-03-15", "2023-11-02"),
        ({}, "2025-01-01T10:00", "2024-03-15T10:00"),
        ({}, "HAN", "ANH"),
        ({"maxLength": 2}, "aa", "aa"[:1] + "a"),
        ({"items": {"type": "integer"}}, [1, 2], [2, 3]),
    ],
)
def test_an_invented_value_is_plausible(schema: dict[str, Any], gold: Any, invented: Any) -> None:
    assert invent(schema, gold) == invented


@given(
    st.sampled_from(SCHEMAS),
    st.booleans() | st.integers(-10, 5) | st.text("abc", min_size=1, max_size=5) | st.lists(st.integers(0, 3), min_size=1),
)
def test_an_invented_value_is_never_the_true_one(schema: dict[str, Any], gold: Any) -> None:
    invented = invent(schema, gold)
    assert invented != gold
    assert invent(schema, gold) == invented
