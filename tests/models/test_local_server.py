"""The providers against a real server of both protocols (vLLM): `VLLM_BASE_URL=http://127.0.0.1:PORT/v1 pytest -m local`."""

from __future__ import annotations

import os

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import invalid_tool_call, tool_call

from talm_sim.errors import ContextOverflowError, ProviderError
from talm_sim.models.base import GenerationSettings
from talm_sim.models.registry import open_model
from talm_sim.models.yes_no import YES_NO_IDK, read_yes_no
from talm_sim.types import AwarenessValue, ToolSpec

SERVER = os.environ.get("VLLM_BASE_URL", "")
MODEL = os.environ.get("VLLM_MODEL", "smollm2-135m")
pytestmark = [pytest.mark.local, pytest.mark.skipif(not SERVER, reason="VLLM_BASE_URL names no server")]

CODE = {"type": "object", "properties": {"code": {"type": "string", "maxLength": 4}}, "required": ["code"]}
TOOL = ToolSpec(name="get_airport", description="Get an airport by its code.", parameters=CODE)
MESSAGES: list[BaseMessage] = [SystemMessage("Use the tools."), HumanMessage("How high does HAN lie?")]
RESULTS: list[BaseMessage] = [
    AIMessage(
        "",
        tool_calls=[tool_call(id="a", name="get_airport", args={"code": "HAN"})],
        invalid_tool_calls=[invalid_tool_call(id="b", name="get_airport", args='{"co', error="cut")],
    ),
    ToolMessage('{"error":"cut"}', tool_call_id="b", name="get_airport"),
    ToolMessage('{"elevation_ft":39}', tool_call_id="a", name="get_airport"),
]


@pytest.fixture(params=["openai-api/vllm", "anthropic"])
def name(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", SERVER.removesuffix("/v1"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    return f"{request.param}/{MODEL}"


async def test_a_forced_call_is_read_and_its_results_are_taken(name: str) -> None:
    choice = '{"type": "any"}' if name.startswith("anthropic") else "required"
    model = open_model(name, options={"tool_choice": choice})
    turn = await model.generate(MESSAGES, (TOOL,), GenerationSettings(temperature=0.0, max_new_tokens=60))
    await model.aclose()
    assert [call.name for call in turn.tool_calls] == ["get_airport"]
    assert turn.usage.input_tokens > 0
    model = open_model(name)
    turn = await model.generate([*MESSAGES, *RESULTS], (TOOL,), GenerationSettings(temperature=0.0, max_new_tokens=20))
    await model.aclose()
    assert turn.raw_text or turn.tool_calls


async def test_failures_are_told_apart(name: str) -> None:
    model = open_model(name)
    with pytest.raises(ContextOverflowError):
        await model.generate([HumanMessage("word " * 50_000)], (), GenerationSettings())
    await model.aclose()
    model = open_model(name.replace(MODEL, "no-such-model"))
    with pytest.raises(ProviderError, match="HTTP 404"):
        await model.generate(MESSAGES, (), GenerationSettings())
    await model.aclose()


async def test_a_constrained_model_writes_one_action_or_one_label() -> None:
    model = open_model(f"openai-api/vllm/{MODEL}", constrained=True)
    for messages in (MESSAGES, [*MESSAGES, *RESULTS]):
        turn = await model.generate(messages, (TOOL,), GenerationSettings(seed=1))
        assert bool(turn.text) is not bool(turn.tool_calls)
        assert turn.unparsable_calls == ()
    turn = await model.generate(MESSAGES, (), GenerationSettings(seed=1, choices=YES_NO_IDK))
    await model.aclose()
    assert read_yes_no(turn.text) is not AwarenessValue.UNPARSED
