"""Find a local model: in a directory, under a name fetched by `models get`, or under an id on the model hub."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from talm_sim.common.plain_files import files_below, kind_of_file
from talm_sim.errors import PrerequisiteError

FETCHABLE = ("smollm2-135m",)
"""Names `talm-sim models get` knows."""
_TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "tekken.json")
_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")


def models_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder `models get` writes into: `$XDG_CACHE_HOME/talm-sim/models`, by default under `~/.cache`."""
    base = (os.environ if environ is None else environ).get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path("~/.cache").expanduser()) / "talm-sim" / "models"


def download_directory(name: str, environ: Mapping[str, str] | None = None) -> Path:
    """Return where `models get NAME` puts a model."""
    return models_folder(environ) / name


def find_model(name: str, model: str, environ: Mapping[str, str] | None = None) -> str:
    """Find the directory, or keep the hub id, that a model's name means."""
    directory = Path(model).expanduser()
    if directory.is_dir():
        return str(check_directory(name, directory))
    fetched = download_directory(model, environ)
    if fetched.is_dir():
        return str(check_directory(name, fetched))
    if directory.exists():
        raise PrerequisiteError(f"{name}: {directory} is a file; name the directory that contains config.json.")
    if model in FETCHABLE:
        raise PrerequisiteError(f"{name}: not on this machine yet; fetch it with: talm-sim models get {model}")
    if not _HUB_ID.fullmatch(model) or model.startswith("."):
        raise PrerequisiteError(f"{name}: there is no directory {directory}.")
    return model


def check_directory(name: str, directory: Path) -> Path:
    """Check that a directory contains a model's configuration and a tokenizer."""
    if (directory / "adapter_config.json").is_file() and not (directory / "config.json").is_file():
        raise PrerequisiteError(f"{name}: {directory} is an adapter; name the model that it belongs to, and add -M lora={directory}.")
    if not (directory / "config.json").is_file():
        raise PrerequisiteError(f"{name}: {directory} contains no config.json, so it is not a model directory; name the one that does.")
    if not any((directory / file).is_file() for file in _TOKENIZER_FILES):
        files = "tokenizer.json or tokenizer.model"
        raise PrerequisiteError(f"{name}: {directory} contains no tokenizer ({files}); copy it from the original model.")
    for file in files_below(directory, "*"):
        kind = kind_of_file(file.stat().st_mode) if os.path.exists(file) else ""
        if kind not in ("", "a directory"):
            raise PrerequisiteError(f"{name}: {file} is {kind}, and a model is made of plain files; delete it.")
    return directory
