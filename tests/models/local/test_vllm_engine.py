"""The engine against a stand-in for vLLM that caches blocks as vLLM does, and knows nothing of what it read from its cache."""

from __future__ import annotations

import asyncio
import json
import math
import os
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from talm_sim.errors import ContextOverflowError, PrerequisiteError, ProviderError
from talm_sim.models.base import GenerationSettings
from talm_sim.models.local import vllm_engine, vllm_model
from talm_sim.models.local.batching import Worker
from talm_sim.models.local.vllm_engine import Ask, Ready, VllmEngine
from talm_sim.models.local.vllm_model import open_vllm, tool_template
from talm_sim.models.local.vllm_options import VllmOptions
from talm_sim.models.local.vllm_prefix import CachePlan
from talm_sim.models.request import ModelRequest

LENGTH, BLOCK, GARBAGE = 64, 4, 999.0


class Letters:
    """A tokenizer to which every letter is a token."""

    bos_token_id = None
    eos_token_id = 0
    chat_template = "{{ messages }}"

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        return [ord(letter) for letter in text]

    def decode(self, tokens: Sequence[int]) -> str:
        return "".join(map(chr, tokens))


def logprob(tokens: Sequence[int]) -> float:
    """Of the last token after those before it."""
    return -1.0 - (sum(place * token for place, token in enumerate(tokens, 1)) % 97) / 97


@dataclass
class FakeLLM:
    """Keeps every block it saw under its salt; entries of its cached part are garbage (`keeps_places`) or left out."""

    keeps_places: bool = True
    broken: str = ""
    calls: list[int] = field(default_factory=list)
    seen: list[Any] = field(default_factory=list)
    computed: int = 0
    kept: set[tuple[str, tuple[int, ...]]] = field(default_factory=set)

    @property
    def llm_engine(self) -> Any:
        config = SimpleNamespace(model_config=SimpleNamespace(max_model_len=LENGTH), cache_config=SimpleNamespace(block_size=BLOCK))
        return SimpleNamespace(vllm_config=config)

    def generate(self, prompts: list[dict[str, Any]], params: list[Any], *, use_tqdm: bool) -> list[Any]:
        assert not use_tqdm
        if self.broken:
            raise RuntimeError(self.broken)
        self.calls.append(len(prompts))
        self.seen += params
        return [self.one(prompt, param) for prompt, param in zip(prompts, params, strict=True)]

    def one(self, prompt: dict[str, Any], params: Any) -> Any:
        tokens, salt = tuple(prompt["prompt_token_ids"]), prompt.get("cache_salt", "")
        assert len(tokens) < LENGTH
        cached = 0
        ends = range(BLOCK, len(tokens) + 1, BLOCK)
        for end in ends:
            if (salt, tokens[:end]) not in self.kept or end >= len(tokens) or getattr(params, "skip_reading_prefix_cache", False):
                break
            cached = end
        self.kept.update((salt, tokens[:end]) for end in ends)
        self.computed += len(tokens) - cached
        known: list[Any] = [None] if self.keeps_places else []
        for place in range(1, len(tokens)):
            if place > cached:
                known.append({tokens[place]: SimpleNamespace(logprob=logprob(tokens[: place + 1]))})
            elif self.keeps_places:
                known.append({tokens[place]: SimpleNamespace(logprob=GARBAGE)})
        text = SimpleNamespace(text="so it is", token_ids=[1, 2, 3], finish_reason="length" if params.max_tokens == 3 else "stop")
        return SimpleNamespace(prompt_logprobs=known, num_cached_tokens=cached, outputs=[text])


@pytest.fixture
def llm(monkeypatch: pytest.MonkeyPatch) -> FakeLLM:
    fake = FakeLLM()
    module: Any = ModuleType("vllm")
    module.SamplingParams = SimpleNamespace
    monkeypatch.setitem(sys.modules, "vllm", module)
    monkeypatch.setattr(VllmEngine, "_load", lambda self: fake)
    # The engine sets variables for vLLM; they are this test's only.
    monkeypatch.setattr(vllm_engine, "engine_environment", lambda *_, **__: {})
    monkeypatch.setenv("VLLM_LOGGING_CONFIG_PATH", "the user's own")
    return fake


