"""One model in three engines: `hf/`, `vllm/` in this process and vLLM served give the same first tokens and the same P(Yes).

TALM_SIM_TEST_MODEL names the directory of SmolLM2-135M-Instruct, the environment holds vLLM (scripts/local_vllm.sh), and for the served
half VLLM_BASE_URL names what scripts/serve_smollm2.sh started.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing
from importlib.util import find_spec
from pathlib import Path

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from talm_sim.models.base import CompletionModel, GenerationSettings, Model
from talm_sim.models.local import prompting
from talm_sim.models.local.vllm_model import VllmModel
from talm_sim.models.registry import open_model
from talm_sim.models.yes_no import yes_no_chances, yes_probability
from talm_sim.types import ModelTurn

DIRECTORY = os.environ.get("TALM_SIM_TEST_MODEL", "")
SERVER = os.environ.get("VLLM_BASE_URL", "")
SERVED = f"openai-api/vllm/{os.environ.get('VLLM_MODEL', 'smollm2-135m')}"
TEMPLATE = {"chat_template": str(Path(prompting.__file__).with_name("hermes_tools.jinja"))}
"""What scripts/serve_smollm2.sh serves by."""
pytestmark = [
    pytest.mark.local,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not DIRECTORY, reason="TALM_SIM_TEST_MODEL names no model directory"),
    pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed"),
    pytest.mark.filterwarnings("ignore"),
]
needs_server = pytest.mark.skipif(not SERVER, reason="VLLM_BASE_URL names no server")

SETTINGS = GenerationSettings(temperature=0.0, max_new_tokens=4, alternatives=20)
QUESTIONS = (
    "Is Paris in France?",
    "Can you tell me the weather in Hanoi with a tool that converts currencies?",
    "The tools are: get_airport(code). The request: how high does HAN lie? Can the request be served with these tools?",
    "The tools are: send_mail(to, text). The request: book me a table for two. Can the request be served with these tools?",
    "Can an order be cancelled without its number?",
    "Peut-on réserver un vol ? “Naïve” — 你好 🙂",
)
SYSTEM = "Answer with Yes or No, and nothing else."
NEAR = 1e-3


def messages(question: str) -> list[BaseMessage]:
    return [SystemMessage(SYSTEM), HumanMessage(question)]


def prompt(question: str) -> str:
    return f"{SYSTEM}\n\nQuestion: {question}\nAnswer:"


async def ask_all(model: Model) -> list[ModelTurn]:
    """All questions, in a chat and as prompts to be continued."""
    assert isinstance(model, CompletionModel)
    chats = [model.generate(messages(question), (), SETTINGS) for question in QUESTIONS]
    return await asyncio.gather(*chats, *(model.complete(prompt(question), SETTINGS) for question in QUESTIONS))


async def _closing(model: Model) -> list[ModelTurn]:
    async with aclosing(model):
        return await ask_all(model)


@pytest.fixture(scope="module")
def by_hf() -> list[ModelTurn]:
    return asyncio.run(_closing(open_model(f"hf/{DIRECTORY}", options=TEMPLATE)))


@pytest.fixture(scope="module")
def vllm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Callable[[VllmModel], Awaitable[list[ModelTurn]]]], list[ModelTurn]]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        opened = open_model(f"vllm/{DIRECTORY}", options={"kv_gib": "1", "max_model_len": "2048", **TEMPLATE})
        assert isinstance(opened, VllmModel)
        with asyncio.Runner() as runner:
            yield lambda ask: runner.run(_awaited(ask(opened)))
            runner.run(opened.aclose())


async def _awaited(asked: Awaitable[list[ModelTurn]]) -> list[ModelTurn]:
    return await asked


def check_same(found: list[ModelTurn], expected: list[ModelTurn]) -> None:
    for question, one, other in zip(QUESTIONS * 2, found, expected, strict=True):
        assert (one.raw_text, len(one.first_tokens)) == (other.raw_text, 20), question
        ours, theirs = ({token.token: token.logprob for token in turn.first_tokens} for turn in (one, other))
        common = ours.keys() & theirs.keys() - {"", "\ufffd"}  # parts of a character, which engines write in their own ways
        assert len(common) >= 18, question
        assert {token: ours[token] for token in common} == pytest.approx({token: theirs[token] for token in common}, abs=NEAR), question
        assert yes_no_chances(one.first_tokens) == pytest.approx(yes_no_chances(other.first_tokens), abs=NEAR), question
        mine, yours = yes_probability(one.first_tokens), yes_probability(other.first_tokens)
        assert mine is not None and yours is not None
        assert mine == pytest.approx(yours, abs=NEAR), question


def test_in_process_both_engines_give_the_same(by_hf: list[ModelTurn], vllm: Callable[..., list[ModelTurn]]) -> None:
    check_same(vllm(ask_all), by_hf)


def test_sampling_does_not_change_them(by_hf: list[ModelTurn], vllm: Callable[..., list[ModelTurn]]) -> None:
    """Also where what was drawn is none of the likeliest: vLLM puts it before them."""
    settings = [
        GenerationSettings(temperature=2.0, max_new_tokens=2, seed=seed, alternatives=20, options={"repetition_penalty": 1.5})
        for seed in range(5)
    ]

    async def sample(model: VllmModel) -> list[ModelTurn]:
        return await asyncio.gather(*(model.complete(prompt(QUESTIONS[0]), one) for one in settings))

    expected = {token.token: token.logprob for token in by_hf[len(QUESTIONS)].first_tokens}
    sampled = vllm(sample)
    assert any(not turn.raw_text.startswith(tuple(expected)) for turn in sampled)
    for turn in sampled:
        assert {token.token: token.logprob for token in turn.first_tokens} == pytest.approx(expected, abs=NEAR)


@needs_server
def test_served_they_are_the_same(by_hf: list[ModelTurn]) -> None:
    check_same(asyncio.run(_closing(open_model(SERVED))), by_hf)
