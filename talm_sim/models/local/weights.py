"""Check the files of a model in this process before it is loaded, and digest them, so that runs with other weights are told apart."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from talm_sim.common.plain_files import LARGEST_SETTINGS, read_text
from talm_sim.errors import PrerequisiteError, pip_install

_SHA256 = re.compile(r"[0-9a-f]{64}")
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
_WIDTHS = ("hidden_size", "n_embd", "d_model", "intermediate_size", "vocab_size")
_MOST_TIMES = 64
"""A configuration asks for at most so many times what the files hold: layers may share weights, and quantized ones are packed."""


def check_weights(name: str, folder: Path) -> None:
    """Check that a model's weights are no pickle, and are about as large as its configuration says, before anything is built.

    Raises:
        PrerequisiteError: One of the two is not so.
    """
    files = sorted(folder.glob("*.safetensors"))
    pickle = next((file.name for pattern in _PICKLES for file in sorted(folder.glob(pattern))), "")
    if pickle and not files:
        raise PrerequisiteError(f"{name}: {folder} has its weights in {pickle}, a pickle, which is never loaded; save them as safetensors.")
    shapes = [shape for file in files for shape in read_shapes(f"{name}:", file).values()]
    try:
        config = json.loads(read_text(folder / "config.json", LARGEST_SETTINGS))
    except (OSError, ValueError, RecursionError):
        return  # the library says what is wrong
    if not shapes or not isinstance(config, dict):
        return
    config = {**config, **nested} if isinstance(nested := config.get("text_config"), dict) else config
    widest = max((size for shape in shapes for size in shape), default=1)
    for keys, has, what in ((_LAYERS, len(shapes), "tensors"), (_WIDTHS, widest, "as the largest size of a tensor")):
        for key in keys:
            if isinstance(says := config.get(key), int) and says > _MOST_TIMES * has:
                where = f"{name}: {folder / 'config.json'}"
                raise PrerequisiteError(f"{where} says {key} {says:,}, and the weights have {has:,} {what}; copy it from the original model.")


def read_shapes(where: str, file: Path) -> dict[str, tuple[int, ...]]:
    """Return the shape of each tensor of a safetensors file, by its name; what is wrong begins with `where`."""
    try:
        from safetensors import safe_open
    except ImportError:
        raise PrerequisiteError(f"{where} needs safetensors; install it with: {pip_install('local')}") from None
    try:
        with safe_open(str(file), framework="numpy") as tensors:
            return {key: tuple(tensors.get_slice(key).get_shape()) for key in tensors.keys()}  # noqa: SIM118
    except Exception as err:  # safetensors has its own errors, which derive from nothing of ours
        raise PrerequisiteError(f"{where} {file} cannot be read ({' '.join(str(err).split())[:120]}); copy it again.") from None


def weights_digest(folder: Path) -> str:
    """Return the digest of the weights in a model's folder; empty if it contains none."""
    files = [*folder.glob("*.safetensors")]
    return digest_files(files) if files else ""


def digest_files(files: Iterable[Path]) -> str:
    """Return a SHA-256 of some files' names and contents; the order in which they are given does not matter."""
    ordered, found = sorted(files), hashlib.sha256()
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        for file, content in zip(ordered, pool.map(_sha256, ordered), strict=True):
            found.update(file.name.encode() + content)
    return found.hexdigest()


def _sha256(file: Path) -> bytes:
    # The hub's cache names a large file by its SHA-256.
    target = file.resolve()
    if file.is_symlink() and target.parent.name == "blobs" and _SHA256.fullmatch(target.name):
        return bytes.fromhex(target.name)
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()


def cached_folder(model: str, revision: str | None = None) -> Path | None:
    """Return the folder with a model: its own, or that of the hub's cache; None if there is neither."""
    if Path(model).is_dir():
        return Path(model)
    import huggingface_hub as hub

    try:
        found = hub.try_to_load_from_cache(model, "config.json", revision=revision)
    except ValueError:  # no id of the hub's
        return None
    return Path(found).parent if isinstance(found, str) else None
