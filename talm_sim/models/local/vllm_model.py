"""`vllm/<dir, name or hub id>`: vLLM in this process. Scoring and agents share one engine, which its first question starts."""

from __future__ import annotations

import json
import logging
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from talm_sim.common.processes import mark_of
from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import Continuation, GenerationSettings, Model
from talm_sim.models.local.adapters import Adapter, Weights, check_adapter, describe_weights, read_adapter
from talm_sim.models.local.engine import silence_transformers
from talm_sim.models.local.folders import find_model, models_folder
from talm_sim.models.local.model import LocalModel, Text
from talm_sim.models.local.prompting import Rendering
from talm_sim.models.local.vllm_engine import VllmEngine
from talm_sim.models.local.vllm_jobs import score, write
from talm_sim.models.local.vllm_loop import Loop
from talm_sim.models.local.vllm_options import VllmOptions, check_devices, engine_environment, is_cpu_build, read_vllm_options, require_vllm
from talm_sim.models.local.weights import cached_folder, check_weights
from talm_sim.models.request import ModelRequest
from talm_sim.types import JsonObject


class VllmModel(LocalModel):
    """A model run by vLLM."""

    def __init__(self, request: ModelRequest, engine: VllmEngine, options: VllmOptions, tokenizer: Any, rendering: Rendering) -> None:
        super().__init__(
            request.name,
            tokenizer,
            rendering,
            batch_size=options.batch_size,
            constrained=request.constrained,
            answer_chars=options.answer_chars,
        )
        self.reuse = True
        self._sampling, self._engine = options.sampling, engine
        self._loop = Loop(engine, request.name)

    async def score(self, prompt: str, options: Sequence[str]) -> list[Continuation]:
        """Say how likely each option is as the continuation of `prompt`; see `TextModel.score`."""
        found = await self._loop.run(score(self._engine, self.tokenizer, prompt, options, reuse=self.reuse))
        self.precision = self._engine.precision
        return found

    async def write(self, prompt: str, settings: GenerationSettings, schema: JsonObject | None = None) -> Text:
        """Continue a prompt; see `LocalModel.write`."""
        return await self._loop.run(write(self._engine, self.tokenizer, prompt, settings, schema, self._sampling))

    async def aclose(self) -> None:
        """Free the engine's memory, after the step it is in; on CPU after the layer."""
        self._engine.closing.set()
        await self._loop.aclose()


def open_vllm(request: ModelRequest) -> Model:
    """Open `vllm/<dir, name or hub id>`."""
    if request.replay:
        raise PrerequisiteError(f"{request.name}: runs on this machine and has no recorded traffic; run it with --live.")
    require_vllm(request.name)
    cpu = is_cpu_build()
    model = find_model(request.name, request.model)
    if (folder := cached_folder(model, request.options.get("revision"))) is not None:
        check_weights(request.name, folder)
    eager = request.options.get("enforce_eager", "true").lower() != "false"
    # Before the first import of vLLM, which reads them.
    for variable, value in engine_environment(eager=eager, cpu=cpu, is_directory=Path(model).is_dir()).items():
        os.environ.setdefault(variable, value)
    log = log_to_file()
    with warnings.catch_warnings():
        # Libraries' own deprecations are not the user's business.
        warnings.simplefilter("ignore")
        options = read_vllm_options(request.name, request.options)
    check_devices(request.name, options, cpu_build=cpu, count_gpus=_count_gpus)
    adapter = None if options.lora is None else read_adapter(options.lora)
    engine = VllmEngine(request.name, model, options, cpu=cpu, log=log, adapter=adapter)
    tokenizer = _load_tokenizer(request.name, model, options)
    opened = VllmModel(request, engine, options, tokenizer, Rendering.of(options, request.created))
    if adapter is not None:
        opened.weights = _check_adapter(request.name, model, options, adapter)
    return opened


def _check_adapter(name: str, model: str, options: VllmOptions, adapter: Adapter) -> Weights:
    """Check that an adapter fits a model, which vLLM would say only after loading it, and return what is known of both."""
    import transformers

    if "lm_head" in adapter.layers:
        raise PrerequisiteError(f"{adapter.where} changes the layer lm_head, with which vLLM cannot score; use hf/ instead of vllm/.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_adapter(name, adapter, transformers.AutoConfig.from_pretrained(model, **_loading(options)))
    return describe_weights(name, cached_folder(model, options.engine.get("revision")), adapter)


def _loading(options: VllmOptions) -> dict[str, Any]:
    return {"trust_remote_code": False} | {key: options.engine[key] for key in ("revision", "trust_remote_code") if key in options.engine}


def _load_tokenizer(name: str, model: str, options: VllmOptions) -> Any:
    import transformers

    silence_transformers(transformers)
    chosen = _loading(options)
    try:
        return transformers.AutoTokenizer.from_pretrained(model, **chosen)
    except Exception as err:  # a damaged file breaks in as many ways as there are libraries that read it
        reason = " ".join(str(err).split())[:200]
        raise PrerequisiteError(f"{name}: its tokenizer cannot be loaded: {reason}") from None


def _count_gpus() -> int:
    import torch

    return int(torch.cuda.device_count())


def log_to_file() -> Path:
    """Have vLLM write to a file of this process, beside the folder of fetched models. Comes before vLLM's first import.

    Returns:
        The file; logs of processes that have ended are removed.
    """
    log = models_folder().parent / "vllm" / f"engine-{os.getpid()}.log"
    # What it says before it has read its configuration.
    logging.getLogger("vllm").addHandler(logging.NullHandler())
    if "VLLM_LOGGING_CONFIG_PATH" in os.environ:
        return log
    log.parent.mkdir(parents=True, exist_ok=True)
    config = {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"plain": {"format": "%(levelname)s %(asctime)s [%(name)s] %(message)s"}},
        "handlers": {"file": {"class": "logging.FileHandler", "filename": str(log), "formatter": "plain", "encoding": "utf-8"}},
        "loggers": {"vllm": {"handlers": ["file"], "level": "INFO", "propagate": False}},
    }
    _remove_logs_of_the_dead(log.parent)
    path = log.with_suffix(".json")
    path.write_text(json.dumps(config), encoding="utf-8")
    os.environ["VLLM_LOGGING_CONFIG_PATH"] = str(path)
    return log


def _remove_logs_of_the_dead(folder: Path) -> None:
    for path in folder.glob("engine-*"):
        pid = path.stem.removeprefix("engine-")
        if not (pid.isdecimal() and mark_of(int(pid))):
            path.unlink(missing_ok=True)
