from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.models.parsing import parse_call, parse_calls, replace_surrogates, split_reasoning
from talm_sim.types import ModelTurn, ToolCall, UnparsableCall
from tests.tables import labelled

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(TEXT, JSON_VALUES, max_size=5))
def test_any_json_object_is_a_call_with_just_these_arguments(arguments: dict[str, Any]) -> None:
    for written in (json.dumps(arguments), json.dumps(arguments, ensure_ascii=False, indent=2)):
        call = parse_call("c", "tool", written)
        assert isinstance(call, ToolCall)
        assert call.arguments == arguments


@given(st.text() | st.text(alphabet='{}[]":,\\u0dN aInftrue1e9-'))
def test_whatever_a_model_writes_gives_a_call_or_a_reason_and_can_be_stored(written: str) -> None:
    call = parse_call("c", "tool", written)
    ModelTurn.model_validate_json(ModelTurn(raw_text=replace_surrogates(written)).model_dump_json().encode("utf-8"))
    assert isinstance(call, ToolCall) or call.reason
    call.model_dump_json().encode("utf-8")
    if isinstance(call, ToolCall):
        assert json.loads(json.dumps(call.arguments, allow_nan=False)) == call.arguments


@given(st.sampled_from(["NaN", "Infinity", "-Infinity", "1e999", "-1e999"]), st.integers(0, 3))
def test_numbers_json_does_not_have_are_refused_at_any_depth(constant: str, depth: int) -> None:
    call = parse_call("c", "tool", '{"a": ' + '[{"b": ' * depth + constant + "}]" * depth + "}")
    assert isinstance(call, UnparsableCall)
    assert "not valid JSON" in call.reason


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("tool", '{"a": 1', "not valid JSON: Expecting ',' delimiter at character 7"),
        ("tool", '{"a": 1} trailing', "Extra data"),
        ("tool", "[" * 100_000, "nested too deeply"),
        ("tool", '{"a": ' + "9" * 5000 + "}", "digits"),
        ("tool", r'{"a": "\ud800"}', "surrogate"),
        ("tool", "[]", "a JSON array"),
        ("tool", '"text"', "a JSON string"),
        ("tool", {"a": math.nan}, "NaN is no number"),
        ("tool", [1], "a JSON array"),
        ("", "{}", "no tool name"),
        (None, "{}", "no tool name"),
        ({"x": 1}, "{}", "no tool name"),
    ],
)
def test_every_mistake_has_its_reason(name: Any, arguments: Any, reason: str) -> None:
    call = parse_call("c", name, arguments)
    assert isinstance(call, UnparsableCall)
    assert reason in call.reason


@pytest.mark.parametrize("arguments", ["", "  ", None, {}, "{}"])
def test_a_call_without_arguments_may_be_written_in_several_ways(arguments: Any) -> None:
    assert parse_call("c", "now", arguments) == ToolCall(id="c", name="now")


def test_absent_and_repeated_ids_become_distinct_and_reproducible() -> None:
    written = [("a", "t", "{}"), ("a", "t", "{}"), (None, "t", "{"), ("", "t", "{}"), (7, "t", "{}")]
    calls, broken = parse_calls(written, turn=2)
    assert [call.id for call in calls] == ["a", "call-2-1", "call-2-3", "call-2-4"]
    assert [call.id for call in broken] == ["call-2-2"]
    assert parse_calls(written, turn=2) == (calls, broken)


@labelled
def test_reasoning_leaves_the_text(written: str, text: str, reasoning: str) -> None:
    assert split_reasoning(written) == (text, reasoning)


@given(TEXT.filter(lambda text: "<" not in text), TEXT.filter(lambda text: "<" not in text))
def test_a_closed_block_parts_any_reasoning_from_any_text(reasoning: str, text: str) -> None:
    assert split_reasoning(f"<think>{reasoning}</think>{text}") == (text.strip(), reasoning.strip())
