"""Adapters: what `-M lora=DIR` adds to a model's weights, in PEFT's own format (`adapter_config.json`, `adapter_model.safetensors`)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from talm_sim.common.plain_files import LARGEST_SETTINGS, read_text
from talm_sim.errors import PrerequisiteError, pip_install
from talm_sim.models.local.weights import digest_files, read_shapes, weights_digest

_SETTINGS, _WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_PICKLES = ("adapter_model.bin", "adapter_model.pt")
ADAPTER_CARD = "training.json"
"""What `talm-sim train` writes next to an adapter; its `base_digest` is the `weights_digest` of the model that the adapter belongs to."""
_PLAIN = frozenset({"gaussian", "eva", "orthogonal", "lora_ga", "mica"})
"""Ways to draw an adapter's first weights after which it is a plain LoRA; others also change the weights that it is added to."""
_REFUSED = (("megatron_config", "names code to import"), ("layer_replication", "changes the model's own layers"))
_PREFIX, _MARK = "base_model.model.", ".lora_"
_NAMED = ("target_modules", "exclude_modules", "target_parameters", "layers_pattern", "modules_to_save", "rank_pattern", "alpha_pattern")
_NAME = re.compile(r"[\w.\\^$-]*")
"""A pattern that can match in one way alone."""
_MOST, _MOST_NAMES, _MOST_SECONDS = 1024, 256, 3.0
"""A rank, and a number of names, up to which the model's own sizes do not matter; and how long patterns may take to match its names."""
_MATCH = r"""import json, re, sys
patterns, names = json.load(sys.stdin)
for form in ("%s", r"(.*\.)?(%s)$", r"(^|.*\.)%s($|\..*)", r"(?:^|.*?\.)%s\.\d+\."):
    for pattern in patterns:
        try: found = re.compile(form.replace("%s", pattern))
        except Exception: continue
        for name in names: found.fullmatch(name), found.match(name)"""
"""Matches as PEFT does, in a process that can be ended: nothing ends a pattern that backtracks without end."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The facts known about a model's weights."""

    digests: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Adapter:
    """An adapter in a folder.

    Attributes:
        settings: What `adapter_config.json` contains.
        shapes: The shape of each tensor, by the name that it has in the model.
    """

    name: str
    folder: Path
    settings: Mapping[str, Any]
    shapes: Mapping[str, tuple[int, ...]]

    @property
    def where(self) -> str:
        """What a message begins with."""
        return f"-M lora={self.name}:"

    @property
    def rank(self) -> int:
        """The largest rank of its matrices."""
        pattern = self.settings.get("rank_pattern")
        given = [self.settings.get("r"), *(pattern.values() if isinstance(pattern, dict) else ())]
        return max((one for one in given if type(one) is int), default=1)

    @property
    def layers(self) -> list[str]:
        """The last part of the name of each layer that it changes, such as `q_proj`."""
        return sorted({key.partition(_MARK)[0].rpartition(".")[2] for key in self.shapes if _MARK in key})

    @cached_property
    def digest(self) -> str:
        """The digest of its settings and weights."""
        return digest_files([self.folder / _SETTINGS, self.folder / _WEIGHTS])

    @property
    def base(self) -> str:
        """The model that it was trained on, as its settings name it; empty if they do not."""
        return str(self.settings.get("base_model_name_or_path") or "")

    @property
    def base_digest(self) -> str:
        """The digest of the weights that it was trained on; empty if nobody wrote it down."""
        return str((_read_object(self.folder / ADAPTER_CARD) or {}).get("base_digest") or "")


def read_adapter(name: str) -> Adapter:
    """Read an adapter's settings, and the shapes of its tensors."""
    folder = Path(name).expanduser()
    where = f"-M lora={name}:"
    if not folder.is_dir():
        raise PrerequisiteError(f"{where} there is no such directory; name the one that contains {_SETTINGS}.")
    if not (folder / _SETTINGS).is_file():
        raise PrerequisiteError(f"{where} contains no {_SETTINGS}, so it is not an adapter; name the directory that does.")
    settings = _read_object(folder / _SETTINGS)
    if settings is None:
        raise PrerequisiteError(f"{where} {_SETTINGS} is not a JSON object; save the adapter again.")
    kind = settings.get("peft_type")
    if kind != "LORA":
        raise PrerequisiteError(f"{where} is an adapter of type {str(kind)[:40]}; only LORA is loaded.")
    if refused := next((one for one in _REFUSED if settings.get(one[0])), None):
        raise PrerequisiteError(f"{where} has {refused[0]}, which {refused[1]}; save the adapter without it.")
    made = settings.get("init_lora_weights")
    if isinstance(made, str) and made.lower() not in _PLAIN:
        fix = "convert it to a plain LoRA with PEFT"
        raise PrerequisiteError(f"{where} has init_lora_weights '{made[:40]}', which changes the model's own weights; {fix}.")
    if not (folder / _WEIGHTS).is_file():
        pickle = next((one for one in _PICKLES if (folder / one).exists()), None)
        fix = f"{pickle} is a pickle, which is never loaded; save the adapter as safetensors" if pickle else "copy it from where it was trained"
        raise PrerequisiteError(f"{where} contains no {_WEIGHTS}; {fix}.")
    return Adapter(name, folder, settings, {key.removeprefix(_PREFIX): shape for key, shape in read_shapes(where, folder / _WEIGHTS).items()})


def check_adapter(name: str, adapter: Adapter, config: Any) -> None:
    """Check, without the model's weights, that an adapter fits a model."""
    import torch
    import transformers

    try:
        with torch.device("meta"):
            model = transformers.AutoModelForCausalLM.from_config(config)
    except ValueError:  # a type of model that transformers lacks
        return
    _inject(name, adapter, model)


