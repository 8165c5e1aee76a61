"""Load a model of transformers; only this module imports torch, when a model is opened, and says what is missing."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from talm_sim.common.typed_options import JsonOption, read_object
from talm_sim.errors import PrerequisiteError, pip_install
from talm_sim.models.local.adapters import Adapter, Weights, add_adapter, describe_weights, read_adapter
from talm_sim.models.local.folders import find_model
from talm_sim.models.local.prompting import RenderingOptions
from talm_sim.models.local.score_reading import drop_stray_windows, ropes
from talm_sim.models.local.weights import cached_folder, check_weights

_NO_LIMIT = 10**9
"""Tokenizers without a limit name a huge number."""
_LOADING = {"device_map", "quantization_config", "revision", "attn_implementation"}
_SAMPLING = {"top_p", "top_k", "min_p", "repetition_penalty"}


def _check_device(device: str) -> str:
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", device):
        raise ValueError(f"'{device}' is not a device; write auto, cpu, cuda or cuda:N.")
    return device


def _check_threads(threads: int) -> int:
    if threads > (processors := os.cpu_count() or 1):
        raise ValueError(f"this machine has {processors} processors; write at most that.")
    return threads


def _name_or_object(value: Any) -> Any:
    return read_object(value) if isinstance(value, str) and value.startswith("{") else value


_NameOrObject = Annotated[str | dict[str, Any], BeforeValidator(_name_or_object)]


def _check_map(device_map: str | dict[str, Any]) -> str | dict[str, Any]:
    if isinstance(device_map, dict) and "disk" in device_map.values():
        raise ValueError("a model cannot be run from disk here; name devices in memory.")
    return device_map


class HFOptions(RenderingOptions):
    """The user's `-M` options.

    Attributes:
        lora: Folder of an adapter that is added to the weights.
        device: `auto`, `cpu`, `cuda` or `cuda:N`; auto takes the first GPU where there is one.
        dtype: Type of the weights; None for float32 on CPU and the model's own on GPU.
        batch_size: Questions scored together; None for 1 on CPU and 8 on GPU.
        threads: CPU threads; None for torch's own choice.
        max_length: Tokens of the context; None for what the model's configuration says.
        answer_chars: Longest answer in the constrained tool format, in characters; None for that format's own.
        top_p: As transformers takes it for sampling, like `top_k`, `min_p` and `repetition_penalty`.
        device_map: As transformers takes it for loading, like `quantization_config`, `revision` and `attn_implementation`.
    """

    lora: str | None = None
    device: Annotated[str, AfterValidator(_check_device)] = "auto"
    dtype: Literal["auto", "float32", "bfloat16", "float16"] | None = None
    batch_size: int | None = Field(None, ge=1)
    threads: Annotated[int, Field(ge=1), AfterValidator(_check_threads)] | None = None
    max_length: int | None = Field(None, ge=1)
    answer_chars: int | None = Field(None, ge=1)
    top_p: float | None = Field(None, ge=0, le=1)
    top_k: int | None = Field(None, ge=0, le=_NO_LIMIT)
    min_p: float | None = Field(None, ge=0, le=1)
    repetition_penalty: float | None = Field(None, ge=0.01, le=100)
    device_map: Annotated[_NameOrObject, AfterValidator(_check_map)] | None = None
    quantization_config: JsonOption | None = None
    revision: str | None = None
    attn_implementation: _NameOrObject | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if {"device", "device_map"} <= self.model_fields_set:
            raise ValueError("device_map and device both say where the model runs; leave one of them out.")
        return self

    @property
    def sampling(self) -> dict[str, Any]:
        """Settings for drawing tokens that were given."""
        return self.model_dump(include=_SAMPLING, exclude_none=True)

    @property
    def loading(self) -> dict[str, Any]:
        """Arguments for transformers to load the model."""
        return self.model_dump(include=_LOADING, exclude_none=True)


@dataclass(frozen=True, slots=True)
class Engine:
    """A model ready to run.

    Attributes:
        max_length: Tokens of its context; None where it has no bound.
        weights: What is known of its weights if an adapter was added to them.
    """

    name: str
    model: Any
    tokenizer: Any
    max_length: int | None
    weights: Weights = field(default_factory=Weights)

    @property
    def on_gpu(self) -> bool:
        """Whether it runs on a GPU."""
        return str(self.model.device.type) != "cpu"

    @property
    def dtype(self) -> str:
        """Type of its weights."""
        return str(self.model.dtype).removeprefix("torch.")


def load_engine(name: str, model: str, options: HFOptions) -> Engine:
    """Load a model and its tokenizer."""
    try:
        import torch
        import transformers
    except ImportError as err:
        raise PrerequisiteError(f"{name}: needs torch and transformers ({err}); install them with: {pip_install('local')}") from None
    adapter = None if options.lora is None else read_adapter(options.lora)
    place = find_model(name, model)
    silence_transformers(transformers)
    loading = options.loading
    if "device_map" not in loading:
        device = _device(torch, name, options.device)
        loading |= {} if device == "cpu" else {"device_map": {"": device}}
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    loading["dtype"] = options.dtype or ("auto" if "device_map" in loading else "float32")
    revision = {"revision": loading["revision"]} if "revision" in loading else {}
    if revision and Path(place).is_dir():
        raise PrerequisiteError(f"-M revision: applies to a model from the hub, and {name} is a folder; leave it out.")
    if (folder := cached_folder(place, options.revision)) is not None:
        check_weights(name, folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tokenizer = _load(name, place, "tokenizer", transformers.AutoTokenizer, **revision)
        config = _load(name, place, "configuration", transformers.AutoConfig, **revision).get_text_config()
        loading |= _attention(name, config, loading.get("attn_implementation"))
        found, told = _load(name, place, "model", transformers.AutoModelForCausalLM, output_loading_info=True, use_safetensors=True, **loading)
    _check_weights(name, told)
    drop_stray_windows(found.config.get_text_config())
    found.eval()
    weights = Weights() if adapter is None else _adapt(name, adapter, found, cached_folder(place, options.revision))
    limit = _limit(name, options.max_length, config, tokenizer)
    if any(one.get("rope_type") == "dynamic" for one in ropes(config)):
        # Beyond this length, the rotation of positions depends on what was read before.
        limit = min(limit or config.max_position_embeddings, config.max_position_embeddings)
    return Engine(name, found, tokenizer, limit, weights)


def _adapt(name: str, adapter: Adapter, model: Any, folder: Path | None) -> Weights:
    """Add an adapter to a model, and return what is known of both."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        add_adapter(name, adapter, model)
    return describe_weights(name, folder, adapter)


