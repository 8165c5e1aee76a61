"""A stranger's code ends in its time, with all that it started, and with whoever called it, whatever it does against that."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from inspect import isfunction
from pathlib import Path
from typing import Any

import pytest

from talm_sim.tools_env.sources import sandbox
from talm_sim.tools_env.sources.sandbox import call_in_sandbox, explain_no_sandbox
from tests.tools_env.sources import staying
from tests.tools_env.sources.traces import processes

pytestmark = pytest.mark.skipif(bool(explain_no_sandbox()), reason="this system has no namespaces")

LATE = "it was stopped: it ran longer than 2 s"
ENDED = "it was stopped: it ran into a limit of memory, time or processes, or ended itself"
LONG = "it was stopped: its answer is longer than 1,024 KiB"
CUT_OFF = "its answer cannot be read"
"""Where the watcher dies while it hands on a long answer."""
SAID = {
    "close_its_answer": ENDED,
    "kill_its_group": ENDED,
    "threads_that_stay": "answered",
    "flood": LONG,
    "slow_the_watcher": "PermissionError: [Errno 1] Operation not permitted",
    "no_files_for_the_watcher": ENDED + "|" + LATE,
    "no_memory_for_the_watcher": ENDED + "|" + LATE,
    "no_time_for_the_watcher": ENDED + "|" + LATE + "|" + CUT_OFF,
    "exit_with_an_error": ENDED,
}
FUNCTIONS = [name for name, one in vars(staying).items() if isfunction(one)]


def _copy(directory: Path) -> Path:
    """A copy of what runs inside, by whose name its processes are found; the code lies beside it."""
    copy = directory / "child.py"
    shutil.copy(sandbox._CHILD, copy)
    (directory / "tool").mkdir()
    shutil.copy(staying.__file__, directory / "tool" / "api.py")
    return copy


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, float]]:
    """What each function said, and after how many seconds; a few are called at once, as they wait most of the time."""
    child = _copy(tmp_path_factory.mktemp("ends"))
    slots = asyncio.Semaphore(10)

    async def called(function: str) -> tuple[Any, float]:
        async with slots:
            began = time.monotonic()
            response = await call_in_sandbox(child.parent / "tool" / "api.py", function, {}, seconds=2)
            said = json.loads(response.body)
            return said if response.status == 200 else said["detail"], time.monotonic() - began

    async def all_called() -> list[tuple[Any, float]]:
        return await asyncio.gather(*map(called, FUNCTIONS))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sandbox, "_CHILD", child)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        found = dict(zip(FUNCTIONS, asyncio.run(all_called()), strict=True))
    found["memory, MiB"] = ((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024, 0)
    found["left"] = (processes(child), 0)
    return found


@pytest.mark.parametrize("function", FUNCTIONS)
def test_it_ends_in_its_time(function: str, ended: dict[str, tuple[Any, float]]) -> None:
    said, seconds = ended[function]
    assert said in SAID.get(function, LATE).split("|")
    assert seconds < 20, "the first process keeps the time"


def test_it_leaves_no_process_and_fills_no_memory(ended: dict[str, tuple[Any, float]]) -> None:
    assert ended["left"][0] == []
    assert ended["memory, MiB"][0] < 50


CALLER = """
import asyncio, pathlib, sys
from talm_sim.tools_env.sources import sandbox

sandbox._CHILD = pathlib.Path(sys.argv[1])

async def calls():
    await asyncio.gather(*(sandbox.call_in_sandbox(sandbox._CHILD.parent / "tool" / "api.py", name, {}) for name in sys.argv[2:]))

asyncio.run(calls())
"""


def test_it_ends_with_its_caller_and_leaves_no_folder(tmp_path: Path) -> None:
    child = _copy(tmp_path)
    functions = ("keep_off_death_signal", "stop_itself", "close_all_files")
    (tmp_path / "temporary").mkdir()
    command = [sys.executable, "-c", CALLER, str(child), *functions]
    with subprocess.Popen(command, env={**os.environ, "TMPDIR": str(tmp_path / "temporary")}) as caller:
        ends = time.monotonic() + 60
        # Of each call: `unshare`, the first process, and the code; and the caller itself.
        while len(processes(child, 0)) < 3 * len(functions) + 1 and time.monotonic() < ends:
            time.sleep(0.05)
        assert len(processes(child, 0)) == 3 * len(functions) + 1
        caller.send_signal(signal.SIGKILL)
    assert not processes(child)
    assert not list((tmp_path / "temporary").iterdir())
