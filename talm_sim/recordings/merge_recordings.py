"""Merge trees of recordings into one. What several have must be the same in each, so that a replay does not depend on chance."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from talm_sim.common import plain_files
from talm_sim.errors import PrerequisiteError
from talm_sim.recordings.archive import LARGEST_ARCHIVE
from talm_sim.recordings.packing import SETTINGS, SPECS, TOOLS
from talm_sim.recordings.shared_files import read_bytes, read_text, write_atomically
from talm_sim.recordings.tape import Tape

_HUMAN = ".human.json"
_NAMES = ("*.json", "*.zip")


def merge_recordings(sources: Sequence[Path], target: Path) -> int:
    """Merge recordings into a directory, which may have some of them already. Nothing is written before all of them fit.

    Args:
        sources: Directories that `--record` wrote to.
        target: Directory to write to; a merge that was killed can be repeated.

    Returns:
        How many files were written.
    """
    roots = list({root.resolve(): root for root in (target, *sources)}.values())
    files: dict[str, list[Path]] = {}
    for root in roots:
        for path in sorted(path for pattern in _NAMES for path in root.rglob(pattern)):
            if path.is_file() and not path.name.startswith("."):
                files.setdefault(path.relative_to(root).as_posix(), []).append(path)
    merged = {name: data for name, paths in files.items() if len(paths) > 1 and (data := _merge(name, paths)) is not None}
    for name, (first, *_) in files.items():
        if name in merged:
            write_atomically(target / name, merged[name])
        elif first != target / name:
            write_atomically(target / name, _read(first))
    return sum(name in merged or paths[0] != target / name for name, paths in files.items())


def _merge(name: str, paths: Sequence[Path]) -> bytes | None:
    """Return what several files of one name come to; None if the first has all of it."""
    contents = dict.fromkeys(_read(path) for path in paths)
    if len(contents) == 1:
        return None
    found = next(iter(contents))
    made = _merger(name)(paths)
    return None if made == found else made


def _merger(name: str) -> Callable[[Sequence[Path]], bytes]:
    if name == f"{TOOLS}/{SPECS}":
        return _merge_tools
    return _refuse_others if name.endswith((SETTINGS, _HUMAN, ".zip")) else _merge_tapes


def _merge_tapes(paths: Sequence[Path]) -> bytes:
    first, *others = (Tape(str(path), read_text(path)) for path in paths)
    for other in others:
        first.add(other)
    return first.text().encode()


def _merge_tools(paths: Sequence[Path]) -> bytes:
    known: dict[tuple[str, bool], tuple[Path, Any]] = {}
    for path in paths:
        try:
            entries = {(str(entry["name"]), bool(entry.get("asks"))): entry for entry in json.loads(read_text(path))}
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise PrerequisiteError(f"{path}: not a readable list of tools; delete it and record again, or restore it.") from None
        for key, entry in entries.items():
            before, same = known.setdefault(key, (path, entry))
            if same != entry:
                raise PrerequisiteError(f"{before} and {path}: describe tool '{key[0]}' in two ways; record both with the same tools.")
    return (json.dumps([entry for _, (_, entry) in sorted(known.items(), key=lambda one: one[0])], indent=1) + "\n").encode()


def _refuse_others(paths: Sequence[Path]) -> bytes:
    first, second = paths[0], next(path for path in paths if _read(path) != _read(paths[0]))
    raise PrerequisiteError(f"{first} and {second}: are of one name and differ; delete one of them.")


def _read(path: Path) -> bytes:
    if path.suffix != ".zip":
        return read_bytes(path)
    try:
        return plain_files.read_bytes(path, LARGEST_ARCHIVE)
    except OSError as err:
        raise PrerequisiteError(f"{path}: cannot be read ({err.strerror}); restore it, or choose another directory.") from None