def engine(**options: Any) -> VllmEngine:
    return VllmEngine("vllm/m", "m", VllmOptions(**options), Letters, cpu=True, log=Path("unused.log"))


def truth(prompt: str, option: str) -> float:
    tokens = [ord(letter) for letter in prompt + option]
    return sum(logprob(tokens[: place + 1]) for place in range(len(prompt), len(tokens)))


QUESTIONS = [
    (prompt, ("yes", "no", "perhaps", "perhaps not", "yes"))
    for prompt in ("a question", "12345678", "123456789", "one of more than ten letters")
]


@pytest.mark.parametrize("keeps_places", [True, False])
def test_no_score_is_read_from_the_cached_part(llm: FakeLLM, keeps_places: bool) -> None:
    llm.keeps_places = keeps_places
    subject = engine()
    for _ in range(2):
        ready = [subject.prepare(Ask(prompt, options))[0] for prompt, options in QUESTIONS]
        for (prompt, options), found in zip(QUESTIONS, subject.answer(ready), strict=True):
            assert isinstance(found, list)
            assert [one.logprob for one in found] == pytest.approx([truth(prompt, option) for option in options])
            assert [one.tokens for one in found] == [len(option) for option in options]
    assert len(llm.calls) == 2  # all together, and nothing twice


@pytest.mark.parametrize("keeps_places", [True, False])
def test_what_the_cache_spoils_is_scored_again(llm: FakeLLM, monkeypatch: pytest.MonkeyPatch, keeps_places: bool) -> None:
    llm.keeps_places = keeps_places
    monkeypatch.setattr(vllm_engine, "plan_cache", lambda prompt, options, block: CachePlan(0, (0,) * len(options)))
    subject = engine()
    ready = [subject.prepare(Ask(prompt, options))[0] for prompt, options in QUESTIONS]
    for (prompt, options), found in zip(QUESTIONS, subject.answer(ready), strict=True):
        assert isinstance(found, list)
        assert [one.logprob for one in found] == pytest.approx([truth(prompt, option) for option in options])
    assert len(llm.calls) == 2
    assert 0 < llm.calls[1] < llm.calls[0]


def test_the_prompt_is_computed_once(llm: FakeLLM) -> None:
    prompt, options = "x" * 41, ("ab", "cd", "ef", "gh")
    subject = engine()
    subject.answer([subject.prepare(Ask(prompt, options))[0]])
    assert llm.computed == 40 + 4 * 3
    llm.computed, subject.reuse = 0, False
    subject.answer([subject.prepare(Ask(prompt, options))[0]])
    assert llm.computed == 4 * 43


def test_a_prompt_is_continued_with_its_settings(llm: FakeLLM) -> None:
    subject = engine(request={"top_p": 0.9, "tool_choice": "required"})
    settings = GenerationSettings(temperature=0.7, max_new_tokens=3, seed=5, options={"top_k": 4})
    (turn,) = subject.answer([subject.prepare(Ask("a question", settings=settings))[0]])
    assert not isinstance(turn, list)
    assert (turn.raw_text, turn.stop, turn.usage.input_tokens, turn.usage.output_tokens) == ("so it is", "length", 10, 3)
    (params,) = llm.seen
    assert (params.temperature, params.seed, params.top_p, params.top_k) == (0.7, 5, 0.9, 4)
    assert not hasattr(params, "tool_choice")
    long = subject.prepare(Ask("x" * (LENGTH - 2), settings=GenerationSettings(max_new_tokens=500)))[0]
    subject.answer([long])
    assert llm.seen[-1].max_tokens == 2


