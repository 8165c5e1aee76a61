"""A stranger's code tries what it can to get out of the sandbox, to leave something behind, or to stay."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from talm_sim.tools_env.sources.sandbox import call_in_sandbox, explain_no_sandbox
from tests.tools_env.sources import attempts
from tests.tools_env.sources.traces import state

pytestmark = pytest.mark.skipif(bool(explain_no_sandbox()), reason="this system has no namespaces")

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


@pytest.fixture(scope="module")
def outcome() -> Iterator[dict[str, str]]:
    """What came of each attempt, all made in one call; `left` and `heard` say what is seen of them outside."""
    with tempfile.TemporaryDirectory(dir="/tmp") as made, socket.create_server(("127.0.0.1", 0)) as server:
        directory = Path(made).resolve()
        folder = _lay_out(directory)
        name = f"talm-sim-{os.getpid()}"
        stream, datagram = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        stream.bind(f"\0{name}")
        datagram.bind(f"\0{name}-datagram")
        stream.listen()
        victim = subprocess.Popen(["sleep", "60"])
        with stream, datagram, victim, open(directory / "secret.txt", encoding="utf-8") as inherited:
            os.set_inheritable(inherited.fileno(), True)
            os.environ["TALM_SIM_ATTEMPT_KEY"] = "hunter2"
            before = state(directory), os.stat(attempts.__file__)
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
            try:
                found = asyncio.run(call_in_sandbox(folder / "api.py", "try_all", known, seconds=60))
                said = json.loads(found.body)
                said["left"] = "" if (state(directory), os.stat(attempts.__file__)) == before else "something was left behind"
                said["heard"] = "" if victim.poll() is None else "the process outside was ended"
                for one in (server, stream, datagram):
                    one.setblocking(False)
                    with contextlib.suppress(BlockingIOError):
                        said["heard"] += str(one.recv(9) if one is datagram else one.accept())
            finally:
                del os.environ["TALM_SIM_ATTEMPT_KEY"]
                victim.kill()
            yield said


@pytest.mark.parametrize("attempt", attempts.ATTEMPTS)
def test_it_does_not_get_out(attempt: str, outcome: dict[str, str]) -> None:
    assert "got out" not in outcome[attempt]


def test_nothing_is_left_behind_and_nobody_outside_heard_of_it(outcome: dict[str, str]) -> None:
    assert (outcome["left"], outcome["heard"]) == ("", "")
