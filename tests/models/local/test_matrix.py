"""Every architecture right or refused: scores and greedy text of tiny random models against full passes without a cache, in float32, eager."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import GenerationSettings
from talm_sim.models.local.hf import HFModel
from talm_sim.models.local.score_reading import TESTED, reading_of
from talm_sim.models.local.scoring import ScoringQuestion, encode_question, encode_text
from talm_sim.models.registry import open_model
from tests.models.local.architectures import ARCHITECTURES, REFUSED, Architecture, write_model

pytestmark = [pytest.mark.local, pytest.mark.filterwarnings("default")]
torch = pytest.importorskip("torch", reason="torch is not installed (the extra local)")
pytest.importorskip("transformers", reason="transformers is not installed (the extra local)")

NEAR, SEEN = 1e-3, 0.1
OPTIONS = (" yes", ' {"name": "f"}', " Which one of them?", "n")
PROMPTS = (
    "There are tools: one, two, and three. Which?",
    "There are tools: one, two, and four",
    "",
    "What is the time in the city of Hanoi, and how far is it from here, would you say?",
    "x ",
    "Why? " * 5,
    "Near the seam of long rope.",
)


@dataclass(frozen=True)
class Case:
    """An architecture, written to a directory, with the model that tells the truth about it."""

    architecture: Architecture
    directory: Path
    model: Any

    def open(self, batch_size: int) -> HFModel:
        options = {"device": "cpu", "dtype": "float32", "threads": "1", "batch_size": str(batch_size)}
        opened = open_model(f"hf/{self.directory}", options=options)
        assert isinstance(opened, HFModel)
        return opened

    def logits(self, tokens: Sequence[int], **more: Any) -> Any:
        """Logits (tokens, vocabulary) of one full pass."""
        known = inspect.signature(self.model.forward).parameters
        with torch.inference_mode():
            return self.model(input_ids=torch.tensor([tokens]), **({"use_cache": False} if "use_cache" in known else {}), **more).logits[0]

    def score(self, prompt: Sequence[int], option: Sequence[int], **more: Any) -> float:
        return _sum(self.logits([*prompt, *option[:-1]], **more), option)


def _sum(logits: Any, option: Sequence[int]) -> float:
    known = logits[-len(option) :].double().log_softmax(-1)
    return float(known.gather(-1, torch.tensor(option)[:, None]).sum())


@pytest.fixture(scope="module", params=ARCHITECTURES, ids=lambda architecture: architecture.name)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    from transformers import AutoModelForCausalLM

    directory = write_model(tmp_path_factory.mktemp(request.param.name), request.param)
    model = AutoModelForCausalLM.from_pretrained(directory, attn_implementation="eager", dtype=torch.float32).eval()
    yield Case(request.param, directory, model)


ASKED = [(prompt, OPTIONS[: 4 - place % 3]) for place, prompt in enumerate(PROMPTS[:-1])] + [(PROMPTS[-1], (" yes", "n"))]


def _questions(model: HFModel) -> list[ScoringQuestion]:
    return [encode_question(model._engine.tokenizer, *asked, max_length=None, name="m") for asked in ASKED]


async def test_scores_alone_and_in_a_batch_are_those_of_full_passes(case: Case) -> None:
    alone, together = case.open(1), case.open(7)
    expected = [[case.score(one.prompt, option) for option in one.options] for one in _questions(alone)]
    assert reading_of(alone._engine.model).shared is case.architecture.shared
    singles = [await alone.score(*asked) for asked in ASKED]
    batched = await asyncio.gather(*(together.score(*asked) for asked in ASKED))
    await asyncio.gather(alone.aclose(), together.aclose())
    for found in (singles, batched):
        for scores, sums in zip(found, expected, strict=True):
            assert [score.logprob for score in scores] == pytest.approx(sums, abs=NEAR, rel=0)


async def test_each_greedy_token_is_the_likeliest_of_a_full_pass(case: Case) -> None:
    model = case.open(1)
    model._limits = replace(model._limits, ends=frozenset())
    for prompt in ("x", PROMPTS[0][:24]):
        written = await model.write(prompt, GenerationSettings(temperature=0, max_new_tokens=14))
        told = encode_text(model._engine.tokenizer, prompt)
        assert len(written.tokens) == 14
        for token in written.tokens:
            logits = case.logits(told)[-1]
            assert float(logits.max() - logits[token]) <= NEAR
            told.append(token)
    await model.aclose()


def test_a_fault_would_show(case: Case) -> None:
    """Weights are so large that whatever must not happen moves a score by far more than what is let pass."""
    prompt, short = list(range(20, 44)), list(range(20, 24))
    moved = dict.fromkeys(("position", "state", "padding"), 0.0)
    for start in range(60, 78, 6):
        option = list(range(start, start + 6))
        truth = case.score(prompt, option)
        faults = {
            "position": _shifted(case, prompt, option) - truth,
            "state": _forgetful(case, prompt, option) - truth,
            # Of a short prompt: beyond a window nothing is seen anyway.
            "padding": case.score([5, 5, 5, *short], option) - case.score(short, option),
        }
        moved = {name: max(moved[name], abs(faults[name])) for name in faults}
    print(case.architecture.name, {name: round(value, 2) for name, value in moved.items()})
    assert min(moved.values()) > SEEN


def _shifted(case: Case, prompt: list[int], option: list[int]) -> float:
    """The option one position too far away; where a model knows no positions, a token of the prompt lost just before it."""
    places = torch.arange(len(prompt) + len(option) - 1)[None]
    if "position_ids" in inspect.signature(case.model.forward).parameters:
        here = case.score(prompt, option, position_ids=places)
        moved = case.score(prompt, option, position_ids=places + (places >= len(prompt) - 1))
        if here != moved:
            return moved
    return case.score([*prompt[:-2], prompt[-1]], option)


def _forgetful(case: Case, prompt: list[int], option: list[int]) -> float:
    """The layer that matters least of those that look back has forgotten the prompt when the option comes."""
    edge, told = len(prompt) - 1, len(prompt) + len(option) - 1
    truth, moved = case.score(prompt, option), []
    for layer in _layers(case.model):
        forward = layer.forward

        def forgetful(*args: Any, forward: Any = forward, **kwargs: Any) -> Any:
            kwargs |= {"past_key_values": None} if "past_key_values" in kwargs else {}
            parts = [forward(*_cut(args, told, part), **_cut(kwargs, told, part)) for part in (slice(edge), slice(edge, told))]
            first, second = (part[0] if isinstance(part, tuple) else part for part in parts)
            whole = torch.cat([first, second], dim=1)
            return (whole, *parts[1][1:]) if isinstance(parts[1], tuple) else whole

        layer.forward = forgetful
        moved.append(case.score(prompt, option))
        layer.forward = forward
    return min((one for one in moved if abs(one - truth) > NEAR), key=lambda one: abs(one - truth), default=truth)


def _layers(model: Any) -> list[Any]:
    stacks = [(name.count("."), module) for name, module in model.named_modules() if isinstance(module, torch.nn.ModuleList)]
    return list(min(stacks, key=lambda one: one[0])[1])


def _cut(value: Any, length: int, part: slice) -> Any:
    """Of whatever a layer is handed, the part of the text: every dimension that is as long as the text."""
    if isinstance(value, torch.Tensor):
        return value[tuple(part if size == length else slice(None) for size in value.shape)]
    if isinstance(value, tuple):
        return tuple(_cut(one, length, part) for one in value)
    return {name: _cut(one, length, part) for name, one in value.items()} if isinstance(value, dict) else value


def test_every_type_that_shares_a_cache_stands_in_the_matrix() -> None:
    assert {one.kind for one in ARCHITECTURES if one.shared and "text_config" not in one.more} == TESTED


@pytest.mark.parametrize("architecture", REFUSED, ids=lambda one: one.name)
def test_what_is_not_right_is_refused_in_one_line(architecture: Architecture, tmp_path: Path) -> None:
    write_model(tmp_path, architecture)
    with pytest.raises(PrerequisiteError, match=rf"depends on later tokens .* type '{architecture.kind}' are refused") as refused:
        open_model(f"hf/{tmp_path}", options={"device": "cpu"})
    assert "\n" not in str(refused.value)
