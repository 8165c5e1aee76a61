"""What the weights of a model in this process are: digests of its files, by which runs are told apart."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from talm_sim.common.digests import digest

__all__ = ["cached_folder", "digest_files", "weights_digest"]

_KINDS = ("*.safetensors", "*.bin", "*.pt")
"""Files that hold weights; of the first kind that a folder has, all are read."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


def weights_digest(folder: Path) -> str:
    """Return the digest of a model's configuration and weights, which a folder contains; empty if it contains no weights."""
    files = next((found for kind in _KINDS if (found := sorted(folder.glob(kind)))), [])
    return digest_files([folder / "config.json", *files]) if files else ""


def digest_files(files: Iterable[Path]) -> str:
    """Return the digest of some files' names and contents; the order of the files does not matter."""
    named = {file.name: file for file in files}
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        return digest(dict(zip(named, pool.map(_sha256, named.values()), strict=True)))


def _sha256(file: Path) -> str:
    # The hub's cache names a large file by its SHA-256.
    target = file.resolve()
    if file.is_symlink() and target.parent.name == "blobs" and _SHA256.fullmatch(target.name):
        return target.name
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


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
