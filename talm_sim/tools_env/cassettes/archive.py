"""Packed recordings: one zip for a model (or the tools) and a group, with an index that says where it comes from."""

from __future__ import annotations

import io
import json
import threading
import zipfile
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from talm_sim.errors import PrerequisiteError

__all__ = ["Archive", "export", "open_archive", "pack"]

INDEX = "index.json"
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Time stamp of every member, so equal content gives equal bytes."""
_LARGEST_MEMBER = 32 * 2**20
"""Bytes; a larger member is refused: archives from elsewhere are untrusted."""


class Archive:
    """An open zip of recordings; reads are checked against the digests of its index.

    Args:
        path: The zip file.

    Raises:
        PrerequisiteError: The file is no such zip.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            self._zip = zipfile.ZipFile(path)
            self.index: dict[str, Any] = json.loads(self._zip.read(INDEX))
            self._digests: dict[str, str] = dict(self.index["files"])
        except (OSError, zipfile.BadZipFile, KeyError, ValueError, TypeError) as err:
            raise PrerequisiteError(f"{path}: not a readable recording ({type(err).__name__}); restore it, or reinstall.") from None

    def names(self) -> list[str]:
        """Names of the files inside, without the index."""
        return sorted(self._digests)

    def read(self, name: str) -> bytes | None:
        """Return a file's content, None where there is none.

        Raises:
            PrerequisiteError: The content is not what the index says.
        """
        if name not in self._digests:
            return None
        try:
            with self._lock:
                if self._zip.getinfo(name).file_size > _LARGEST_MEMBER:
                    raise PrerequisiteError(f"{self.path}:{name}: larger than a recording can be; restore it.")
                data = self._zip.read(name)
        except (OSError, zipfile.BadZipFile, KeyError, EOFError) as err:
            raise PrerequisiteError(f"{self.path}:{name}: cannot be unpacked ({type(err).__name__}); restore it.") from None
        if sha256(data).hexdigest() != self._digests[name]:
            raise PrerequisiteError(f"{self.path}:{name}: its digest is not the recorded one; restore it.")
        return data


@lru_cache(maxsize=64)
def open_archive(path: Path) -> Archive:
    """Open a zip once and keep it open."""
    return Archive(path)


def pack(source: Path, target: Path, *, command: str, licence: str, created: str, notes: str = "") -> list[Path]:
    """Pack an unpacked tree of recordings, one zip for each folder and group.

    Args:
        source: The tree that recording wrote.
        target: Directory of the zips.
        command: The command that made the recording.
        licence: Licence of what was recorded.
        created: Date of the recording, ISO 8601.
        notes: What a user of the recording should know.

    Returns:
        The zips written.

    Raises:
        PrerequisiteError: There is nothing to pack.
    """
    written = []
    for folder in sorted(path for path in source.iterdir() if path.is_dir()) if source.is_dir() else ():
        for group in sorted(path for path in folder.iterdir() if path.is_dir()):
            files = {str(path.relative_to(group)): path.read_bytes() for path in sorted(group.rglob("*.json"))}
            if not files:
                continue
            specs = folder / "specs.json"
            if specs.is_file():
                files[specs.name] = specs.read_bytes()
            facts = {"model": folder.name.replace("--", "/"), "group": group.name, "licence": licence, "command": command}
            facts |= {"created": created, "notes": notes}
            index = facts | {"files": {name: sha256(data).hexdigest() for name, data in files.items()}}
            path = target / folder.name / f"{group.name}.zip"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_zip({INDEX: json.dumps(index, indent=1, sort_keys=True).encode(), **files}))
            written.append(path)
    if not written:
        raise PrerequisiteError(f"{source}: holds no recordings; record some with `talm-sim run ... --record --cassettes {source}`.")
    return written


def _zip(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED, 9)
    return buffer.getvalue()


def export(source: Path, target: Path) -> list[Path]:
    """Unpack every recording below `source`, for plain vcrpy and for reading; names that leave `target` are refused.

    Raises:
        PrerequisiteError: A zip is damaged, names a file outside, or `target` cannot be written.
    """
    written = []
    for path in sorted(source.glob("*/*.zip")):
        archive = open_archive(path)
        folder = target / path.parent.name / path.stem
        for name in archive.names():
            place = (folder.parent if name == "specs.json" else folder) / name
            if not place.resolve().is_relative_to(target.resolve()):
                raise PrerequisiteError(f"{path}: names a file outside its folder ('{name}'); do not trust it.")
            data = archive.read(name)
            assert data is not None
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(data)
            except OSError as err:
                raise PrerequisiteError(f"{place}: cannot be written ({err.strerror}); choose another directory.") from None
            written.append(place)
    return written
