"""Pack a tree of recordings into the zips that are shipped; scripts/record_shipped.sh does.

.venv/bin/python scripts/pack_recordings.py SOURCE TARGET --command COMMAND --licence LICENCE
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from talm_sim.errors import PrerequisiteError, line_to_copy
from talm_sim.recordings.archive import INDEX
from talm_sim.recordings.packing import SPECS, TOOLS, copy_settings
from talm_sim.recordings.shared_files import read_bytes, write_atomically

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Time stamp of every member, so equal content gives equal bytes."""
_LARGE = 128 * 1024
"""Bytes above which a member is packed by LZMA: scored answers repeat their numbers further on than the 32 KiB that deflate looks back."""


def pack(source: Path, target: Path, *, command: str, licence: str, created: str | None = None, notes: str = "") -> list[Path]:
    """Pack an unpacked tree of recordings, one zip for each folder and group. Equal trees give equal bytes.

    Args:
        source: Directory of recordings that `--record` wrote.
        target: Directory to write the zips to.
        command: The command that made the recording.
        licence: Licence of what was recorded.
        created: Date of the recording, ISO 8601; by default the day its newest file was written.
        notes: What users of the recording should know about it.

    Returns:
        The zips written.

    Raises:
        PrerequisiteError: There is nothing to pack, or the zips cannot be written.
    """
    groups = list(_groups(source))
    if not groups:
        record = line_to_copy("talm-sim", "run", "...", "--record", "--cassettes", str(source))
        raise PrerequisiteError(f"{source}: contains no recordings; record some with: {record}")
    if created is None:
        newest = max(path.stat().st_mtime for _, _, files in groups for path in files.values())
        created = datetime.fromtimestamp(newest, UTC).date().isoformat()
    written = []
    for folder, group, files in groups:
        contents = {name: read_bytes(path) for name, path in files.items()}
        model, _, task = folder.partition("/")
        index = {
            "model": model.replace("--", "/"),
            "group": f"{task}/{group}" if task else group,
            "licence": licence,
            "command": command,
            "created": created,
            "notes": notes,
            "files": {name: sha256(data).hexdigest() for name, data in contents.items()},
        }
        path = target / folder / f"{group}.zip"
        write_atomically(path, _zip({INDEX: json.dumps(index, indent=1, sort_keys=True).encode(), **contents}))
        written.append(path)
    return [*written, *copy_settings(source, target)]


def _groups(source: Path) -> Iterator[tuple[str, str, dict[str, Path]]]:
    """Return folder, group and files (by their name inside the zip) of everything recorded below `source`."""
    # A tool's traffic is in its group's folder; a conversation is one level deeper, in its scenario's.
    found = {path.parent if path.relative_to(source).parts[0] == TOOLS else path.parents[1] for path in source.glob("*/**/*.json")}
    for group in sorted(found - {source, *source.iterdir()} if found else ()):
        files = {path.relative_to(group).as_posix(): path for path in sorted(group.rglob("*.json"))}
        folder = group.parent
        if folder.name == TOOLS and (folder / SPECS).is_file():
            files[SPECS] = folder / SPECS
        yield folder.relative_to(source).as_posix(), group.name, files


def _zip(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in sorted(files.items()):
            member = zipfile.ZipInfo(name, _EPOCH)
            member.create_system = 3  # what zipfile writes here by itself depends on the machine
            archive.writestr(member, data, zipfile.ZIP_LZMA if len(data) > _LARGE else zipfile.ZIP_DEFLATED, 9)
    return buffer.getvalue()


def main(arguments: list[str] | None = None) -> int:
    """Pack recordings; return the exit code."""
    parser = argparse.ArgumentParser(description="Pack a tree of recordings into zips.")
    parser.add_argument("source", type=Path, help="directory of recordings that --record wrote")
    parser.add_argument("target", type=Path, help="directory to write the zips to")
    parser.add_argument("--command", required=True, help="the command that made the recording")
    parser.add_argument("--licence", required=True, help="licence of what was recorded")
    parser.add_argument("--created", help="date of the recording; default: the day its newest file was written")
    parser.add_argument("--notes", default="", help="what users of the recording should know")
    given = parser.parse_args(arguments)
    try:
        written = pack(given.source, given.target, command=given.command, licence=given.licence, created=given.created, notes=given.notes)
    except PrerequisiteError as err:
        print(err, file=sys.stderr)
        return 2
    for path in written:
        print(f"{path}  {path.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
