"""A merge in a process of its own that stops at a moment at which it can be killed.

Usage as a script: python merging_work.py FOLDER copied|written
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from pathlib import Path

import pytest

from talm_sim.runs.engines.merge_shards import merge_runs
from talm_sim.store.files.sealing import copy_rows


def main(folder: Path, moment: str) -> None:
    def stop(*_: object) -> None:
        (folder / "reached").touch()
        time.sleep(600)

    def copy(source: sqlite3.Connection, target: sqlite3.Connection, table: str) -> None:
        stop() if table == "verdicts" else copy_rows(source, target, table)

    patch = pytest.MonkeyPatch()
    if moment == "copied":
        patch.setattr("talm_sim.runs.engines.merge_shards.copy_rows", copy)
    else:
        patch.setattr(os, "rename", stop)
    print(os.getpid(), flush=True)
    merge_runs("out", ["first", "second"], run_dir=folder / "runs")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
