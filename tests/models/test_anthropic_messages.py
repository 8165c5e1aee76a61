from __future__ import annotations

import json
from contextlib import aclosing
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from talm_sim.errors import BlockedError, ContextOverflowError, PrerequisiteError, ProviderError
from talm_sim.models.anthropic_messages import open_anthropic
from talm_sim.models.base import GenerationSettings
from talm_sim.models.request import ModelRequest
from talm_sim.types import ModelTurn, ToolCall, ToolSpec, Usage
from tests.models.loopback import Answer, Seen, anthropic_answer, loopback

MESSAGES: list[BaseMessage] = [SystemMessage("Help."), HumanMessage("How high is HAN?")]
TOOL = ToolSpec(name="airport", description="Look one up.", parameters={"type": "object", "properties": {"code": {"type": "string"}}})


async def ask(
    answer: Answer, settings: GenerationSettings | None = None, tools: tuple[ToolSpec, ...] = (), **fields: Any
) -> tuple[ModelTurn, Seen]:
    with loopback(answer) as server:
        environ = {"ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": server.url}
        model = open_anthropic(ModelRequest("anthropic/m", "m", environ=environ, **fields))
        async with aclosing(model):
            turn = await model.generate(MESSAGES, tools, settings or GenerationSettings())
    return turn, server.seen[0]


async def test_the_request() -> None:
    answer = anthropic_answer({"type": "text", "text": "x"})
    _, request = await ask(answer, GenerationSettings(temperature=0.3, max_new_tokens=9, seed=4), (TOOL,))
    assert request.path == "/v1/messages"
    assert request.body == json.loads(
        '{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"How high is HAN?"}]}],"system":"Help.",'
        '"tools":[{"name":"airport","description":"Look one up.","input_schema":{"type":"object","properties":{"code":{"type":"string"}}}}],'
        '"temperature":0.3}'
    )


@pytest.mark.parametrize(("temperature", "sent"), [(0.0, 0.0), (0.99, 0.99), (1.0, None), (1.7, None)])
async def test_temperature_is_cut_to_the_protocols_range(temperature: float, sent: float | None) -> None:
    _, request = await ask(anthropic_answer(), GenerationSettings(temperature=temperature))
    assert request.body.get("temperature") == sent


async def test_options_become_fields_of_the_body() -> None:
    _, request = await ask(anthropic_answer(), options={"top_k": "5", "tool_choice": '{"type": "any"}'})
    assert (request.body["top_k"], request.body["tool_choice"]) == (5, {"type": "any"})


async def test_a_turn_with_thinking_calls_and_cached_tokens() -> None:
    answer = anthropic_answer(
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "Looking."},
        {"type": "tool_use", "id": "a", "name": "airport", "input": {"code": "HAN"}},
        {"type": "tool_use", "id": "b", "name": "airport", "input": ["HAN"]},
        {"type": "something_new"},
        stop="tool_use",
    )
    turn, _ = await ask(answer, tools=(TOOL,))
    assert (turn.text, turn.reasoning, turn.stop) == ("Looking.", "hm", "tool_calls")
    assert turn.tool_calls == (ToolCall(id="a", name="airport", arguments={"code": "HAN"}),)
    assert [(call.id, call.reason) for call in turn.unparsable_calls] == [("b", "a JSON array, not an object")]
    assert turn.usage == Usage(input_tokens=11, output_tokens=3, cached_tokens=6)


@pytest.mark.parametrize(("reason", "stop"), [("end_turn", "stop"), ("max_tokens", "length"), ("tool_use", "tool_calls"), ("new", "stop")])
async def test_how_a_turn_ended(reason: str, stop: str) -> None:
    turn, _ = await ask(anthropic_answer({"type": "text", "text": "<think>a</think>b"}, stop=reason))
    assert (turn.stop, turn.text, turn.reasoning) == (stop, "b", "a")


@pytest.mark.parametrize(("reason", "error"), [("refusal", BlockedError), ("pause_turn", ProviderError)])
async def test_what_is_no_turn(reason: str, error: type[Exception]) -> None:
    with pytest.raises(error, match=reason):
        await ask(anthropic_answer({"type": "text", "text": "a"}, stop=reason))


async def test_an_answer_that_fills_the_context_is_an_overflow() -> None:
    with pytest.raises(ContextOverflowError):
        await ask(anthropic_answer({"type": "text", "text": "b"}, stop="model_context_window_exceeded"))


def test_a_key_is_needed_unless_replayed() -> None:
    with pytest.raises(PrerequisiteError, match="ANTHROPIC_API_KEY is not set"):
        open_anthropic(ModelRequest("anthropic/m", "m", environ={}))
    open_anthropic(ModelRequest("anthropic/m", "m", environ={}, replay=True))
    with pytest.raises(PrerequisiteError, match="ANTHROPIC_BASE_URL"):
        open_anthropic(ModelRequest("anthropic/m", "m", environ={"ANTHROPIC_BASE_URL": "nowhere", "ANTHROPIC_API_KEY": "k"}))
