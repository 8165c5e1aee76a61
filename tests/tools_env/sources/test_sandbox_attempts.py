"""A stranger's code tries what it can to get out of the sandbox, to leave something behind, or to stay."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from inspect import isfunction
from pathlib import Path

import pytest

from talm_sim.tools_env.sources import sandbox
from talm_sim.tools_env.sources.sandbox import call_in_sandbox, explain_no_sandbox
from tests.tools_env.sources import attempts, staying
from tests.tools_env.sources.traces import processes, state

pytestmark = pytest.mark.skipif(bool(explain_no_sandbox()), reason="no sandbox: see talm-sim doctor")

_FILES = {
    "secret.txt": "hunter2",
    "tools/.env": "KEY=hunter2",
    "tools/.git/config": "[core]",
    "tools/.git/hooks/sample": "",
    "tools/.venv/pyvenv.cfg": "home = /usr",
    "tools/.venv/lib/x.py": "",
    "tools/venv/pyvenv.cfg": "home = /usr",
    "tools/venv/lib/x.py": "",
    "tools/runs/r1/run.db": "x",
    "tools/runs/note.txt": "x",
    "tools/old-run/run.db": "x",
    "tools/parts/part.py": "NUMBER = 7",
    "tools/parts/.env": "KEY=hunter2",
    "tools/parts/env/pyvenv.cfg": "home = /usr",
    "tools/beside.txt": "seen",
}


def _lay_out(directory: Path) -> Path:
    for name, text in _FILES.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text, encoding="utf-8")
    folder = directory / "tools"
    (folder / "leads-out").symlink_to(directory / "secret.txt")
    os.mkfifo(folder / "pipe")
    shutil.copy(attempts.__file__, folder / "api.py")
    return folder


def _others(folder: Path, directory: Path) -> list[str]:
    """What is in a folder beside the tools and the Python installation."""
    shown = [str(directory), sys.prefix, sys.base_prefix]
    return [one.name for one in (folder.iterdir() if folder.is_dir() else ()) if not any(place.startswith(str(one)) for place in shown)]


def _key() -> int:
    """A key in the session's keyring, as Kerberos and others keep theirs; 0 where the kernel keeps none."""
    numbers, libc = attempts.NUMBERS, ctypes.CDLL(None)
    if libc.syscall(numbers["keyctl"], 1, None) < 0:
        return 0
    key: int = libc.syscall(numbers["add_key"], b"user", b"talm-sim-attempt", b"hunter2", ctypes.c_size_t(7), attempts.SESSION_KEYRING)
    return max(0, key)


async def test_no_attempt_gets_out_and_nobody_outside_hears_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """All attempts are made in one call."""
    with tempfile.TemporaryDirectory(dir="/tmp") as made, socket.create_server(("127.0.0.1", 0)) as server, contextlib.ExitStack() as opened:
        directory = Path(made).resolve()
        folder = _lay_out(directory)
        name = f"talm-sim-{os.getpid()}"
        stream = opened.enter_context(socket.socket(socket.AF_UNIX))
        datagram = opened.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        stream.bind(f"\0{name}")
        datagram.bind(f"\0{name}-datagram")
        stream.listen()
        inherited = opened.enter_context(open(directory / "secret.txt", encoding="utf-8"))
        os.set_inheritable(inherited.fileno(), True)
        victim = opened.enter_context(subprocess.Popen(["sleep", "60"]))
        opened.callback(victim.kill)
        monkeypatch.setenv("TALM_SIM_ATTEMPT_KEY", "hunter2")
        before = state(directory), os.stat(attempts.__file__), os.stat("/dev/null")
        known = {
            "folder": str(folder),
            "secret": str(directory / "secret.txt"),
            "home": str(Path.home()),
            "in_home": _others(Path.home(), directory),
            "in_tmp": _others(Path("/tmp"), directory),
            "port": server.getsockname()[1],
            "abstract": name,
            "victim": victim.pid,
            "caller": os.getpid(),
            "disk": os.stat("/").st_dev,
            "key": _key(),
        }
        said = json.loads((await call_in_sandbox(folder / "api.py", "try_all", known, seconds=60)).body)
        assert said.keys() == attempts.ATTEMPTS.keys() and not {one: how for one, how in said.items() if "got out" in how}
        assert (state(directory), os.stat(attempts.__file__), os.stat("/dev/null")) == before, "something was left behind"
        assert victim.poll() is None, "the process outside was ended"
        for one in (server, stream, datagram):
            one.setblocking(False)
            with pytest.raises(BlockingIOError):
                one.recv(9) if one is datagram else one.accept()


LATE = "it was stopped: it ran longer than 2 s"
ENDED = "it was stopped: it ran into a limit of memory, time, files or processes, made a forbidden call, or ended itself"
LONG = "it was stopped: its answer is longer than 1,024 KiB"
CUT_OFF = "its answer cannot be read"
SAID: dict[str, tuple[str | None, ...]] = {
    "kill_its_group": (ENDED,),
    "threads_that_stay": ("answered",),
    "flood": (LONG,),
    "flood_files": (ENDED, CUT_OFF),
    "flood_threads": ("RuntimeError: can't start new thread", LATE, ENDED),
    "slow_the_watcher": (None,),
    "no_files_for_the_watcher": (ENDED, LATE),
    "no_memory_for_the_watcher": (ENDED, LATE, CUT_OFF),
    "no_time_for_the_watcher": (ENDED, LATE, CUT_OFF),
    "whole_answer_and_stay": (LATE, "answered"),
    "a_program_with_the_answer": ("FileNotFoundError: [Errno 2] No such file or directory",),
    "exit_with_an_error": (ENDED,),
}
FUNCTIONS = [name for name, one in vars(staying).items() if isfunction(one)]


def _copy(directory: Path) -> Path:
    """A copy of what runs inside, by whose name its processes are found; the code lies beside it."""
    copy = directory / "child.py"
    shutil.copy(sandbox._CHILD, copy)
    (directory / "tool").mkdir()
    shutil.copy(staying.__file__, directory / "tool" / "api.py")
    return copy


async def test_it_ends_in_its_time_and_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child = _copy(tmp_path)
    monkeypatch.setattr(sandbox, "_CHILD", child)
    slots = asyncio.Semaphore(10)

    async def called(function: str) -> str:
        """What was wrong, if anything; a few are called at once, as they wait most of the time."""
        async with slots:
            began = time.monotonic()
            said = json.loads((await call_in_sandbox(child.parent / "tool" / "api.py", function, {}, seconds=2)).body)
        answer = said["detail"] if isinstance(said, dict) else said
        late = time.monotonic() - began > 20
        return f"{function}: {answer}" if late or answer not in SAID.get(function, (LATE,)) else ""

    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert not [wrong for wrong in await asyncio.gather(*map(called, FUNCTIONS)) if wrong]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 50 << 10
    assert not processes(child)


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
        # Of each call: `bwrap` outside and inside, and the code; and the caller itself.
        while len(processes(child, 0)) < 3 * len(functions) + 1 and time.monotonic() < ends:
            time.sleep(0.05)
        assert len(processes(child, 0)) == 3 * len(functions) + 1
        caller.send_signal(signal.SIGKILL)
    assert not processes(child)
    assert not list((tmp_path / "temporary").iterdir())
