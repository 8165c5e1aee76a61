"""Faults of the model, each on its own."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from talm_sim.models.parsing import parse_call
from talm_sim.tools_env.perturbations import ModelCall, ModelPerturbation, ModelRequestError, open_perturbations
from talm_sim.types import ModelTurn, ToolCall, UnparsableCall, Usage

LAST = ModelTurn(text="I look.", raw_text="I look.", tool_calls=(ToolCall(id="x", name="f", arguments={"a": 1}),), stop="tool_calls")


def opened(text: str, *, seed: int = 0, episode: str = "s@1") -> ModelPerturbation:
    (one,) = open_perturbations((text,), seed=seed, episode=episode)
    assert isinstance(one, ModelPerturbation)
    return one


def call(number: int = 2, *, previous: ModelTurn | None = LAST, prompt: str = "p", repeated: int = 0) -> ModelCall:
    return ModelCall((), (), number, prompt, repeated, previous)


async def test_what_each_puts_in_place_of_an_answer() -> None:
    with pytest.raises(ModelRequestError, match="HTTP 500") as caught:
        await opened("model-500").instead(call())
    assert caught.value.status_code == 500
    assert await opened("model-empty").instead(call()) == ModelTurn()
    refusal = await opened("model-refusal").instead(call())
    assert refusal is not None
    assert (refusal.stop, bool(refusal.text)) == ("refusal", True)
    page = await opened("model-html").instead(call())
    assert page is not None
    assert page.text.startswith("<!DOCTYPE html>")
    assert "502 Bad Gateway" in page.text
    assert page.stop == "stop"
    again = await opened("model-repeat").instead(call())
    assert again is not None
    assert (again.text, again.stop, again.usage) == (LAST.text, LAST.stop, Usage())
    assert [(one.name, one.arguments) for one in again.tool_calls] == [("f", {"a": 1})]
    assert again.tool_calls[0].id != "x"
    assert not opened("model-repeat").can_hit(call(1, previous=None))


async def test_a_cut_turn_keeps_half_of_its_text_and_calls_that_cannot_be_read() -> None:
    turn = LAST.model_copy(update={"text": "abcdef", "raw_text": "abcdef--", "logprobs": (-1.0,), "usage": Usage(output_tokens=9)})
    cut = await opened("model-cut").spoil(call(), turn)
    assert cut is not None
    assert (cut.text, cut.raw_text, cut.stop, cut.logprobs, cut.usage.output_tokens) == ("abc", "abcd", "length", None, 9)
    assert cut.tool_calls == ()
    assert [(one.id, one.name, one.raw) for one in cut.unparsable_calls] == [("x", "f", '{"a"')]
    assert await opened("model-cut").spoil(call(), ModelTurn()) is None


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
_LEAF = st.none() | st.booleans() | st.integers() | _TEXT
_JSON = st.recursive(_LEAF, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4), max_leaves=8)


@given(arguments=st.dictionaries(_TEXT, _JSON, max_size=4))
async def test_no_cut_call_can_be_read(arguments: dict[str, object]) -> None:
    made = parse_call("x", "f", json.dumps(arguments))
    turn = ModelTurn(tool_calls=(made,)) if isinstance(made, ToolCall) else ModelTurn(unparsable_calls=(made,))
    cut = await opened("model-cut").spoil(call(), turn)
    assert cut is not None
    assert not cut.tool_calls
    assert all(isinstance(one, UnparsableCall) for one in cut.unparsable_calls)


@pytest.mark.parametrize(
    ("options", "hit"),
    [("", [1, 2, 3, 4]), (":call=2", [2]), (":times=2", [1, 2]), (":after=2", [3, 4]), (":after=1,times=2", [2, 3]), (":times=0", [])],
)
def test_generations_are_counted(options: str, hit: list[int]) -> None:
    assert [number for number in range(1, 5) if opened(f"model-empty{options}").hits(call(number))] == hit


@given(seed=st.integers(0, 50), prompt=st.text(max_size=5), repeated=st.integers(0, 3), low=st.floats(0, 1), high=st.floats(0, 1))
def test_levels_of_p_are_nested_and_the_number_of_a_generation_decides_nothing(
    seed: int, prompt: str, repeated: int, low: float, high: float
) -> None:
    low, high = sorted((low, high))
    some, more = opened(f"model-empty:p={low}", seed=seed), opened(f"model-empty:p={high}", seed=seed)
    same = call(1, prompt=prompt, repeated=repeated)
    assert some.hits(same) <= more.hits(same)
    assert some.hits(same) == some.hits(call(7, prompt=prompt, repeated=repeated))
