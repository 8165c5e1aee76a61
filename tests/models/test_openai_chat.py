from __future__ import annotations

import json
from contextlib import aclosing
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import GenerationSettings, Model
from talm_sim.models.openai_servers import open_compatible, open_openai
from talm_sim.models.request import ModelRequest
from talm_sim.types import ModelTurn, ToolCall, ToolSpec, Usage
from tests.models.loopback import Answer, Seen, chat_answer, loopback
from tests.tables import labelled

MESSAGES: list[BaseMessage] = [SystemMessage("Help."), HumanMessage("How high is HAN?")]
TOOL = ToolSpec(name="airport", description="Look one up.", parameters={"type": "object", "properties": {"code": {"type": "string"}}})


def compatible(url: str, **fields: Any) -> Model:
    environ = {"MY_SERVER_BASE_URL": f"{url}/v1"} | fields.pop("environ", {})
    return open_compatible(ModelRequest("openai-api/my-server/org/m", "my-server/org/m", environ=environ, **fields))


async def ask(
    answer: Answer, settings: GenerationSettings | None = None, tools: tuple[ToolSpec, ...] = (), **fields: Any
) -> tuple[ModelTurn, Seen]:
    with loopback(answer) as server:
        model = compatible(server.url, **fields)
        async with aclosing(model):
            turn = await model.generate(MESSAGES, tools, settings or GenerationSettings())
    return turn, server.seen[0]


async def test_the_request_of_a_compatible_server() -> None:
    _, request = await ask(chat_answer(), GenerationSettings(temperature=0.3, max_new_tokens=9, seed=4), (TOOL,))
    assert request.path == "/v1/chat/completions"
    assert request.body == json.loads(
        '{"model":"org/m","messages":[{"role":"system","content":"Help."},{"role":"user","content":"How high is HAN?"}],'
        '"tools":[{"type":"function","function":{"name":"airport","description":"Look one up.",'
        '"parameters":{"type":"object","properties":{"code":{"type":"string"}}}}}],"temperature":0.3,"max_tokens":9,"seed":4}'
    )


async def test_organization_and_key_of_openai_stay_at_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "private")
    _, request = await ask(chat_answer())
    assert request.headers["authorization"] == "Bearer none"
    assert "private" not in str(request.headers)


@pytest.mark.parametrize(
    ("model", "sends_temperature"), [("gpt-4o", True), ("gpt-5-chat-latest", True), ("gpt-5-mini", False), ("o3", False), ("omni", True)]
)
async def test_openai_itself_takes_other_limits_and_no_temperature_for_reasoning_models(model: str, sends_temperature: bool) -> None:
    with loopback(chat_answer()) as server:
        environ = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": f"{server.url}/v1"}
        opened = open_openai(ModelRequest(f"openai/{model}", model, environ=environ))
        await opened.generate(MESSAGES, (), GenerationSettings(temperature=0.0, max_new_tokens=7))
        await opened.aclose()
    body = server.seen[0].body
    assert body["max_completion_tokens"] == (7 if sends_temperature else 25_007)
    assert "max_tokens" not in body
    assert ("temperature" in body) is sends_temperature
    assert server.seen[0].headers["authorization"] == "Bearer sk-test"


async def test_options_become_fields_of_the_body_and_outrank_settings() -> None:
    options = {"top_p": "0.9", "reasoning_effort": "low", "temperature": "0.5", "max_tokens_field": "max_completion_tokens"}
    _, request = await ask(chat_answer(), GenerationSettings(options={"stop": ["x"]}), options=options)
    body = request.body
    assert (body["top_p"], body["reasoning_effort"], body["temperature"], body["stop"]) == (0.9, "low", 0.5, ["x"])
    assert "max_completion_tokens" in body
    assert "max_tokens_field" not in body


async def test_a_turn_with_calls_reasoning_usage_and_logprobs() -> None:
    calls = [
        {"id": "a", "type": "function", "function": {"name": "airport", "arguments": '{"code": "HAN"}'}},
        {"id": "b", "type": "function", "function": {"name": "airport", "arguments": '{"code": '}},
    ]
    answer = chat_answer("<think>hm</think>Looking.", finish="tool_calls", tool_calls=calls)
    answer.body["choices"][0]["logprobs"] = {"content": [{"token": "x", "logprob": -0.5}, {"token": "y", "logprob": -1.0}]}
    turn, _ = await ask(answer, tools=(TOOL,))
    assert turn.tool_calls == (ToolCall(id="a", name="airport", arguments={"code": "HAN"}),)
    assert [(call.id, call.raw) for call in turn.unparsable_calls] == [("b", '{"code": ')]
    assert (turn.raw_text, turn.text, turn.reasoning, turn.stop) == ("<think>hm</think>Looking.", "Looking.", "hm", "tool_calls")
    assert turn.usage == Usage(input_tokens=11, output_tokens=3, cached_tokens=8)
    assert turn.logprobs == (-0.5, -1.0)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_in_a_field_of_its_own(field: str) -> None:
    turn, _ = await ask(chat_answer("Yes", **{field: "because"}))
    assert (turn.text, turn.reasoning) == ("Yes", "because")


@pytest.mark.parametrize(
    ("answer", "stop", "text"),
    [
        (chat_answer("cut", finish="length"), "length", "cut"),
        (chat_answer(None, refusal="I will not."), "refusal", "I will not."),
        (chat_answer("done", finish="tool_calls"), "tool_calls", "done"),
        (chat_answer(None), "stop", ""),
        (chat_answer("a\ud800b"), "stop", "a?b"),
    ],
)
async def test_how_a_turn_ended(answer: Answer, stop: str, text: str) -> None:
    turn, _ = await ask(answer)
    assert (turn.stop, turn.text) == (stop, text)


async def test_a_call_cut_short_ended_by_length() -> None:
    calls = [{"id": "", "type": "function", "function": {"name": "airport", "arguments": '{"co'}}]
    turn, _ = await ask(chat_answer(None, finish="length", tool_calls=calls))
    assert turn.stop == "length"
    assert turn.unparsable_calls[0].id == "call-0-0"


@labelled
def test_a_service_needs_an_address_and_a_far_one_a_key(environ: dict[str, str], said: str) -> None:
    with pytest.raises(PrerequisiteError, match=said):
        open_compatible(ModelRequest("openai-api/my-server/m", "my-server/m", environ=environ))


def test_openai_needs_its_key_and_a_service_its_model() -> None:
    with pytest.raises(PrerequisiteError, match="OPENAI_API_KEY is not set"):
        open_openai(ModelRequest("openai/m", "m", environ={}))
    with pytest.raises(PrerequisiteError, match="write openai-api/SERVICE/MODEL"):
        open_compatible(ModelRequest("openai-api/vllm", "vllm", environ={}))


def test_replay_needs_neither() -> None:
    assert open_openai(ModelRequest("openai/m", "m", environ={}, replay=True)).name == "openai/m"
    assert open_compatible(ModelRequest("openai-api/s/m", "s/m", environ={}, replay=True)).name == "openai-api/s/m"


@pytest.mark.parametrize("option", ["model", "messages", "stream", "n", "prompt", "echo", "best_of"])
def test_options_may_not_take_over_what_is_filled_in(option: str) -> None:
    with pytest.raises(PrerequisiteError, match=f"-M {option}"):
        open_compatible(ModelRequest("openai-api/s/m", "s/m", options={option: "1"}, replay=True))
