"""A window in a configuration that the model's layers ignore: prompts beyond it score, and are continued, as by full passes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from talm_sim.models.base import GenerationSettings
from talm_sim.models.local.hf import HFModel
from talm_sim.models.local.scoring import encode_question, encode_text
from talm_sim.models.registry import open_model
from tests.models.local.architectures import ARCHITECTURES, Architecture, write_model

pytestmark = [pytest.mark.local, pytest.mark.filterwarnings("default")]
torch = pytest.importorskip("torch", reason="torch is not installed (the extra local)")
pytest.importorskip("transformers", reason="transformers is not installed (the extra local)")

NEAR = 1e-3
WINDOW = 8
STRAYS: dict[str, dict[str, Any]] = {
    "none": {},
    "window": {"sliding_window": WINDOW},
    "chunk": {"attention_chunk_size": WINDOW},
    "layers": {"sliding_window": WINDOW, "layer_types": ["sliding_attention", "full_attention"]},
}
KINDS = ("llama", "granite", "olmo2", "glm4", "gemma", "deepseek_v3")
PROMPT = "What is the time in the city of Hanoi, and how far is it from here, would you say?"
OPTIONS = (" yes", " Which one of them?", "n")


def _model(kind: str) -> Architecture:
    return next(one for one in ARCHITECTURES if one.name == kind)


def _open(directory: Path, batch_size: int = 1) -> HFModel:
    opened = open_model(f"hf/{directory}", options={"device": "cpu", "dtype": "float32", "threads": "1", "batch_size": str(batch_size)})
    assert isinstance(opened, HFModel)
    return opened


def _add(directory: Path, keys: dict[str, Any]) -> None:
    config = directory / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text(encoding="utf-8")), **keys}), encoding="utf-8")


def _logits(model: Any, tokens: list[int]) -> Any:
    with torch.inference_mode():
        return model(input_ids=torch.tensor([tokens]), use_cache=False).logits[0]


@pytest.mark.parametrize("stray", STRAYS)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_window_that_the_layers_ignore_changes_nothing(kind: str, stray: str, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    write_model(tmp_path, _model(kind))
    truth = AutoModelForCausalLM.from_pretrained(tmp_path, attn_implementation="eager", dtype=torch.float32).eval()
    _add(tmp_path, STRAYS[stray])
    alone, together = _open(tmp_path), _open(tmp_path, batch_size=2)
    question = encode_question(alone._engine.tokenizer, PROMPT, OPTIONS, max_length=None, name="m")
    assert len(question.prompt) > 4 * WINDOW
    expected = []
    for option in question.options:
        known = _logits(truth, [*question.prompt, *option[:-1]])[-len(option) :].double().log_softmax(-1)
        expected.append(float(known.gather(-1, torch.tensor(option)[:, None]).sum()))
    first = await alone.score(PROMPT, OPTIONS)
    again = await alone.score(PROMPT, OPTIONS)  # goes on from what the first one left in the cache
    batched, _ = await asyncio.gather(together.score(PROMPT, OPTIONS), together.score(f"{PROMPT} Say it.", OPTIONS))
    for scores in (first, again, batched):
        assert [score.logprob for score in scores] == pytest.approx(expected, abs=NEAR, rel=0)
    written = await alone.write(PROMPT, GenerationSettings(temperature=0, max_new_tokens=8))
    told = encode_text(alone._engine.tokenizer, PROMPT)
    for token in written.tokens:
        logits = _logits(truth, told)[-1]
        assert float(logits.max() - logits[token]) <= NEAR
        told.append(token)
    await asyncio.gather(alone.aclose(), together.aclose())
