"""Check the folder of a training: whether it can be one, whose it is, what fits on its disk, and the checkpoints in it.

Nothing here imports torch.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from talm_sim.common.plain_files import LARGEST_SETTINGS, read_text
from talm_sim.common.processes import hidden_name, sweep
from talm_sim.errors import PrerequisiteError
from talm_sim.models.local.adapters import ADAPTER_CARD

BASE, CHECKPOINTS = "base", "checkpoints"
"""Folders next to the adapter: the merged weights that a second stage trains, and what a training continues from."""
WHOLE = "whole"
"""Name of the empty file that is written into a checkpoint last."""
_FULL = 2**24
"""Bytes below which a disk is taken to be full if something cannot be written."""
_OPTIONS = {
    "model_digest": "--model",
    "data_digest": "FILE",
    "from_digest": "--from",
    "chat_template_digest": "--chat-template",
    **{key: f"--{key.replace('_', '-')}" for key in ("learning_rate", "epochs", "batch", "max_length", "seed", "dtype")},
}
"""What a person calls a setting, where that is not its key."""


def check_place(out: Path) -> None:
    """Check that a folder is there or can be created; nothing is written."""
    there = _nearest(out)
    if not there.is_dir():
        raise PrerequisiteError(f"--out {out}: cannot be written ({there} is not a folder); name another folder.")
    done = os.path.exists(out / "adapter_config.json")  # which is only read
    if not done and not os.access(there, os.R_OK | os.W_OK | os.X_OK):
        raise PrerequisiteError(f"--out {out}: cannot be written (no permission in {there}); name another folder.")


def is_finished(out: Path, settings: dict[str, Any]) -> bool:
    """Return whether a folder has the finished adapter of these settings."""
    card = out / ADAPTER_CARD
    if not os.path.exists(card):
        if os.path.exists(out) and any(out.iterdir()):
            raise PrerequisiteError(f"--out {out}: exists and has no training; name another folder.")
        return False
    try:
        stored = json.loads(read_text(card, LARGEST_SETTINGS))
        changed = [_change(key, stored[key], value) for key, value in settings.items() if stored[key] != value]
        finished = bool(stored["finished"])
    except (OSError, ValueError, KeyError, TypeError):
        raise PrerequisiteError(f"{card}: cannot be read as a training; name another folder with --out.") from None
    if changed:
        raise PrerequisiteError(f"--out {out}: has a training with other settings ({'; '.join(changed)}); repeat them, or name another folder.")
    return finished


def _change(key: str, before: Any, now: Any) -> str:
    short = ["none" if one in ("", None) else str(one)[:12] for one in (before, now)]
    return f"{_OPTIONS.get(key, key)} {short[0]}, now {short[1]}"


def check_disk(out: Path, needs: int) -> None:
    """Check that what a training writes fits on the disk; what its folder holds of it already is not counted again."""
    lacking, free = needs - _held(out), shutil.disk_usage(_nearest(out)).free
    if free < lacking:
        raise PrerequisiteError(
            f"--out {out}: needs {lacking / 1e6:,.0f} MB on the disk, which has {free / 1e6:,.0f} MB free; free some, or name another."
        )


def _held(out: Path) -> int:
    """Return the bytes of the files in a folder."""
    total = 0
    for folder, _, names in os.walk(out):
        for name in names:
            with contextlib.suppress(OSError):  # whoever trains there may delete it now
                total += os.lstat(os.path.join(folder, name)).st_size
    return total


def _nearest(out: Path) -> Path:
    return next(one for one in (out.absolute(), *out.absolute().parents) if os.path.exists(one))


@contextlib.contextmanager
def at_work(out: Path) -> Iterator[None]:
    """Keep every other training out of a folder, and say in one line if the disk is full; what was half-written is deleted."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        handle = os.open(out, os.O_RDONLY)
    except OSError as err:
        raise PrerequisiteError(f"--out {out}: cannot be written ({err.strerror}); name another folder.") from None
    try:
        with contextlib.suppress(ImportError):
            import fcntl  # not on Windows

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        sweep(out)
        yield
    except BlockingIOError:
        raise PrerequisiteError(f"--out {out}: another process trains there; wait for its end, or name another folder.") from None
    except Exception as err:  # each library that writes has its own error for a full disk
        if isinstance(err, PrerequisiteError):
            raise
        if getattr(err, "errno", None) not in (errno.ENOSPC, errno.EDQUOT) and shutil.disk_usage(out).free > _FULL:
            raise
        last_checkpoint(out)
        raise PrerequisiteError(f"{out}: the disk is full; free some of it, then run the same command to continue.") from None
    finally:
        os.close(handle)


@contextlib.contextmanager
def temporary(out: Path) -> Iterator[Path]:
    """Yield a hidden folder within `out`; what is left in it at the end is deleted."""
    folder = out / hidden_name("", ".tmp")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def whole_checkpoints(out: Path) -> list[Path]:
    """Return the checkpoints in the folder of a training that can be continued from, the newest last."""
    found = (out / CHECKPOINTS).glob(f"checkpoint-*/{WHOLE}")
    return sorted((one.parent for one in found), key=lambda one: int(one.name.rpartition("-")[2]))


def last_checkpoint(out: Path) -> str | None:
    """Return the newest whole checkpoint in the folder of a training, or None; what a kill left half-written is deleted."""
    whole = whole_checkpoints(out)
    for found in (out / CHECKPOINTS).glob("checkpoint-*"):
        if found not in whole:
            shutil.rmtree(found)
    return str(whole[-1]) if whole else None
