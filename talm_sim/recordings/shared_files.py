"""Read and write files that several writers share: up to a limit, and completely or not at all."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from talm_sim.common import plain_files
from talm_sim.common.processes import hidden_name, sweep
from talm_sim.errors import PrerequisiteError


def read_bytes(path: Path) -> bytes:
    """Read a file of recordings."""
    try:
        return plain_files.read_bytes(path, plain_files.LARGEST_DOCUMENT)
    except OSError as err:
        fix = "delete it and record again, restore it, or choose another directory"
        raise PrerequisiteError(f"{path}: cannot be read ({err.strerror}); {fix}.") from None


def read_text(path: Path) -> str:
    """Read a file of recordings as text."""
    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError:
        raise PrerequisiteError(f"{path}: not a readable recording (not UTF-8); delete it and record again, or restore it.") from None


def write_atomically(path: Path, data: bytes | Iterable[bytes], *, replace: bool = True) -> None:
    """Write a file completely or not at all."""
    # Not derived from the file's own name, which could then become longer than a name may be.
    temporary = path.with_name(hidden_name("", ".tmp"))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep_once(path.parent)
        try:
            with temporary.open("xb") as file:
                file.writelines([data] if isinstance(data, bytes) else data)
                file.flush()
                os.fsync(file.fileno())
            if replace:
                os.replace(temporary, path)
            else:
                os.link(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as err:
        raise PrerequisiteError(f"{path}: cannot be written ({err.strerror or err}); fix that, or choose another directory.") from None


@cache
def _sweep_once(folder: Path) -> None:
    sweep(folder)


@contextlib.contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Keep every other process that writes to `folder` out during the block.

    On a system without such locks, the additions of one process may be lost if two save the same file at the same moment.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl  # not on Windows

    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        yield  # the folder is missing, or closed to us: writing will say so
        return
    try:
        with contextlib.suppress(OSError):  # some network file systems refuse to lock
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
