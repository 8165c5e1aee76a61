"""Read files that come from outside: plain files only, and only up to a stated size. Nothing else reads such files.

A pipe never ends, a device gives any amount, and either may be in a folder that somebody else filled.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, BinaryIO, Final

LARGEST_SETTINGS: Final = 4 * 2**20
"""Largest size in bytes of what a person writes: options, wordings, templates, prices, arguments."""
LARGEST_DOCUMENT: Final = 32 * 2**20
"""Largest size in bytes of one document that a program writes: a recording, descriptions of tools, outputs of one model."""
LARGEST_DATA: Final = 256 * 2**20
"""Largest size in bytes of a file with a line or an entry for each scenario."""
_DEEPEST: Final = 100
"""Deepest nesting of lists and objects in what was read; about twice as deep cannot be stored and read again."""
_AT_ONCE: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
"""Flags to open a file without waiting for a writer, should a pipe have taken the file's place since it was looked at."""
_KINDS: Final = (
    (stat.S_ISREG, ""),
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISLNK, "a link"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


class UnfitFileError(OSError):
    """A file exists, but its kind or size is not read; `strerror` says which."""

    def __str__(self) -> str:
        return str(self.strerror)


def kind_of_file(mode: int) -> str:
    """Say what kind of thing a path leads to; empty for a plain file."""
    return next((words for is_kind, words in _KINDS if is_kind(mode)), "a device")


def open_plain(path: Path, largest: int) -> BinaryIO:
    """Open a file, or what a link points to, for reading.

    Raises:
        UnfitFileError: It is not a plain file, or it is larger.
        OSError: It cannot be opened.
    """
    _check(os.stat(path), path, largest)
    descriptor = os.open(path, _AT_ONCE)
    try:
        _check(os.fstat(descriptor), path, largest)
        return os.fdopen(descriptor, "rb")
    except OSError:
        os.close(descriptor)
        raise


def read_bytes(path: Path, largest: int) -> bytes:
    """Read a whole file; errors are those of `open_plain`."""
    with open_plain(path, largest) as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(size + 1) or b""  # a file that the system generates may be empty at the moment
        if len(data) > size:  # somebody is writing to it, or the system generates it
            data += file.read(largest + 1 - len(data)) or b""
    if len(data) > largest:
        raise _too_large_error(path, largest)
    return data


def read_text(path: Path, largest: int, encoding: str = "utf-8") -> str:
    """Read a text file with uniform line endings.

    Raises:
        OSError: The same as in `open_plain`.
        UnicodeDecodeError: It is not written in this encoding.
    """
    return read_bytes(path, largest).decode(encoding).replace("\r\n", "\n").replace("\r", "\n")


def files_below(top: Path, pattern: str) -> Iterator[Path]:
    """Return files whose names have this pattern, in folders of any depth; links to folders are not followed."""
    folders = [top]
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:  # an unreadable one contains nothing
            for entry in entries:
                if fnmatchcase(entry.name, pattern):
                    yield Path(entry)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry))


def nests_deeply(value: Any) -> bool:
    """Return whether lists and objects are nested deeper than can be stored."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(_DEEPEST):
        inner = (item for one in level for item in (one.values() if isinstance(one, dict) else one))
        if not (level := [item for item in inner if isinstance(item, dict | list)]):
            return False
    return True


def _check(found: os.stat_result, path: Path, largest: int) -> None:
    if kind := kind_of_file(found.st_mode):
        raise UnfitFileError(errno.EINVAL, f"it is {kind}, but must be a plain file", str(path))
    if found.st_size > largest:
        raise _too_large_error(path, largest)


def _too_large_error(path: Path, largest: int) -> UnfitFileError:
    return UnfitFileError(errno.EFBIG, f"it is larger than {largest >> 20} MiB", str(path))
