"""Unpack the zips that recordings are shipped in; copy the files that a tree of recordings has beside conversations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from talm_sim.recordings.archive import open_archive
from talm_sim.recordings.shared_files import read_bytes, write_atomically

TOOLS = "tools"
"""Folder of tool traffic; every other folder is a model's."""
SPECS = "specs.json"
SETTINGS = ".settings.json"
"""End of the name of a file with the settings behind a digest in the names of a model's conversations."""

LEFT_OUT = ".left_out.json"
"""End of the name of a file that says which field a model's server refuses."""
REQUESTS = "requests.json"
"""Name of the file that says how else its requests were made."""


def export(source: Path, target: Path) -> list[Path]:
    """Unpack every recording below `source`, for plain vcrpy and for reading.

    Returns:
        The files written.

    Raises:
        PrerequisiteError: A zip is damaged or names a file outside, or `target` cannot be written.
    """
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
    for path in sorted(path for end in (SETTINGS, LEFT_OUT, REQUESTS) for path in source.glob(f"*/*{end}")):
        place = target / path.parent.name / path.name
        write_atomically(place, read_bytes(path))
        yield place
