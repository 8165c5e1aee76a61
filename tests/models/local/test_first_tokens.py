"""The likeliest first tokens of `hf/`: what the model itself says, whatever it is sampled by."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from talm_sim.errors import ProviderError
from talm_sim.models.base import GenerationSettings
from talm_sim.models.local.hf import HFModel
from talm_sim.models.local.scoring import encode_text
from talm_sim.models.registry import open_model
from talm_sim.types import ModelTurn
from tests.models.local.tiny import make_tiny

pytestmark = [pytest.mark.local, pytest.mark.filterwarnings("default")]
torch = pytest.importorskip("torch", reason="torch is not installed (the extra local)")
pytest.importorskip("transformers", reason="transformers is not installed (the extra local)")

PROMPT = "Can it be done? "


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
async def model(tiny: Path) -> AsyncIterator[HFModel]:
    opened = _open(tiny)
    yield opened
    await opened.aclose()


def _open(directory: Path, *, constrained: bool = False, **options: str) -> HFModel:
    opened = open_model(f"hf/{directory}", options={"device": "cpu", "threads": "1", **options}, constrained=constrained)
    assert isinstance(opened, HFModel)
    return opened


def _full_pass(model: HFModel, prompt: str, most: int) -> tuple[list[str], list[float]]:
    engine = model._engine
    with torch.inference_mode():
        logits = engine.model(torch.tensor([encode_text(engine.tokenizer, prompt)])).logits[0, -1]
    logprobs, tokens = logits.float().log_softmax(-1).topk(most)
    return [engine.tokenizer.decode([token]) for token in tokens.tolist()], logprobs.tolist()


async def _turn(model: HFModel, prompt: str = PROMPT, **settings: Any) -> ModelTurn:
    return await model.complete(prompt, GenerationSettings(**{"temperature": 0.0, "max_new_tokens": 5, "alternatives": 20, **settings}))


@pytest.mark.parametrize("most", [1, 5, 20])
async def test_they_are_those_of_a_full_pass(most: int, model: HFModel) -> None:
    turn = await _turn(model, alternatives=most)
    tokens, logprobs = _full_pass(model, PROMPT, most)
    assert [one.token for one in turn.first_tokens] == tokens
    assert [one.logprob for one in turn.first_tokens] == pytest.approx(logprobs, abs=1e-6)
    assert turn.raw_text.startswith(tokens[0])
    assert ModelTurn.model_validate_json(turn.model_dump_json()) == turn


async def test_no_sampling_option_changes_them(model: HFModel) -> None:
    expected = (await _turn(model)).first_tokens
    assert len(expected) == 20
    plain = {"temperature": 1.7, "seed": 3}
    for options in ({}, {"top_p": 0.1}, {"top_k": 2}, {"min_p": 0.9}, {"repetition_penalty": 5.0}):
        assert (await _turn(model, options=options, **plain)).first_tokens == expected
    assert (await _turn(model, options={"repetition_penalty": 5.0})).first_tokens == expected


async def test_the_rest_of_the_turn_does_not_depend_on_them(model: HFModel) -> None:
    for settings in ({}, {"temperature": 1.0, "seed": 3}):
        asked, not_asked = await _turn(model, **settings), await _turn(model, alternatives=0, **settings)
        assert asked.model_copy(update={"first_tokens": ()}) == not_asked
    assert not model._engine.model._forward_hooks


async def test_more_than_the_vocabulary_are_all_of_it(model: HFModel) -> None:
    assert len((await _turn(model, alternatives=10_000)).first_tokens) == model._vocabulary


async def test_agents_get_them_and_constrained_actions_do_not(tiny: Path, model: HFModel) -> None:
    settings = GenerationSettings(temperature=0.0, max_new_tokens=5, alternatives=20)
    messages = [HumanMessage("Can it?")]
    turn = await model.generate(messages, (), settings)
    prompt = model._engine.tokenizer.apply_chat_template([{"role": "user", "content": "Can it?"}], tokenize=False, add_generation_prompt=True)
    assert [one.token for one in turn.first_tokens] == _full_pass(model, prompt, 20)[0]
    acting = _open(tiny, constrained=True)
    assert (await acting.generate(messages, (), settings)).first_tokens == ()
    await acting.aclose()


async def test_an_overflow_is_no_distribution(model: HFModel, monkeypatch: pytest.MonkeyPatch) -> None:
    real = model._engine.model.forward

    def forward(*args: Any, **kwargs: Any) -> Any:
        output = real(*args, **kwargs)
        output.logits[0, -1, 7] = float("inf")
        return output

    monkeypatch.setattr(model._engine.model, "forward", forward)
    with pytest.raises(ProviderError, match=r"are not numbers; its dtype overflows: use -M dtype=float32\.$"):
        await _turn(model)
