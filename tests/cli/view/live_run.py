"""A run that another process plays while it is looked at."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.view.served import ROOT
from tests.runs import scripted


@contextmanager
def playing(run: Path, *, delay: float = 0.05) -> Iterator[subprocess.Popen[str]]:
    """Play the run in a process of its own, one episode after the other."""
    command = [sys.executable, scripted.__file__, str(run), "1", "1", str(delay)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True) as child:
        try:
            yield child
        finally:
            child.kill()