def add_adapter(name: str, adapter: Adapter, model: Any) -> None:
    """Add an adapter to a model of transformers, in place."""
    _inject(name, adapter, model)
    from peft import set_peft_model_state_dict
    from safetensors.torch import load_file

    tensors = load_file(str(adapter.folder / _WEIGHTS))
    if strange := next((key for key, value in tensors.items() if not bool(value.isfinite().all())), ""):
        raise PrerequisiteError(f"{adapter.where} has values in '{strange}' that are no finite numbers; train it again.")
    set_peft_model_state_dict(model, {key.removeprefix(_PREFIX): value for key, value in tensors.items()}, low_cpu_mem_usage=True)
    model.requires_grad_(requires_grad=False)
    model.eval()


def describe_weights(name: str, folder: Path | None, adapter: Adapter) -> Weights:
    """Return the digests of a model and its adapter, with a note if the adapter was trained on another model."""
    base = "" if folder is None else weights_digest(folder)
    known = bool(base and adapter.base_digest)
    same = base == adapter.base_digest if known else not adapter.base or _is_same_model(adapter.base, name, folder)
    notes = {}
    if not same:
        by = f" (weights {adapter.base_digest[:12]}, here {base[:12]})" if known else ""
        notes["adapter"] = f"{adapter.name} was trained on '{adapter.base[:200] or 'another model'}'{by}, and is used on {name}"
    return Weights({**({"base": base} if base else {}), "adapter": adapter.digest}, notes)


def _is_same_model(trained_on: str, name: str, folder: Path | None) -> bool:
    here = folder is not None and os.path.isdir(trained_on) and os.path.samefile(trained_on, folder)
    return here or trained_on == name.partition("/")[2]


def _inject(name: str, adapter: Adapter, model: Any) -> None:
    """Put the layers of an adapter, without its weights, into a model that they fit."""
    try:
        from peft import PeftConfig, get_peft_model_state_dict, inject_adapter_in_model
    except ImportError:
        raise PrerequisiteError(f"-M lora: needs peft; install it with: {pip_install('local')}") from None
    layers = dict(model.named_modules())
    embeddings = (model.get_input_embeddings(), model.get_output_embeddings())
    whole = {f"{layer}.weight" for layer, module in layers.items() if any(module is one for one in embeddings)}
    for tensor in adapter.shapes:
        layer, mark, _ = tensor.partition(_MARK)
        if mark and layer not in layers:
            raise PrerequisiteError(f"{adapter.where} does not fit {name}, which has no layer '{layer}' for the tensor '{tensor}'.")
    _check_size(name, adapter, sorted({*layers, *dict(model.named_parameters())}))
    try:
        inject_adapter_in_model(PeftConfig.from_pretrained(str(adapter.folder)), model, low_cpu_mem_usage=True)
        wanted = {key: tuple(value.shape) for key, value in get_peft_model_state_dict(model, save_embedding_layers=False).items()}
    except Exception as err:  # settings that PEFT does not take fail in as many ways as there are settings
        reason = " ".join(f"{type(err).__name__}: {err}".split())[:200]
        raise PrerequisiteError(f"{adapter.where} does not fit {name}: {reason}") from None
    for tensor, shape in wanted.items():
        if tensor not in adapter.shapes:
            raise PrerequisiteError(f"{adapter.where} lacks the tensor '{tensor}', which its {_SETTINGS} asks for; save it again.")
        if (found := adapter.shapes[tensor]) != shape:
            raise PrerequisiteError(f"{adapter.where} does not fit {name}: tensor '{tensor}' has the shape {found}, not {shape}.")
    # Next to the matrices, PEFT keeps embeddings that were trained whole.
    others = {key: tuple(value.shape) for key, value in model.state_dict().items()}
    for tensor, shape in adapter.shapes.items():
        if tensor not in wanted and (tensor not in whole or others.get(tensor) != shape):
            raise PrerequisiteError(f"{adapter.where} has a tensor '{tensor}', which its {_SETTINGS} does not name; save it again.")


def _check_size(name: str, adapter: Adapter, names: list[str]) -> None:
    """Refuse settings that no adapter of the model needs, and that take endless time or memory to apply."""
    most = max([_MOST, *(sorted(shape)[-2] for key, shape in adapter.shapes.items() if _MARK in key and len(shape) > 1 and all(shape))])
    if adapter.rank > most:
        raise PrerequisiteError(f"{adapter.where} says rank {adapter.rank:,}, and none of its tensors is of more than {most:,}; save it again.")
    changed = {key.partition(_MARK)[0] for key in adapter.shapes if _MARK in key}
    patterns: set[str] = set()
    for key in _NAMED:
        given, plain = adapter.settings.get(key), key in _NAMED[:3]  # whose lists are of plain names
        listed = given if isinstance(given, list | dict) else ()
        if len(listed) > max(_MOST_NAMES, len(names if plain else changed)):
            raise PrerequisiteError(f"{adapter.where} has {len(listed):,} entries in {key}, more than {name} has layers; save it again.")
        patterns |= {one for one in (given, *(() if plain else listed)) if isinstance(one, str) and not _NAME.fullmatch(one)}
    asked = json.dumps([[*patterns], names]).encode() if patterns else b""
    try:
        if asked:
            subprocess.run([sys.executable, "-I", "-c", _MATCH], input=asked, stderr=subprocess.DEVNULL, timeout=_MOST_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise PrerequisiteError(f"{adapter.where} has patterns that take over {_MOST_SECONDS:g} s to match; name the layers in full.") from None


def _read_object(file: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(read_text(file, LARGEST_SETTINGS))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
