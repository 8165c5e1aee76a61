"""Tool services that start in a tenth of the time, as processes of their own all the same, and which process each of them is."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from talm_sim.world import process
from talm_sim.world.process import ToolService
from tests.warm import warm_python

PATIENCE_S = 100.0
"""Only what hangs takes so long."""

_SERVE = """
import os, runpy, sys
folder, started = sys.argv[1:3]
with open(os.path.join(folder, started), "w") as file:
    file.write(str(os.getpid()))
del sys.argv[1:sys.argv.index("-m") + 2]
runpy.run_module("talm_sim.world", run_name="__main__", alter_sys=True)
"""


class QuickServices:
    """Makes every service that this process starts a fork of one that has its modules already.

    Args:
        monkeypatch: Undoes it at the end of the test.
        folder: Where the services write their process ids.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self._pids = folder / "pids-of-services"
        self._pids.mkdir()
        python = self._pids / "python"
        words = shlex.join([warm_python(), "-P", "-c", _SERVE, str(self._pids)])
        python.write_text(f'#!/bin/sh\nexec {words} $$ "$@"\n', encoding="utf-8")
        python.chmod(0o755)
        monkeypatch.setattr(process, "_COMMAND", (str(python), *tuple(process._COMMAND)[1:]))
        for name in ("START_TIMEOUT_S", "STOP_TIMEOUT_S", "DEATH_S"):
            monkeypatch.setattr(process, name, PATIENCE_S)

    def pid(self, service: ToolService) -> int:
        """The process that serves: what was started waits for its end, and then ends as it did."""
        assert service.pid is not None
        return int((self._pids / str(service.pid)).read_text(encoding="utf-8"))
