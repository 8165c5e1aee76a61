"""The rows in `datasets` and in TRL's trainers: one real training step each, on a model too small to know anything."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from talm_sim.tasks.when2call.training.lessons import ChoiceLessons, published_row
from talm_sim.tasks.when2call.training.sets import build_set
from talm_sim.training.lessons.training_examples import Kind
from talm_sim.training.lessons.writing import write_rows
from tests.tasks.when2call.choices import mixture

pytestmark = [pytest.mark.local, pytest.mark.timeout(600), pytest.mark.filterwarnings("default")]


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # read when the libraries are imported
    for package in ("torch", "trl", "datasets"):
        pytest.importorskip(package, reason=f"needs {package}: pip install torch trl datasets")
    import datasets
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)  # where another test imported them before
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setenv("WANDB_DISABLED", "true")


@pytest.fixture(params=["random", pytest.param("real", marks=pytest.mark.slow)])
def real(request: pytest.FixtureRequest) -> str:
    """Directory of a real model; empty for random weights over bytes."""
    if request.param == "random":
        return ""
    folder = os.environ.get("TALM_SIM_TEST_MODEL", "")
    if not folder:
        pytest.skip("TALM_SIM_TEST_MODEL names no model directory")
    return folder


def _model(directory: Path, real: str) -> tuple[Any, Any]:
    """Model and tokenizer."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    torch.manual_seed(0)
    if real:
        tokenizer = AutoTokenizer.from_pretrained(real)
        model = AutoModelForCausalLM.from_pretrained(real, dtype=torch.float32)
    else:
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers

        letters = {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
        bytewise = Tokenizer(models.BPE(vocab=letters | {"<eos>": len(letters)}, merges=[]))
        bytewise.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        bytewise.decoder = decoders.ByteLevel()
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=bytewise, eos_token="<eos>", pad_token="<eos>")
        config = LlamaConfig(
            vocab_size=len(letters) + 1,
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            max_position_embeddings=4096,
            eos_token_id=len(letters),
            pad_token_id=len(letters),
        )
        LlamaForCausalLM(config).save_pretrained(directory / "model")
        model = LlamaForCausalLM.from_pretrained(directory / "model")  # from a folder: the DPO trainer reads its reference there
    return model, tokenizer


def _rows(kind: Kind, form: str) -> list[dict[str, Any]]:
    made = build_set(mixture(), kind, seed=1)
    if form == "when2call":
        return [published_row(one) for one in made.examples]
    return write_rows(made, ChoiceLessons().writer(None, "auto")).rows


def _dataset(directory: Path, kind: Kind, form: str) -> Any:
    from datasets import load_dataset

    rows = _rows(kind, form)
    file = directory / f"{kind}.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    loaded = load_dataset("json", data_files=str(file), split="train", cache_dir=str(directory / "cache"))
    assert loaded.to_list() == rows
    return loaded


def _settings(directory: Path, real: str) -> dict[str, Any]:
    return {
        "output_dir": str(directory / "out"),
        "max_steps": 1,
        "per_device_train_batch_size": 2,
        "max_length": 512 if real else 1536,  # bytes are shorter than tokens
        "learning_rate": 1e-3,
        "report_to": [],
        "save_strategy": "no",
        "use_cpu": True,
        "bf16": False,
        "logging_steps": 1,
        "disable_tqdm": True,
    }


def _trained(trainer: Any) -> float:
    """Loss of the one step; the weights must have moved."""
    before = [weight.detach().clone() for weight in trainer.model.parameters()]
    result = trainer.train()
    assert result.global_step == 1
    assert any(not old.equal(new.detach()) for old, new in zip(before, trainer.model.parameters(), strict=True))
    return float(result.training_loss)


def test_sft_trainer_takes_a_step(tmp_path: Path, real: str) -> None:
    from trl import SFTConfig, SFTTrainer

    model, tokenizer = _model(tmp_path, real)
    rows = _dataset(tmp_path, "sft", "trl")
    trainer = SFTTrainer(model=model, args=SFTConfig(**_settings(tmp_path, real)), train_dataset=rows, processing_class=tokenizer)
    seen = [tokenizer.decode(row["input_ids"]) for row in trainer.train_dataset]
    assert seen == [f"{row['prompt']}{row['completion']}{tokenizer.eos_token}" for row in rows]
    assert 0 < _trained(trainer) < 20


def test_dpo_trainer_takes_a_step(tmp_path: Path, real: str) -> None:
    from trl import DPOConfig, DPOTrainer

    model, tokenizer = _model(tmp_path, real)
    rows = _dataset(tmp_path, "preference", "trl")
    trainer = DPOTrainer(model=model, args=DPOConfig(**_settings(tmp_path, real)), train_dataset=rows, processing_class=tokenizer)
    first = trainer.train_dataset[0]
    chosen, rejected = (tokenizer.decode(first[key]) for key in ("chosen_ids", "rejected_ids"))
    assert (chosen, rejected) == tuple(f"{rows[0][key]}{tokenizer.eos_token}" for key in ("chosen", "rejected"))
    assert _trained(trainer) == pytest.approx(0.6931, abs=0.01)  # ln 2: before the first step both models are the same
