"""`python -m talm_sim.recordings SOURCE TARGET ...`: pack a tree of recordings into the zips that are shipped."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from talm_sim.errors import PrerequisiteError
from talm_sim.recordings.packing import pack


def main(arguments: list[str] | None = None) -> int:
    """Pack recordings; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m talm_sim.recordings", description="Pack a tree of recordings into zips.")
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
