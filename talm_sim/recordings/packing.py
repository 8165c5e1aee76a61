"""Unpack the zips that recordings are shipped in; copy the files that a tree of recordings has beside conversations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from talm_sim.common.digests import digest
from talm_sim.common.ignored_parts import IgnoredParts, check_ignored
from talm_sim.errors import PrerequisiteError
from talm_sim.recordings.archive import open_archive
from talm_sim.recordings.shared_files import read_bytes, read_text, write_atomically

TOOLS = "tools"
"""Folder of tool traffic; every other folder is a model's."""
SPECS = "specs.json"
SETTINGS = ".settings.json"
"""End of the name of a file with the settings behind a digest in the names of a model's conversations."""

LEFT_OUT = ".left_out.json"
"""End of the name of a file that says which field a model's server refuses."""
IGNORED = ".ignored.json"
"""End of the name of a file that says what is ignored of prompts."""
REQUESTS = "requests.json"
"""Name of the file that says how else its requests were made."""


def ignored_in(folder: Path, patterns: Iterable[str]) -> IgnoredParts:
    """Return what is ignored of prompts: what these patterns match, and those that a model's conversations were recorded with."""
    found = list(patterns)
    for path in sorted(folder.glob(f"*{IGNORED}")):
        try:
            found.append(check_ignored(json.loads(read_text(path))["pattern"]))
        except (ValueError, TypeError, LookupError, RecursionError):
            raise PrerequisiteError(f"{path}: not a readable pattern; restore it.") from None
    return IgnoredParts(found)


def save_ignored(folder: Path, ignored: IgnoredParts) -> None:
    """Save, once, the patterns that a model's conversations are recorded with."""
    for pattern in ignored.patterns:
        write_atomically(folder / f"{digest(pattern)}{IGNORED}", (json.dumps({"pattern": pattern}) + "\n").encode())


def export(source: Path, target: Path) -> list[Path]:
    """Unpack every recording below `source`, for plain vcrpy and for reading; return the files."""
    written = []
    for path in sorted(source.rglob("*.zip")):
        archive = open_archive(path)
        folder = target / path.parent.relative_to(source)
        for name in archive.names():
            data = archive.read(name)
            assert data is not None
            place = folder / name if name == SPECS else folder / path.stem / name
            write_atomically(place, data)
            written.append(place)
    return [*written, *copy_settings(source, target)]


def copy_settings(source: Path, target: Path) -> Iterator[Path]:
    """Copy the files beside the conversations, packed or not; yield each one that was written."""
    for path in sorted(path for end in (SETTINGS, LEFT_OUT, IGNORED, REQUESTS) for path in source.glob(f"*/*{end}")):
        place = target / path.parent.name / path.name
        write_atomically(place, read_bytes(path))
        yield place
