"""A merge in a process of its own that stops at a moment at which it can be killed.

Usage as a script: python merging_work.py FOLDER copied|written
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from talm_sim.runs import merging
from talm_sim.runs.files import store


def main(folder: Path, moment: str) -> None:
    def stop(*_: object) -> None:
        (folder / "reached").touch()
        time.sleep(600)

    if moment == "copied":
        copy = merging.copy_rows
        merging.copy_rows = lambda source, target, table: stop() if table == "verdicts" else copy(source, target, table)
    else:
        store.os.rename = stop  # type: ignore[assignment]
    print(os.getpid(), flush=True)
    merging.merge_runs("out", ["first", "second"], run_dir=folder / "runs")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
