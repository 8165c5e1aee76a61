"""vLLM itself: TALM_SIM_TEST_MODEL names a model directory, and the environment holds vLLM (scripts/local_vllm.sh).

One engine serves all these tests: it takes half a minute to start.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import pytest
from langchain_core.messages import HumanMessage

from talm_sim.errors import ContextOverflowError, PrerequisiteError, ProviderError
from talm_sim.models.base import Continuation, GenerationSettings
from talm_sim.models.constrained import ConstrainedModel
from talm_sim.models.local import prompting, vllm_jobs
from talm_sim.models.local.model import LocalModel, _SchemaChat
from talm_sim.models.local.prompting import Rendering
from talm_sim.models.local.vllm_jobs import CachePlan
from talm_sim.models.local.vllm_model import VllmModel
from talm_sim.models.registry import open_model
from talm_sim.types import ModelTurn, Precision, ToolSpec

DIRECTORY = os.environ.get("TALM_SIM_TEST_MODEL", "")
OPTIONS = {"kv_gib": "1", "max_model_len": "2048", "max_num_seqs": "32"}
HERMES = Path(prompting.__file__).with_name("hermes_tools.jinja")
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


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmModel]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        opened = open_model(f"vllm/{DIRECTORY}", options=OPTIONS)
        assert isinstance(opened, VllmModel)
        yield opened
        asyncio.run(opened.aclose())


def questions(model: VllmModel) -> list[tuple[str, tuple[str, ...]]]:
    """Prompts whose ends fall on every place of a cache block, with options that begin alike for longer than a block."""
    shared = " It lies at" + " about" * 40
    options = (" I do not know.", " Sixteen", shared + " ten metres.", shared + " twelve.")
    found = [(FIRST * 2 + "and so on " * extra + "Answer:", options) for extra in (0, 5, 11)]
    text = FIRST * 3
    while len(model.tokenizer.encode(text)) % 32:
        text += " yes"
    return [*found, (text, options)]


def apart(one: list[list[Continuation]], other: list[list[Continuation]]) -> float:
    return max(abs(a.logprob - b.logprob) for first, second in zip(one, other, strict=True) for a, b in zip(first, second, strict=True))


def test_options_score_alike_with_and_without_the_cache_while_text_is_written(model: VllmModel, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = questions(model)
    spoiled: list[bool] = []
    real = vllm_jobs._is_spoiled

    def is_spoiled(output: Any, prompt: int, option: Sequence[int]) -> bool:
        spoiled.append(real(output, prompt, option))
        return spoiled[-1]

    monkeypatch.setattr(vllm_jobs, "_is_spoiled", is_spoiled)

    def no_plan(prompt: int, options: Sequence[Sequence[int]], block: int) -> CachePlan:
        return CachePlan(0, (0,) * len(options))

    async def score(*, reuse: bool) -> list[list[Continuation]]:
        model.reuse = reuse
        return await asyncio.gather(*(model.score(prompt, options) for prompt, options in asked))

    async def all_of_it() -> None:
        plain = await score(reuse=False)
        writing = asyncio.create_task(model.complete("Once upon a time", GenerationSettings(max_new_tokens=150, seed=1)))
        assert apart(plain, await score(reuse=True)) < 1e-4
        assert apart(plain, await score(reuse=True)) < 1e-4
        assert apart(plain[:1], [await model.score(*asked[0])]) < 1e-4
        writing.cancel()
        assert not any(spoiled)
        # What a wrong plan would spoil is seen, and scored again.
        monkeypatch.setattr(vllm_jobs, "plan_cache", no_plan)
        assert apart(plain, await score(reuse=True)) < 1e-4
        assert any(spoiled)

    asyncio.run(all_of_it())
    assert model.precision == Precision(dtype="float32", batch_size=32, attention="vllm")


def test_who_asks_for_little_does_not_wait_for_who_asks_for_much(model: VllmModel) -> None:
    ended: list[str] = []

    async def note(name: str, asked: object) -> object:
        found = await asked  # type: ignore[misc]
        ended.append(name)
        return found

    async def all_of_it() -> None:
        long = asyncio.create_task(
            note("long", model.complete("Count: 1, 2, 3,", GenerationSettings(temperature=0.0, max_new_tokens=120, options={"min_p": 0.0})))
        )
        await asyncio.sleep(1)
        await asyncio.gather(
            note("short", model.complete("Say", GenerationSettings(temperature=0.0, max_new_tokens=3))),
            note("score", model.score("Say", (" yes", " no"))),
        )
        assert "long" not in ended
        await long

    asyncio.run(all_of_it())
    assert ended[-1] == "long"


def test_who_gives_up_frees_the_engine(model: VllmModel) -> None:
    engine = model._engine

    async def all_of_it() -> None:
        long = asyncio.create_task(model.complete("Once upon a time", GenerationSettings(temperature=0.0, max_new_tokens=1500)))
        await asyncio.sleep(1)
        long.cancel()
        with pytest.raises(asyncio.CancelledError):
            await long
        await model.score("Say", (" yes", " no"))

    asyncio.run(all_of_it())
    assert engine._llm.get_num_unfinished_requests() == 0


def test_a_seed_gives_the_same_text_whoever_shares_the_step(model: VllmModel) -> None:
    settings = GenerationSettings(temperature=1.0, max_new_tokens=12, seed=3)
    prompt = model.render_chat([{"role": "user", "content": "Say hello."}], ())

    async def turns() -> list[ModelTurn]:
        alone = await model.complete(prompt, settings)
        return [alone, *await asyncio.gather(*(model.complete(prompt, settings) for _ in range(3)))]

    found = asyncio.run(turns())
    assert len({turn.raw_text for turn in found}) == 1
    assert found[0].raw_text
    assert found[0].usage.input_tokens > 5
    assert 0 < found[0].usage.output_tokens <= 12


def test_sampling_is_what_was_asked_for(model: VllmModel) -> None:
    async def texts(**options: float) -> list[str]:
        settings = [GenerationSettings(temperature=1.0, max_new_tokens=20, seed=seed, options=options) for seed in range(4)]
        return [turn.raw_text for turn in await asyncio.gather(*(model.complete("Once upon", one) for one in settings))]

    assert len(set(asyncio.run(texts()))) > 1
    assert len(set(asyncio.run(texts(top_p=0.001)))) == 1
    for wrong, said in (({"top_p": 7.0}, "refuses the sampling.*top_p"), ({"top_q": 1.0}, "cannot sample with 'top_q'")):
        with pytest.raises(ProviderError, match=said):
            asyncio.run(texts(**wrong))


def test_what_does_not_fit_is_refused_before_it_is_submitted(model: VllmModel) -> None:
    for asked in (model.score("word " * 2048, [" a"]), model.complete("word " * 2048, GenerationSettings())):
        with pytest.raises(ContextOverflowError, match="nothing was cut"):
            asyncio.run(asked)


def test_a_constrained_turn_is_one_action_as_from_transformers(model: VllmModel) -> None:
    settings = GenerationSettings(temperature=0.0, max_new_tokens=120)
    asked = [HumanMessage(f"How high does {code} lie?") for code in ("HAN", "SGN", "DAD")]

    async def turns(of: ConstrainedModel | LocalModel) -> list[ModelTurn]:
        return list(await asyncio.gather(*(of.generate([one], (TOOL,), settings) for one in asked)))

    found = asyncio.run(turns(ConstrainedModel(_SchemaChat(model))))
    for turn in found:
        assert bool(turn.text) is not bool(turn.tool_calls)
        assert turn.unparsable_calls == ()
    other = cast("LocalModel", open_model(f"hf/{DIRECTORY}", constrained=True))
    assert [turn.raw_text for turn in asyncio.run(turns(other))] == [turn.raw_text for turn in found]
    asyncio.run(other.aclose())


def test_a_native_turn_needs_a_template_that_shows_the_tools(model: VllmModel, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = GenerationSettings(temperature=0.0, max_new_tokens=40)
    with pytest.raises(PrerequisiteError, match=r"shows the model no tool 'get_airport'; use --tool-format constrained"):
        asyncio.run(model.generate([HumanMessage("How high does HAN lie?")], (TOOL,), settings))
    monkeypatch.setattr(model, "_rendering", Rendering(template=HERMES.read_text(encoding="utf-8")))
    turn = asyncio.run(model.generate([HumanMessage("How high does HAN lie?")], (TOOL,), settings))
    assert turn.raw_text
    assert turn.usage.input_tokens > 60
