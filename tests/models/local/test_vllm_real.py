"""vLLM itself: TALM_SIM_TEST_MODEL names a model directory, and the environment holds vLLM (scripts/local_vllm.sh)."""

from __future__ import annotations

import asyncio
import os
from importlib.util import find_spec
from pathlib import Path
from typing import cast

import pytest
from langchain_core.messages import HumanMessage, SystemMessage

from talm_sim.errors import ContextOverflowError, PrerequisiteError
from talm_sim.models.base import Continuation, GenerationSettings, Model, TextModel
from talm_sim.models.local.vllm_model import VllmModel
from talm_sim.models.registry import open_model
from talm_sim.types import ToolSpec

DIRECTORY = os.environ.get("TALM_SIM_TEST_MODEL", "")
OPTIONS = {"kv_gib": "1", "max_model_len": "2048"}
pytestmark = [
    pytest.mark.local,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not DIRECTORY, reason="TALM_SIM_TEST_MODEL names no model directory"),
    pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed"),
    pytest.mark.filterwarnings("ignore"),
]
TOOL = ToolSpec(
    name="get_airport",
    description="Get an airport by its code.",
    parameters={"type": "object", "properties": {"code": {"type": "string", "maxLength": 4}}, "required": ["code"]},
)
FIRST = "A person asks: how high above the sea does the airport of Hanoi lie? The tools at hand say nothing about it. "


@pytest.fixture(autouse=True)
def _logs_stay_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def questions(model: VllmModel) -> list[tuple[str, tuple[str, ...]]]:
    """Prompts whose ends fall on every place of a cache block, with options that begin alike for longer than a block."""
    shared = " It lies at" + " about" * 40
    options = (" I do not know.", " Sixteen", shared + " ten metres.", shared + " twelve.")
    found = [(FIRST * 2 + "and so on " * extra + "Answer:", options) for extra in range(0, 36, 3)]
    tokenizer = model._tokenizer()
    text = FIRST * 3
    while len(tokenizer.encode(text)) % 32:
        text += " yes"
    return [*found, (text, options)]


def apart(one: list[list[Continuation]], other: list[list[Continuation]]) -> float:
    return max(abs(a.logprob - b.logprob) for first, second in zip(one, other, strict=True) for a, b in zip(first, second, strict=True))


async def test_the_engine_scores_alike_with_and_without_its_cache_and_continues() -> None:
    model = open_model(f"vllm/{DIRECTORY}", options=OPTIONS)
    assert isinstance(model, VllmModel)
    text = cast("TextModel", model)
    asked = questions(model)
    try:

        async def score() -> list[list[Continuation]]:
            return await asyncio.gather(*(text.score(prompt, options) for prompt, options in asked))

        model._engine.reuse = False
        plain = await score()
        model._engine.reuse = True
        assert apart(plain, await score()) < 1e-4
        assert apart(plain, await score()) < 1e-4
        alone = await text.score(*asked[0])
        assert apart(plain[:1], [alone]) < 1e-4

        settings = GenerationSettings(temperature=1.0, max_new_tokens=12, seed=3)
        prompt = text.render_chat([{"role": "user", "content": "Say hello."}], ())
        turns = await asyncio.gather(text.complete(prompt, settings), text.complete(prompt, settings))
        assert turns[0].raw_text == turns[1].raw_text != ""
        assert turns[0].usage.input_tokens > 5
        assert 0 < turns[0].usage.output_tokens <= 12

        for question in (text.score("word " * 2048, [" a"]), text.complete("word " * 2048, settings)):
            with pytest.raises(ContextOverflowError, match="nothing was cut"):
                await question
    finally:
        await model.aclose()


async def test_an_agent_turn_runs_over_a_server_of_its_own() -> None:
    model: Model = open_model(f"vllm/{DIRECTORY}", options={**OPTIONS, "tool_choice": "required"})
    messages = [SystemMessage("Use the tools."), HumanMessage("How high does HAN lie?")]
    try:
        turn = await model.generate(messages, (TOOL,), GenerationSettings(temperature=0.0, max_new_tokens=60))
    finally:
        await model.aclose()
    assert [call.name for call in turn.tool_calls] == ["get_airport"]
    assert turn.usage.input_tokens > 20
    assert turn.usage.output_tokens > 0


async def test_a_constrained_turn_is_one_action() -> None:
    model: Model = open_model(f"vllm/{DIRECTORY}", options=OPTIONS, constrained=True)
    try:
        turn = await model.generate([HumanMessage("How high does HAN lie?")], (TOOL,), GenerationSettings(seed=1))
    finally:
        await model.aclose()
    assert bool(turn.text) is not bool(turn.tool_calls)
    assert turn.unparsable_calls == ()


async def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    template = tmp_path / "broken.jinja"
    template.write_text("{% if %}")
    model: Model = open_model(f"vllm/{DIRECTORY}", options={**OPTIONS, "tool_parser": "no-such-parser", "chat_template": str(template)})
    try:
        with pytest.raises(PrerequisiteError, match=r"ended while it started: .*no-such-parser") as caught:
            await model.generate([HumanMessage("Hi")], (), GenerationSettings())
    finally:
        await model.aclose()
    assert "\n" not in str(caught.value)