def _check_weights(name: str, told: Mapping[str, Any]) -> None:
    """Check that every weight came from the model's files; the library draws the others at random."""
    lacking = sorted([*told.get("missing_keys", ()), *(one[0] for one in told.get("mismatched_keys", ()))])
    if lacking:
        count = f"{len(lacking)} of its weights are" if len(lacking) > 1 else "one of its weights is"
        raise PrerequisiteError(f"{name}: {count} not in its files as its configuration says ({lacking[0]}); download the whole model again.")


def _limit(name: str, asked: int | None, config: Any, tokenizer: Any) -> int | None:
    """Return the tokens of the context, no more than the model has places for."""
    has = _context(config, tokenizer)
    if asked and has and asked > has:
        raise PrerequisiteError(f"-M max_length={asked}: {name} has a context of {has} tokens; write at most that, or leave it out.")
    return asked or has


def _attention(name: str, config: Any, asked: str | None) -> dict[str, str]:
    """Return the attention of a model whose scores are capped: sdpa leaves the cap out."""
    if config.model_type == "falcon" and config.alibi:
        raise PrerequisiteError(f"{name}: the library's attention implementations differ for a Falcon with ALiBi, so it is not run here.")
    if not getattr(config, "attn_logit_softcapping", None):
        return {}
    if asked == "sdpa":
        raise PrerequisiteError(f"-M attn_implementation=sdpa: ignores the cap on {name}'s attention; write eager, or leave it out.")
    return {"attn_implementation": asked or "eager"}


def silence_transformers(transformers: Any) -> None:
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
    options["trust_remote_code"] = False  # else transformers asks on standard input, and imports what came with the model
    # A folder needs no network, as an id may even when told not to.
    folder = cached_folder(place, options.get("revision"))
    if folder is not None:
        try:
            return auto.from_pretrained(str(folder), **options)
        except Exception as err:  # a damaged file breaks in as many ways as there are libraries that read it
            if str(folder) == place:
                raise PrerequisiteError(f"{name}: the {what} in {place} cannot be loaded: {_line(err)}") from err
    problem = _hub_problem(place, options.get("revision"))
    try:
        return auto.from_pretrained(place, local_files_only=bool(problem), **options)
    except Exception as err:
        raise PrerequisiteError(
            f"{name}: '{place}' is not a directory, was not fetched by `talm-sim models get`, and the model hub did not give it "
            f"(no such id, or no network): {problem or _line(err)}"
        ) from err


def _hub_problem(model: str, revision: str | None) -> str:
    """Ask the hub once for a model, with little patience; return what is wrong."""
    import huggingface_hub as hub

    try:
        hub.get_hf_file_metadata(hub.hf_hub_url(model, "config.json", revision=revision), timeout=10)
    except Exception as err:  # a network's errors are those of whichever client this version of the library uses
        return _line(err)
    return ""


def _line(err: Exception) -> str:
    text = next((line.strip() for line in str(err).splitlines() if line.strip()), "")
    return f"{type(err).__name__}: {text}"[:200]


def _context(config: Any, tokenizer: Any) -> int | None:
    for key in ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"):
        limit = getattr(config, key, None)
        if isinstance(limit, int) and limit > 0:
            return limit
    limit = getattr(tokenizer, "model_max_length", None)
    return limit if isinstance(limit, int) and limit < _NO_LIMIT else None
