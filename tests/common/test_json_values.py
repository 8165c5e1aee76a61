from __future__ import annotations

import json

import pytest

from talm_sim.common.json_values import leaves, read_json


@pytest.mark.parametrize("text", ["[" * 500 + "]" * 500, '{"a":' * 300 + "1" + "}" * 300, "[" * 100_000, "[1", ""])
def test_a_text_that_nothing_can_follow_is_no_value(text: str) -> None:
    assert read_json(text) is None


def test_values_come_in_their_order_each_with_its_path() -> None:
    value = {"a": [1, {"b": None}, []], "c": "x"}
    assert list(leaves(value)) == [(("a", 0), 1), (("a", 1, "b"), None), (("c",), "x")]
    assert read_json(json.dumps(value)) == value and list(leaves(5)) == [((), 5)]
