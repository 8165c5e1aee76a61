"""Whatever a server answers ends at most its own episode: a turn, or one line that says what was wrong."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from langchain_core.messages import HumanMessage

from talm_sim.errors import ProviderError
from talm_sim.models.answers import MOST_CALLS, MOST_TEXT, MOST_TOKENS, read, usage_of
from talm_sim.models.base import GenerationSettings
from talm_sim.models.endings import turn_of
from talm_sim.models.parsing import MOST_DEEP, MOST_LONG, parse_call, parse_calls
from talm_sim.models.registry import open_model
from talm_sim.types import ModelTurn, TokenLogprob, ToolCall, UnparsableCall, Usage
from tests.models.loopback import Answer, anthropic_answer, chat_answer, loopback, text_answer

PROTOCOLS = ["openai/m", "anthropic/m"]
HELLO = [HumanMessage("Hello?")]


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{name}_API_KEY", "sk-none-needed")


async def ask(model: str, answer: Answer, monkeypatch: pytest.MonkeyPatch) -> ModelTurn | ProviderError:
    with loopback(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        opened = open_model(model, max_retries=0, timeout=100.0)
        try:
            turn: ModelTurn = await opened.generate(HELLO, (), GenerationSettings())
            return ModelTurn.model_validate_json(turn.model_dump_json())
        except ProviderError as err:
            assert "\n" not in str(err)
            return err
        finally:
            await opened.aclose()


@pytest.mark.parametrize("model", PROTOCOLS)
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(b"", 304), "HTTP 304"),
        (Answer({"error": {"message": "what"}}, 999), "HTTP 999: what"),
        (Answer(b'{"choices": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"), "nested too deeply"),
        (Answer(b"[" * 100_000, 400), "HTTP 400"),
        (Answer([]), "answered with something other than a JSON object"),
        (Answer({"choices": [{"message": 3}], "content": 3}), "the server's answer has no "),
    ],
)
async def test_what_is_no_answer_is_a_line(model: str, answer: Answer, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = await ask(model, answer, monkeypatch)
    assert isinstance(found, ProviderError) and words in str(found)


@pytest.mark.parametrize("model", PROTOCOLS)
@pytest.mark.parametrize("odd", ["NaN", '"five"', "-1", "1e40", "2.5", "[]", "true", str(MOST_TOKENS + 1)])
async def test_a_count_that_is_none_is_not_given(model: str, odd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = (chat_answer("yes") if model.startswith("openai") else anthropic_answer({"type": "text", "text": "yes"})).body
    first = next(iter(whole["usage"]))
    text = json.dumps({**whole, "usage": {**whole["usage"], first: "HERE"}}).replace('"HERE"', odd)
    found = await ask(model, Answer(text.encode()), monkeypatch)
    assert isinstance(found, ModelTurn)
    assert (found.text, found.usage) == ("yes", Usage(uncounted=1))


@pytest.mark.parametrize(
    ("levels", "kind"), [(MOST_DEEP - 1, ToolCall), (MOST_DEEP, UnparsableCall), (800, UnparsableCall), (10_000, UnparsableCall)]
)
def test_arguments_that_no_store_could_hold_are_no_call(levels: int, kind: type) -> None:
    call = parse_call("c", "f", '{"a": ' + "[" * levels + "]" * levels + "}")
    assert isinstance(call, kind)
    assert type(call).model_validate_json(call.model_dump_json()) == call


def test_half_of_a_surrogate_pair_is_no_id() -> None:
    calls, _ = parse_calls([("\ud800", "f", "{}"), ("?", "g", "{}")], 0)
    assert [call.id for call in calls] == ["?", "call-0-1"]


@given(count=st.one_of(st.none(), st.booleans(), st.floats(), st.integers(), st.text(), st.lists(st.integers())))
def test_counts_are_whole_numbers_or_none(count: Any) -> None:
    found = usage_of(count, 1)
    assert (found.input_tokens, found.output_tokens, found.uncounted) in [(count, 1, 0), (0, 0, 1)]
    assert 0 <= found.input_tokens <= MOST_TOKENS


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def odd(example: Any) -> st.SearchStrategy[Any]:
    """The example with any of its parts replaced by any JSON."""
    if isinstance(example, dict):
        return JSON | st.fixed_dictionaries({}, optional={name: odd(value) for name, value in example.items()})
    if isinstance(example, list):
        return JSON | st.lists(st.one_of([odd(item) for item in example]), max_size=3) if example else JSON
    return st.just(example) | JSON


CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
TOP = [{"token": "Yes", "logprob": -0.5, "bytes": [89, 101, 115]}, {"token": "No", "logprob": -1.5, "bytes": None}]
LOGPROBS = {"content": [{"token": "a", "logprob": -0.5, "top_logprobs": TOP}]}
CHAT = chat_answer("hi", tool_calls=[CALL], refusal=None, reasoning_content="r").body
CHAT["choices"][0]["logprobs"] = LOGPROBS
TEXT = text_answer("Yes", top=[{"Yes": -0.5, "No": -1.5}]).body
CLAUDE = anthropic_answer({"type": "text", "text": "hi"}, {"type": "tool_use", "id": "t", "name": "f", "input": {}}).body


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(answer=odd(CHAT))
def test_any_chat_completion_is_read_or_refused(answer: Any) -> None:
    from talm_sim.models.openai_chat import _chat_answer

    if isinstance(answer, dict):
        try:
            found = read("m", answer, lambda one: _chat_answer("m", one, 20))
        except ProviderError:
            return
        assert isinstance(found.text, str) and isinstance(found.usage, Usage)
        assert is_distribution(found.first_tokens)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(answer=odd(TEXT))
def test_any_text_completion_is_read_or_refused(answer: Any) -> None:
    from talm_sim.models.openai_chat import _continuation

    if isinstance(answer, dict):
        try:
            turn = turn_of("m", read("m", answer, lambda one: _continuation("m", one, 20)), 0)
        except ProviderError:
            return
        assert ModelTurn.model_validate_json(turn.model_dump_json()) == turn
        assert is_distribution(turn.first_tokens)


def is_distribution(tokens: Sequence[TokenLogprob]) -> bool:
    logprobs = [one.logprob for one in tokens]
    return logprobs == sorted(logprobs, reverse=True) and sum(map(math.exp, logprobs)) < 1.051


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(answer=odd(CLAUDE))
def test_any_message_is_read_or_refused(answer: Any) -> None:
    from talm_sim.models.anthropic_messages import _answer_in

    if isinstance(answer, dict):
        try:
            turn = turn_of("m", read("m", answer, lambda one: _answer_in("m", one)), 0)
        except ProviderError:
            return
        assert ModelTurn.model_validate_json(turn.model_dump_json()) is not None


@pytest.mark.parametrize("model", PROTOCOLS)
async def test_a_turn_has_bounds(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chat = model.startswith("openai")
    long = "x" * (MOST_TEXT + 1)
    found = await ask(model, chat_answer(long) if chat else anthropic_answer({"type": "text", "text": long}), monkeypatch)
    assert isinstance(found, ProviderError) and "characters of text" in str(found)
    block = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    many = [CALL if chat else block] * (MOST_CALLS + 1)
    found = await ask(model, chat_answer(None, tool_calls=many) if chat else anthropic_answer(*many), monkeypatch)
    assert isinstance(found, ProviderError) and "1,025 tool calls" in str(found)


@pytest.mark.parametrize("model", PROTOCOLS)
async def test_a_call_has_bounds(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    long, deep = {"a": "x" * MOST_LONG}, json.loads('{"a": ' + "[" * 800 + "]" * 800 + "}")
    written: list[tuple[str, Any]] = [("f", long), ("f" * 300, {}), ("f", deep)]
    if model.startswith("openai"):
        answer = chat_answer(None, tool_calls=[{"id": "i" * 300, "function": {"name": n, "arguments": json.dumps(a)}} for n, a in written])
    else:
        answer = anthropic_answer(*({"type": "tool_use", "id": "i" * 300, "name": n, "input": a} for n, a in written))
    found = await ask(model, answer, monkeypatch)
    assert isinstance(found, ModelTurn)
    reasons = ["longer than 262,144 characters", "a name of 300 characters", "nested deeper than 64 levels"]
    assert [call.reason for call in found.unparsable_calls] == reasons
    assert all(len(call.raw) <= MOST_LONG and len(call.name) <= 256 and len(call.id) < 20 for call in found.unparsable_calls)
