"""Files that several writers share: read with a limit, written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from talm_sim.errors import PrerequisiteError
from talm_sim.processes import own_name, sweep

__all__ = ["LARGEST_FILE", "exclusively", "read_text", "write_atomically"]

LARGEST_FILE = 32 * 2**20
"""Bytes; a larger recording is refused: it may come from elsewhere, and would be held in memory several times over."""


def read_text(path: Path) -> str:
    """Read a file of recordings.

    Raises:
        PrerequisiteError: It is too large, cannot be read, or is no UTF-8.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise PrerequisiteError(
                f"{path}: larger than a recording can be ({LARGEST_FILE >> 20} MiB); delete it and record again, or restore it."
            )
        return path.read_text(encoding="utf-8")
    except OSError as err:
        raise PrerequisiteError(f"{path}: cannot be read ({err.strerror}); mend its permissions, or choose another directory.") from None
    except UnicodeDecodeError:
        raise PrerequisiteError(f"{path}: not a readable recording (no UTF-8); delete it and record again, or restore it.") from None


def write_atomically(path: Path, data: bytes, *, replace: bool = True) -> None:
    """Write a file whole or not at all.

    Args:
        path: The file; folders above it are made.
        data: What it holds.
        replace: Whether one that is there already is replaced.

    Raises:
        PrerequisiteError: It cannot be written, or is there already.
    """
    # Not of the file's own name: with what is added, that could be longer than a name may be.
    temporary = path.with_name(own_name("", ".tmp"))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep_once(path.parent)
        try:
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if replace:
                os.replace(temporary, path)
            else:
                os.link(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as err:
        raise PrerequisiteError(f"{path}: cannot be written ({err.strerror or err}); mend that, or choose another directory.") from None


@cache
def _sweep_once(folder: Path) -> None:
    sweep(folder)


@contextlib.contextmanager
def exclusively(folder: Path) -> Iterator[None]:
    """Keep every other process that writes to `folder` out for the time of the block.

    Where the system has no such locks, two processes that save one file at the same moment may lose one's additions.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl  # not on Windows

    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        yield  # the folder is not there yet, or closed to us: writing will say so
        return
    try:
        with contextlib.suppress(OSError):  # some network file systems refuse to lock
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
