"""Adapters for tests, in PEFT's format, with random weights: exactness needs no training."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def make_adapter(
    model: Path,
    folder: Path,
    *,
    layers: Sequence[str] = ("q_proj", "v_proj", "down_proj"),
    rank: int = 4,
    deviation: float = 0.2,
    seed: int = 1,
) -> Path:
    """Write an adapter of a model whose matrices are all drawn, and next to it the merged model, in `merged`.

    Args:
        model: Folder of the model.
        folder: Folder of the adapter; made if absent.
        layers: Names of the layers that it changes.
        rank: Rank of its matrices.
        deviation: Standard deviation of its weights.
        seed: Seed of its weights.

    Returns:
        The folder of the adapter.
    """
    import peft
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    base = AutoModelForCausalLM.from_pretrained(model)
    adapted = peft.get_peft_model(base, peft.LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=list(layers)))
    torch.manual_seed(seed)
    for name, weights in adapted.named_parameters():
        if "lora_" in name:
            torch.nn.init.normal_(weights, std=deviation)
    adapted.save_pretrained(folder)
    adapted.merge_and_unload().save_pretrained(folder / "merged")
    AutoTokenizer.from_pretrained(model).save_pretrained(folder / "merged")
    return folder


def change_settings(folder: Path, **values: Any) -> None:
    """Change settings of an adapter."""
    file = folder / "adapter_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


def change_tensor(folder: Path, name: str, shape: tuple[int, ...] | None, *, value: float = 0.0) -> None:
    """Give a tensor of an adapter another shape, or leave it out; a new name adds a tensor."""
    import torch
    from safetensors.torch import load_file, save_file

    file = folder / "adapter_model.safetensors"
    tensors = load_file(file)
    tensors.pop(name, None)
    save_file({**tensors, **({} if shape is None else {name: torch.full(shape, value)})}, file)