@pytest.mark.parametrize(
    ("ask", "error", "said"),
    [
        (Ask("x" * 60, ("four",)), ContextOverflowError, "the prompt with its longest option has 64 tokens, the context 64; nothing was cut"),
        (Ask("x" * 64, settings=GenerationSettings()), ContextOverflowError, "the prompt has 64 tokens"),
        (Ask("x", ("a", "")), ProviderError, "an option is empty"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_it_is_submitted(llm: FakeLLM, ask: Ask, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        engine().prepare(ask)
    assert llm.calls == []


def test_a_failing_engine_is_a_failing_provider(llm: FakeLLM) -> None:
    subject = engine()
    ready = subject.prepare(Ask("x", ("a",)))[0]
    llm.broken = "out of memory\nmore words"
    with pytest.raises(ProviderError, match=r"vllm/m: vLLM failed: RuntimeError: out of memory \(log: unused.log\)"):
        subject.answer([ready])


def test_a_start_that_failed_is_not_tried_again(llm: FakeLLM, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def load(self: VllmEngine) -> Any:
        tries.append(1)
        raise ValueError("no cache blocks\nTry this")

    monkeypatch.setattr(VllmEngine, "_load", load)
    subject = engine()
    for _ in range(2):
        with pytest.raises(PrerequisiteError, match="vLLM does not start: ValueError: no cache blocks"):
            subject.prepare(Ask("x", ("a",)))
    assert tries == [1]


async def test_questions_that_wait_are_submitted_together_and_come_back_steadily(llm: FakeLLM) -> None:
    subject = engine()
    worker: Worker[Ask, Ready, Any] = Worker(subject.prepare, subject.answer, batch_size=4, budget=sys.maxsize)
    found = await asyncio.gather(*(worker.ask(Ask(f"question {number:02}", ("yes", "no"))) for number in range(12)))
    await worker.aclose()
    assert all(math.isfinite(one.logprob) for scores in found for one in scores)
    assert sum(llm.calls) == 12 * 3
    assert max(llm.calls) <= 4 * 3


def request(model: str, **fields: Any) -> ModelRequest:
    return ModelRequest(f"vllm/{model}", model, environ={}, **fields)


def test_opening_names_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm_model, "require_vllm", lambda name: None)
    monkeypatch.setattr(vllm_model, "is_cpu_build", lambda: True)
    for file, said in (("config.json", "holds no config.json"), ("tokenizer.json", "holds no tokenizer")):
        with pytest.raises(PrerequisiteError, match=said):
            open_vllm(request(str(tmp_path)))
        (tmp_path / file).write_text("{}")
    assert open_vllm(request(str(tmp_path))).name == f"vllm/{tmp_path}"
    with pytest.raises(PrerequisiteError, match="asks for a GPU"):
        open_vllm(request(str(tmp_path), options={"tensor_parallel_size": "2"}))


def test_a_replay_needs_neither_vllm_nor_the_model() -> None:
    assert open_vllm(request("no/such/dir", replay=True)).name == "vllm/no/such/dir"


def test_tools_are_shown_to_models_whose_template_forgets_them() -> None:
    forgetful = "{% for message in messages %}<|im_start|>{{ message['role'] }}{% endfor %}"
    shown = tool_template(forgetful, "hermes")
    assert shown is not None
    assert "tools" in shown.read_text(encoding="utf-8")
    assert tool_template(forgetful, "llama3_json") is None
    assert tool_template(forgetful + "{{ tools }}", "hermes") is None
    assert tool_template("{{ messages }}", "hermes") is None
    assert tool_template("", "hermes") is None


def test_python_keeps_its_random_numbers_and_the_dead_lose_their_logs(llm: FakeLLM, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def load(self: VllmEngine) -> Any:
        random.seed(0)
        return llm

    monkeypatch.delenv("VLLM_LOGGING_CONFIG_PATH")  # restored by monkeypatch, whatever is set here
    monkeypatch.setattr(VllmEngine, "_load", load)
    mine = f"engine-{os.getpid()}.log"
    for name in (mine, "engine-999999999.log", "engine-999999999.json", "server-m-1.log"):
        (tmp_path / name).write_text("said")
    subject = VllmEngine("vllm/m", "m", VllmOptions(), Letters, cpu=True, log=tmp_path / mine)
    state = random.getstate()
    subject.start()
    assert random.getstate() == state
    config = Path(os.environ["VLLM_LOGGING_CONFIG_PATH"])
    assert json.loads(config.read_text())["handlers"]["file"]["filename"] == str(tmp_path / mine)
    assert {path.name for path in tmp_path.iterdir()} == {mine, config.name, "server-m-1.log"}
