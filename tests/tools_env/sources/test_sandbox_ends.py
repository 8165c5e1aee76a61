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
from pathlib import Path
from typing import Any

import pytest

from talm_sim.tools_env.sources import sandbox
from talm_sim.tools_env.sources.sandbox import call_in_sandbox, why_no_sandbox

pytestmark = pytest.mark.skipif(bool(why_no_sandbox()), reason="this system has no namespaces")

CODE = """
import ctypes, os, resource, select, signal, socket, sys, threading, time

libc = ctypes.CDLL(None)

def keep_off_death_signal():
    libc.prctl(1, 0, 0, 0, 0)
    time.sleep(1000)

def close_all_files():
    libc.prctl(1, 0, 0, 0, 0)
    os.closerange(0, 3)
    os.closerange(4, 4096)
    time.sleep(1000)

def close_its_answer():
    os.closerange(0, 4096)
    time.sleep(1000)

def ignore_all_signals():
    for one in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(one, signal.SIG_IGN)
    time.sleep(1000)

def block_all_signals():
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    time.sleep(1000)

def stop_itself():
    os.kill(os.getpid(), signal.SIGSTOP)

def stop_the_watcher():
    os.kill(1, signal.SIGSTOP)
    time.sleep(1000)

def signal_the_watcher():
    for one in signal.valid_signals():
        os.kill(1, one)
    time.sleep(1000)

def kill_all():
    for target in (1, -1):
        try:
            os.kill(target, signal.SIGKILL)
        except OSError:
            pass
    time.sleep(1000)

def kill_its_group():
    os.kill(0, signal.SIGKILL)

def threads():
    for _ in range(8):
        threading.Thread(target=time.sleep, args=(1000,)).start()
    time.sleep(1000)

def threads_that_stay():
    for _ in range(8):
        threading.Thread(target=time.sleep, args=(1000,)).start()
    return "answered"

def flood():
    while True:
        os.write(3, b"x" * 65536)

def flood_slowly():
    while True:
        os.write(3, b" ")
        time.sleep(.001)

def flood_output():
    while True:
        os.write(1, b"x" * 65536)
        os.write(2, b"x" * 65536)

def half_an_answer():
    os.write(3, b'{"value": ')
    time.sleep(1000)

def whole_answer_and_stay():
    os.write(3, b'{"value": "answered"}')
    time.sleep(1000)

def slow_the_watcher():
    os.setpriority(os.PRIO_PROCESS, 1, 19)
    os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))

def no_files_for_the_watcher():
    resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0))
    time.sleep(1000)

def no_memory_for_the_watcher():
    resource.prlimit(1, resource.RLIMIT_AS, (0, 0))
    os.write(3, b"x" * 100_000)
    time.sleep(1000)

def no_time_for_the_watcher():
    resource.prlimit(1, resource.RLIMIT_CPU, (0, 0))
    os.write(3, b"x" * 100_000)
    time.sleep(1000)

def another_program():
    os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(1000)"])

def a_program_with_the_answer():
    os.set_inheritable(3, True)
    os.execv("/bin/sleep", ["sleep", "1000"])

def fork_anyhow():
    for start in (os.fork, lambda: libc.syscall(56, 17, 0, 0, 0, 0), lambda: libc.syscall(220, 17, 0, 0, 0, 0), lambda: libc.vfork()):
        try:
            start()
        except OSError:
            pass
    time.sleep(1000)

def session():
    for move in (os.setsid, os.setpgrp, lambda: os.setpgid(0, 1)):
        try:
            move()
        except OSError:
            pass
    time.sleep(1000)

def the_answer_in_a_socket():
    here, there = socket.socketpair()
    socket.send_fds(here, [b"x"], [3])
    os.close(3)
    time.sleep(1000)

def poll():
    while True:
        select.select([], [], [], .001)

def exit_with_an_error():
    os.kill(os.getpid(), signal.SIGSEGV)
"""
LATE = "it was stopped: it ran longer than 1 s"
ENDED = "it was stopped: it ran into a limit of memory, time or processes, or ended itself"
LONG = "it was stopped: its answer is longer than 1,024 KiB"
SAID = {
    "close_its_answer": ENDED,
    "kill_its_group": ENDED,
    "threads_that_stay": "answered",
    "flood": LONG,
    "slow_the_watcher": "PermissionError: [Errno 1] Operation not permitted",
    "no_files_for_the_watcher": ENDED + "|" + LATE,
    "no_memory_for_the_watcher": ENDED + "|" + LATE,
    "no_time_for_the_watcher": ENDED + "|" + LATE,
    "exit_with_an_error": ENDED,
}
FUNCTIONS = [line.removeprefix("def ").partition("(")[0] for line in CODE.splitlines() if line.startswith("def ")]


def _left(child: Path, seconds: float = 15) -> list[str]:
    """Processes of the sandbox that are still there after so long."""
    ends = time.monotonic() + seconds
    while found := [number for number in os.listdir("/proc") if number.isdigit() and str(child) in _command(number)]:
        if time.monotonic() > ends:
            break
        time.sleep(0.02)
    return found


def _command(number: str) -> str:
    try:
        return Path("/proc", number, "cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _copy(directory: Path) -> Path:
    """A copy of what runs inside, by whose name its processes are found; the code lies beside it."""
    copy = directory / "child.py"
    shutil.copy(sandbox._CHILD, copy)
    (directory / "tool").mkdir()
    (directory / "tool" / "api.py").write_text(CODE, encoding="utf-8")
    return copy


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, float]]:
    """What each function said, and after how many seconds; a few are called at once, as they wait most of the time."""
    child = _copy(tmp_path_factory.mktemp("ends"))
    slots = asyncio.Semaphore(7)

    async def called(function: str) -> tuple[Any, float]:
        async with slots:
            began = time.monotonic()
            response = await call_in_sandbox(child.parent / "tool" / "api.py", function, {}, seconds=1)
            said = json.loads(response.body)
            return said if response.status == 200 else said["detail"], time.monotonic() - began

    async def all_called() -> list[tuple[Any, float]]:
        return await asyncio.gather(*map(called, FUNCTIONS))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sandbox, "_CHILD", child)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        found = dict(zip(FUNCTIONS, asyncio.run(all_called()), strict=True))
    found["memory, MiB"] = ((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024, 0)
    found["left"] = (_left(child), 0)
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
        while len(_left(child, 0)) < 3 * len(functions) + 1 and time.monotonic() < ends:
            time.sleep(0.05)
        assert len(_left(child, 0)) == 3 * len(functions) + 1
        caller.send_signal(signal.SIGKILL)
    assert not _left(child)
    assert not list((tmp_path / "temporary").iterdir())
