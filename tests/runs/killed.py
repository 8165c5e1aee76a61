"""Work in a process of its own that can be killed at any moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

PATIENCE_S = 120.0
"""Only what hangs takes so long."""


@contextmanager
def working(work: ModuleType, folder: Path, command: str) -> Iterator[Callable[[], None]]:
    """Run `python WORK FOLDER COMMAND`, which first prints its process; what is yielded kills it."""
    script = [sys.executable, str(work.__file__), str(folder), command]
    with subprocess.Popen(script, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as child:
        assert child.stdout is not None
        pid = int(child.stdout.readline())

        def kill() -> None:
            os.kill(pid, signal.SIGKILL)
            child.wait(PATIENCE_S)

        try:
            yield kill
        finally:
            child.kill()


def until(done: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < end, "it hangs"
        time.sleep(0.02)
