"""A model of transformers, loaded: the only place that imports torch at opening, and that says what is missing."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from talm_sim.errors import PrerequisiteError, did_you_mean, pip_install
from talm_sim.models.local.folders import find_model

__all__ = ["Engine", "HFOptions", "hush", "load_engine", "read_options"]

_NO_LIMIT = 10**9
"""Tokenizers without a limit name a huge number."""
_DTYPES = ("auto", "float32", "bfloat16", "float16")
_DEVICE = re.compile(r"auto|cpu|cuda(:\d+)?")


@dataclass(frozen=True, slots=True)
class HFOptions:
    """The user's `-M` options.

    Attributes:
        device: `auto`, `cpu`, `cuda` or `cuda:N`; auto takes the first GPU where there is one.
        dtype: Type of the weights; empty for float32 on CPU and the model's own on GPU.
        batch_size: Questions scored together; None for 1 on CPU and 8 on GPU.
        threads: CPU threads; None for torch's own choice.
        max_length: Tokens of the context; None for what the model's configuration says.
        answer_chars: Longest answer in the constrained tool format, in characters; None for that format's own.
    """

    device: str = "auto"
    dtype: str = ""
    batch_size: int | None = None
    threads: int | None = None
    max_length: int | None = None
    answer_chars: int | None = None


@dataclass(frozen=True, slots=True)
class Engine:
    """A model ready to run.

    Attributes:
        name: `provider/model`.
        model: The causal language model, on its device, not training.
        tokenizer: Its tokenizer.
        max_length: Tokens of its context; None where it has no bound.
        on_gpu: Whether it runs on a GPU.
    """

    name: str
    model: Any
    tokenizer: Any
    max_length: int | None
    on_gpu: bool


def read_options(name: str, options: Mapping[str, str]) -> HFOptions:
    """Read the user's options.

    Raises:
        PrerequisiteError: One is unknown or has no usable value.
    """
    known = list(HFOptions.__dataclass_fields__)
    for key in options:
        if key not in known:
            raise PrerequisiteError(f"-M {key}: {name} has no such option.{did_you_mean(key, known)}")
    values: dict[str, Any] = dict(options)
    for key in ("batch_size", "threads", "max_length", "answer_chars"):
        if key in options:
            values[key] = _count(key, options[key])
    if "dtype" in options and options["dtype"] not in _DTYPES:
        raise PrerequisiteError(f"-M dtype={options['dtype']}: unknown type.{did_you_mean(options['dtype'], _DTYPES)}")
    if "device" in options and not _DEVICE.fullmatch(options["device"]):
        raise PrerequisiteError(f"-M device={options['device']}: write auto, cpu, cuda or cuda:N.")
    return HFOptions(**values)


def _count(key: str, text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise PrerequisiteError(f"-M {key}={text}: must be a whole number from 1 on.")
    return number


def load_engine(name: str, model: str, options: HFOptions) -> Engine:
    """Load a model and its tokenizer.

    Args:
        name: `provider/model`, for messages.
        model: What follows the provider: a directory, a fetched name or a hub id.
        options: The user's options.

    Raises:
        PrerequisiteError: A package, the model, its tokenizer or the device is not there.
    """
    try:
        import torch
        import transformers
    except ImportError as err:
        raise PrerequisiteError(f"{name}: needs torch and transformers ({err}); install them with: {pip_install('local')}") from None
    place = find_model(name, model)
    hush(transformers)
    device = _device(torch, name, options.device)
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    dtype = options.dtype or ("float32" if device == "cpu" else "auto")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tokenizer = _load(name, place, "tokenizer", transformers.AutoTokenizer)
        where = {} if device == "cpu" else {"device_map": {"": device}}
        found = _load(name, place, "model", transformers.AutoModelForCausalLM, dtype=dtype, **where)
    found.eval()
    limit = options.max_length or _context(found.config.get_text_config(), tokenizer)
    return Engine(name, found, tokenizer, limit, on_gpu=device != "cpu")


def hush(transformers: Any) -> None:
    """Keep progress bars and warnings off stderr, which belongs to the caller's own display."""
    from huggingface_hub.utils import disable_progress_bars, logging

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    logging.set_verbosity_error()
    disable_progress_bars()


def _device(torch: Any, name: str, asked: str) -> str:
    there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if asked == "auto":
        return "cuda:0" if there else "cpu"
    if asked == "cpu":
        return asked
    number = int(asked.partition(":")[2] or 0)
    if number >= there:
        have = f"this machine has {there}" if there else "torch finds none here"
        raise PrerequisiteError(f"-M device={asked}: {name} was to run on a GPU, but {have}; leave it out or write -M device=cpu.")
    return f"cuda:{number}"


def _load(name: str, place: str, what: str, auto: Any, **options: Any) -> Any:
    unreachable = "" if Path(place).is_dir() else _hub_problem(place)
    try:
        return auto.from_pretrained(place, local_files_only=bool(unreachable), **options)
    except Exception as err:  # a damaged file breaks in as many ways as there are libraries that read it
        if Path(place).is_dir():
            raise PrerequisiteError(f"{name}: the {what} in {place} cannot be loaded: {_line(err)}") from err
        raise PrerequisiteError(
            f"{name}: '{place}' is no directory, was not fetched by `talm-sim models get`, and the model hub did not give it "
            f"(no such id, or no network): {unreachable or _line(err)}"
        ) from err


def _hub_problem(model: str) -> str:
    """Ask the hub once for a model, lest loading tries a dead network for minutes before it looks into the hub's cache."""
    import huggingface_hub as hub

    try:
        hub.get_hf_file_metadata(hub.hf_hub_url(model, "config.json"), timeout=10)
    except Exception as err:  # a network's errors are those of whichever client this version of the library uses
        return _line(err)
    return ""


def _line(err: Exception) -> str:
    text = next((line.strip() for line in str(err).splitlines() if line.strip()), "")
    return f"{type(err).__name__}: {text}"[:200]


def _context(config: Any, tokenizer: Any) -> int | None:
    for field in ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"):
        limit = getattr(config, field, None)
        if isinstance(limit, int) and limit > 0:
            return limit
    limit = getattr(tokenizer, "model_max_length", None)
    return limit if isinstance(limit, int) and limit < _NO_LIMIT else None
