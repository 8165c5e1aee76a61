"""Train from a file to the adapter: checked first, resumed where a kill left it, and finished completely or not at all."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from talm_sim.errors import PrerequisiteError, pip_install
from talm_sim.models.local.adapters import ADAPTER_CARD, Weights, check_adapter, describe_weights, read_adapter
from talm_sim.models.local.engine import Engine, HFOptions, load_engine
from talm_sim.models.local.folders import find_model
from talm_sim.models.local.prompting import Rendering
from talm_sim.models.local.weights import cached_folder, digest_files, weights_digest
from talm_sim.recordings.shared_files import write_atomically
from talm_sim.training.folder import BASE, CHECKPOINTS, at_work, check_disk, check_place, is_finished, last_checkpoint, temporary
from talm_sim.training.recipe import Method, Recipe
from talm_sim.training.token_rows import Example, encode_rows, read_rows

log = logging.getLogger(__name__)

_TOKENS_TOGETHER = {"cpu": 2048, "cuda": 16_384}
"""Most tokens, padding included, of the rows in one pass; a model of 135M parameters needs about 4 MB for each."""
_PACKAGES = ("torch", "transformers", "trl", "peft")


@dataclass(frozen=True, slots=True)
class Job:
    """The job of a training.

    Attributes:
        out: The folder of the adapter.
        recipe: How it is trained.
        start: An adapter of an earlier stage, merged into the base before this one; None if this is the first.
        chat_template: File of a chat template in place of the model's own.
        threads: CPU threads; None for torch's own choice.
        checkpoint_s: Seconds between checkpoints.
    """

    method: Method
    file: Path
    model: str
    out: Path
    recipe: Recipe
    start: Path | None = None
    chat_template: str | None = None
    threads: int | None = None
    checkpoint_s: float = 300.0


@dataclass(frozen=True, slots=True)
class Step:
    """One finished step; number 0, or the number where a training continues, has no loss."""

    number: int
    total: int
    loss: float | None


@dataclass(frozen=True, slots=True)
class Forecast:
    """The forecast of a training.

    Attributes:
        rows: Rows of the file.
        tokens: Tokens of all passes over them, epochs counted.
        longest: Tokens of the longest text.
        steps: Steps of the optimizer.
        together: Rows in one pass.
        tokens_per_s: Measured on the longest rows.
        memory: Bytes, the peak of this process or of the GPU, measured on the longest rows.
        disk: Bytes that checkpoints and the result need.
    """

    rows: int
    tokens: int
    longest: int
    steps: int
    together: int
    tokens_per_s: float
    memory: int
    disk: int

    @property
    def hours(self) -> float:
        """How long it will take at the measured speed."""
        return self.tokens / self.tokens_per_s / 3600


def train(job: Job, report: Callable[[Step], None]) -> bool:
    """Train an adapter, or continue to; return whether anything was left to do."""
    examples, engine = _prepare(job)
    settings = _settings(job)
    if is_finished(job.out, settings):
        return False
    check_disk(job.out, _disk_needs(job, engine))
    with at_work(job.out):
        from talm_sim.training.trainers import make_trainer

        _write_card(job, settings, "", finished=False)
        if job.start is not None:
            engine = _second_stage(job, engine)
        checkpoints = job.out / CHECKPOINTS
        trainer = make_trainer(
            job.method,
            job.recipe,
            engine.model,
            engine.tokenizer,
            examples,
            checkpoints,
            together=_together(job.recipe, examples, engine.model.device.type),
            report=lambda *step: report(Step(*step)),
            checkpoint_s=job.checkpoint_s,
        )
        trainer.train(resume_from_checkpoint=last_checkpoint(job.out))
        _save_adapter(trainer.model, job.out)
        losses = [{"step": one["step"], "loss": one["loss"]} for one in trainer.state.log_history if "loss" in one]
        write_atomically(job.out / "losses.jsonl", "".join(f"{json.dumps(one)}\n" for one in losses).encode())
        _write_card(job, settings, weights_digest(job.out / BASE) if job.start else settings["model_digest"], finished=True)
        shutil.rmtree(checkpoints, ignore_errors=True)
    return True


def forecast(job: Job) -> Forecast:
    """Measure what a training will take, on its longest rows; nothing is kept."""
    examples, engine = _prepare(job)
    import resource  # not on Windows

    import torch

    from talm_sim.training.trainers import make_trainer

    together, needs = _together(job.recipe, examples, engine.model.device.type), _disk_needs(job, engine)
    tried = sorted(examples, key=lambda one: -one.longest)[:together] * 2
    moments: list[float] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        once = job.recipe.model_copy(update={"batch": together})
        trainer = make_trainer(
            job.method,
            once,
            engine.model,
            engine.tokenizer,
            tried,
            Path(folder),
            together=together,
            report=lambda *_: moments.append(time.monotonic()),
            checkpoint_s=float("inf"),
            most_steps=2,
        )
        trainer.train()
    on_gpu = torch.cuda.is_available()
    peak = torch.cuda.max_memory_allocated() if on_gpu else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Forecast(
        rows=len(examples),
        tokens=sum(one.tokens for one in examples) * job.recipe.epochs,
        longest=max(one.longest for one in examples),
        steps=-(-len(examples) // job.recipe.batch) * job.recipe.epochs,
        together=together,
        tokens_per_s=sum(one.tokens for one in tried) / 2 / (moments[-1] - moments[-2]),
        memory=peak,
        disk=needs,
    )


def _prepare(job: Job) -> tuple[list[Example], Engine]:
    """Check everything that can be checked before a training starts; return its rows and the base."""
    provider, _, name = job.model.partition("/")
    if provider != "hf" or not name:
        raise PrerequisiteError(f"--model {job.model}: only models of this process can be trained; write hf/DIR.")
    check_place(job.out)
    rows = read_rows(job.file, job.method)
    with _named_from(job):
        adapter = read_adapter(str(job.start)) if job.start else None
    given = {"chat_template": job.chat_template} if job.chat_template else {}
    try:
        options = HFOptions(**given, threads=job.threads, device="auto", dtype="float32")
    except PrerequisiteError as err:
        raise PrerequisiteError(f"--{str(err).replace('_', '-', 1)}") from None
    try:
        import datasets
        import peft  # noqa: F401
        import trl  # noqa: F401
    except ImportError as err:
        raise PrerequisiteError(f"talm-sim train: needs TRL and PEFT ({err}); install them with: {pip_install('train')}") from None
    datasets.disable_progress_bars()
    engine = load_engine(job.model, name, options)
    if engine.max_length is not None and job.recipe.max_length > engine.max_length:
        raise PrerequisiteError(
            f"--max-length {job.recipe.max_length}: {job.model} has a context of {engine.max_length} tokens; write at most that."
        )
    if adapter is not None:
        with _named_from(job):
            check_adapter(job.model, adapter, engine.model.config)
    examples = encode_rows(
        rows,
        engine.tokenizer,
        name=job.model,
        max_length=job.recipe.max_length,
        ends=engine.model.generation_config.eos_token_id,
        rendering=Rendering.of(options, None),
    )
    return examples, engine


@contextlib.contextmanager
def _named_from(job: Job) -> Iterator[None]:
    """Name the option by which the adapter was given here in what is wrong with it."""
    try:
        yield
    except PrerequisiteError as err:
        raise PrerequisiteError(str(err).replace("-M lora=", "--from ", 1)) from None


def _settings(job: Job) -> dict[str, Any]:
    """Return all that decides the weights that come out; a training is continued only with the same."""
    folder = cached_folder(find_model(job.model, job.model.partition("/")[2]))
    start = describe_weights(job.model, folder, read_adapter(str(job.start))) if job.start else Weights()
    for note in start.notes.values():
        log.warning("--from: %s", note)
    return {
        "method": job.method,
        "model_digest": weights_digest(folder) if folder else job.model,
        "data_digest": digest_files([job.file]),
        "from_digest": start.digests.get("adapter", ""),
        "chat_template_digest": digest_files([Path(job.chat_template)]) if job.chat_template else "",
        **job.recipe.model_dump(mode="json", exclude={"about", "methods", "open"}),
        **{name: metadata.version(name) for name in _PACKAGES},
    }


def _write_card(job: Job, settings: dict[str, Any], base_digest: str, *, finished: bool) -> None:
    """Write what an adapter is trained on and how; `base_digest` is of the weights that it belongs to."""
    names = {"model": job.model, "data": str(job.file), "from": str(job.start or "")}
    card = {**names, **settings, "base": BASE if job.start else job.model, "base_digest": base_digest, "finished": finished}
    write_atomically(job.out / ADAPTER_CARD, f"{json.dumps(card, indent=2, ensure_ascii=False)}\n".encode())


def _together(recipe: Recipe, examples: list[Example], device: str) -> int:
    """Return how many rows go through the model in one pass: a divisor of the batch."""
    widest = max(one.longest * len(one.answers) for one in examples)
    return max(one for one in range(1, recipe.batch + 1) if recipe.batch % one == 0 and (one == 1 or one * widest <= _TOKENS_TOGETHER[device]))


def _disk_needs(job: Job, engine: Engine) -> int:
    """Return the bytes that a training writes: three checkpoints of an adapter with two moments per weight, the adapter, and a merged base."""
    linear = [(one.in_features, one.out_features) for _, one in engine.model.named_modules() if hasattr(one, "in_features")]
    adapter = 4 * job.recipe.rank * sum(sum(shape) for shape in linear)
    base = 4 * sum(one.numel() for one in engine.model.parameters()) if job.start else 0
    return 10 * adapter + base + 2**20


def _second_stage(job: Job, engine: Engine) -> Engine:
    """Return the base of a second stage: the first one's with its adapter merged, kept in a folder so that the result can be loaded."""
    from peft import PeftModel

    place = job.out / BASE
    if not place.exists():
        merged = PeftModel.from_pretrained(engine.model, str(job.start)).merge_and_unload()
        with temporary(job.out) as folder:
            merged.save_pretrained(folder)
            engine.tokenizer.save_pretrained(folder)
            folder.rename(place)
    # From the folder, as a training that continues has it.
    return load_engine(f"hf/{place}", str(place), HFOptions(dtype="float32", threads=job.threads))


def _save_adapter(model: Any, out: Path) -> None:
    """Write the adapter in PEFT's format; its configuration, by which it is found, last."""
    with temporary(out) as folder:
        model.save_pretrained(folder)
        for name in ("adapter_model.safetensors", "adapter_config.json"):
            os.replace(folder / name, out / name)
