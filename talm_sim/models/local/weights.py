"""Digest the files of a model in this process, so that runs with other weights are told apart."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_SHA256 = re.compile(r"[0-9a-f]{64}")


def weights_digest(folder: Path) -> str:
    """Return the digest of the weights in a model's folder; empty if it contains none."""
    files = [*folder.glob("*.safetensors"), *folder.glob("*.bin")]
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
