"""Adapt TRL's trainers: rows come as tokens, checkpoints are whole or absent, and nobody is told of it over the network.

This module imports torch and TRL; import it only when a training starts.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig
from torch.nn.functional import logsigmoid
from transformers import PrinterCallback, TrainerCallback
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

from talm_sim.errors import PrerequisiteError
from talm_sim.training.folder import WHOLE
from talm_sim.training.recipe import Method, Recipe
from talm_sim.training.token_rows import Example


class _Quiet:
    """What the trainers do differently here, whichever they are."""

    args: Any
    state: Any

    def _send_telemetry(self) -> None:
        """Send nothing."""

    def create_model_card(self, *args: Any, **kwargs: Any) -> None:
        """Write no card: what was trained is in training.json."""

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        super()._save_checkpoint(model, trial)  # type: ignore[misc]
        folder = Path(self.args.output_dir) / f"checkpoint-{self.state.global_step}"
        (folder / WHOLE).touch()


class _Sft(_Quiet, SFTTrainer):  # type: ignore[misc]
    """Supervised training on the answers."""


class _Dpo(_Quiet, DPOTrainer):  # type: ignore[misc]
    """Direct preference optimization; the reference is the base, with the adapter off."""

    def _prepare_dataset(self, dataset: Any, *_: Any) -> Any:
        return dataset  # the rows are tokens already


class _Rpo(_Dpo):
    """Reward-aware preference optimization."""

    scale = 1.0

    def _compute_loss(self, model: Any, inputs: dict[str, Any], return_outputs: bool) -> Any:
        read = {key: value for key, value in inputs.items() if key != "completion_mask"}
        labels = inputs["input_ids"].masked_fill(inputs["completion_mask"] == 0, -100)
        now = model(**read, labels=labels, use_cache=False, fused_lm_head=True).log_probs.sum(dim=1).chunk(2)
        before = self.compute_ref_log_probs(model, inputs)
        chosen, rejected = (one - other for one, other in zip(now, before, strict=True))
        return rpo_loss(chosen, rejected, self.beta, self.scale)


def rpo_loss(chosen: Any, rejected: Any, beta: float, scale: float) -> Any:
    """Return the mean over pairs of how far the model's preference is from that of the rewards, as a divergence (`rpo_bwd_kl`).

    Args:
        chosen: How much likelier the chosen answers are for the model than when this stage began, as differences of log-probabilities.
        rejected: The same of the rejected answers.
        beta: Weight of these differences.
        scale: Weight of the difference of the rewards, which is 1.
    """
    wanted, found = chosen.new_tensor(scale), beta * (chosen - rejected)
    # log a, log (1 - a), log b and log (1 - b), none of which overflows.
    return sum(logsigmoid(sign * wanted).exp() * (logsigmoid(sign * wanted) - logsigmoid(sign * found)) for sign in (1, -1)).mean()


class _Progress(TrainerCallback):  # type: ignore[misc]
    """Reports each step, and has a checkpoint written when the last one is old enough."""

    def __init__(self, report: Callable[[int, int, float | None], None], seconds: float) -> None:
        self._report, self._seconds = report, seconds
        self._saved = time.monotonic()

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Say where the training starts or continues."""
        self._report(state.global_step, state.max_steps, None)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Report a finished step with its loss, before a checkpoint is written."""
        if not logs or "loss" not in logs:
            return
        if not isfinite(logs["loss"]) or not isfinite(logs["grad_norm"]):
            raise PrerequisiteError(f"step {state.global_step}: the loss is not a finite number any more; lower --learning-rate.")
        self._report(state.global_step, state.max_steps, float(logs["loss"]))

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Ask for a checkpoint if it is time; the result itself is saved at the end."""
        if time.monotonic() - self._saved >= self._seconds and state.global_step < state.max_steps:
            control.should_save = True

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Count from when a checkpoint is there."""
        self._saved = time.monotonic()


def make_trainer(
    method: Method,
    recipe: Recipe,
    model: Any,
    tokenizer: Any,
    examples: Sequence[Example],
    folder: Path,
    *,
    together: int,
    report: Callable[[int, int, float | None], None] = lambda *_: None,
    checkpoint_s: float = 300.0,
    most_steps: int = -1,
) -> Any:
    """Make the trainer of a new adapter."""
    from datasets import Dataset

    _silence_old_names()
    arguments = _arguments(recipe, folder, together, most_steps)
    config: Any = SFTConfig(**arguments) if method == "sft" else DPOConfig(**arguments, beta=recipe.beta)
    if config.n_gpu > 1:
        config._n_gpu = 1  # one process trains on one GPU
    lora = LoraConfig(r=recipe.rank, lora_alpha=recipe.alpha, lora_dropout=recipe.dropout, target_modules="all-linear", task_type="CAUSAL_LM")
    kind: Any = {"sft": _Sft, "dpo": _Dpo, "rpo": _Rpo}[method]
    trainer = kind(
        model=model,
        args=config,
        train_dataset=Dataset.from_list([one.fields() for one in examples]),
        processing_class=tokenizer,
        peft_config=lora,
        callbacks=[_Progress(report, checkpoint_s)],
    )
    trainer.remove_callback(PrinterCallback)
    if method == "rpo":
        trainer.scale = recipe.scale
    return trainer


def _silence_old_names() -> None:
    """Print no warnings of old names: TRL uses them itself, and the new ones are unknown to older versions of transformers."""
    warnings.filterwarnings("ignore", r"`\w*gradient_checkpointing\w*` is deprecated", FutureWarning)


def _arguments(recipe: Recipe, folder: Path, together: int, most_steps: int) -> dict[str, Any]:
    """Return the arguments of TRL's configurations; its own defaults cut rows, compute in bfloat16 and report to services."""
    return {
        "output_dir": str(folder),
        "num_train_epochs": recipe.epochs,
        "max_steps": most_steps,
        "learning_rate": recipe.learning_rate,
        "lr_scheduler_type": "constant_with_warmup" if recipe.schedule == "constant" else recipe.schedule,
        "warmup_steps": recipe.warmup_steps,
        "per_device_train_batch_size": together,
        "gradient_accumulation_steps": recipe.batch // together,
        "max_length": None,  # measured before
        "seed": recipe.seed,
        "bf16": recipe.dtype == "bfloat16",
        "use_cpu": not torch.cuda.is_available(),
        "gradient_checkpointing": False,
        "optim": "adamw_torch",
        "report_to": "none",
        "logging_steps": 1,
        "disable_tqdm": True,
        "save_strategy": "no",  # `_Progress` asks for checkpoints
        "save_total_limit": 2,  # the last one may be half-written
        "dataloader_pin_memory": torch.cuda.is_available(),
    }
