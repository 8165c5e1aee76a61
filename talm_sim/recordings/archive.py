"""Read a packed recording: one zip for a model (or the tools) and a group, with an index that states its origin. Its content is not trusted."""

from __future__ import annotations

import json
import lzma
import threading
import weakref
import zipfile
import zlib
from functools import lru_cache
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

from talm_sim.common.plain_files import LARGEST_DOCUMENT, open_plain
from talm_sim.errors import PrerequisiteError

INDEX = "index.json"
LARGEST_ARCHIVE = 2**30
"""Bytes when unpacked; a small zip can hold any amount."""
_UNREADABLE = (OSError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError, LookupError, ValueError, EOFError)
"""What `zipfile` raises on damage, depending on where it hits."""


class Archive:
    """An open zip of recordings, which tasks and threads may share; what is read is checked against the digests of its index."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            file = open_plain(path, LARGEST_ARCHIVE)
            weakref.finalize(self, file.close)
            self._zip = zipfile.ZipFile(file)
            sizes = [member.file_size for member in self._zip.infolist()]
            if sum(sizes) > LARGEST_ARCHIVE or self._zip.getinfo(INDEX).file_size > LARGEST_DOCUMENT:
                raise PrerequisiteError(f"{path}: unpacks to more than a recording can contain; do not trust it.")
            self.index: dict[str, Any] = json.loads(self._zip.read(INDEX))
            self._digests: dict[str, str] = dict(self.index["files"])
        except (*_UNREADABLE, TypeError) as err:
            why = getattr(err, "strerror", None) or type(err).__name__
            raise PrerequisiteError(f"{path}: not a readable recording ({why}); restore it, or reinstall.") from None
        for name in self._digests:
            if not _stays_inside(name):
                raise PrerequisiteError(f"{path}: names a file outside its folder ('{name}'); do not trust it.")

    def names(self) -> list[str]:
        """Return the names of the files inside, without the index; none of them leads out of the folder that it is unpacked to."""
        return sorted(self._digests)

    def read(self, name: str) -> bytes | None:
        """Return a file's content, or None if there is no such file."""
        if name not in self._digests:
            return None
        try:
            with self._lock:
                if self._zip.getinfo(name).file_size > LARGEST_DOCUMENT:
                    raise PrerequisiteError(f"{self.path}:{name}: larger than a recording can be; restore it.")
                data = self._zip.read(name)
        except _UNREADABLE as err:
            raise PrerequisiteError(f"{self.path}:{name}: cannot be unpacked ({type(err).__name__}); restore it.") from None
        if sha256(data).hexdigest() != self._digests[name]:
            raise PrerequisiteError(f"{self.path}:{name}: its digest is not the recorded one; restore it.")
        return data


def open_archive(path: Path) -> Archive:
    """Open a zip once and keep it open; one that has been replaced is opened again."""
    found = path.stat()
    return _open(path, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=64)
def _open(path: Path, _changed: int, _size: int) -> Archive:
    return Archive(path)


def _stays_inside(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return bool(parts) and not name.startswith("/") and not any(part == ".." or "\\" in part or ":" in part or "\0" in part for part in parts)
