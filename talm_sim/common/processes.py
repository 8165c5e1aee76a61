"""Find the process that something belongs to, whether it is alive and what it left behind; end this one."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import socket
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final, NoReturn

from talm_sim.common.digests import digest
from talm_sim.foreign.code import foreign_code_has_run
from talm_sim.foreign.error_text import escape_control

_YOUNG_SECONDS: Final = 86_400.0
"""Seconds for which a leftover is kept whose process is not known, for example one of another machine."""
_OWN_NAME: Final = re.compile(r"\..*\.(?P<pid>\d{1,10})-(?P<place>[0-9a-f]{8})-(?P<process>[0-9a-f]{8})\.[0-9a-f]{8}(\.tmp)?")


_ABANDONED: Final[list[threading.Thread]] = []
_CODES: Final[list[int]] = []
_END_S: Final = 5.0
"""Seconds that the interpreter's end may take if the user's code has run."""


def stop_waiting_for(thread: threading.Thread) -> None:
    """Stop waiting for a thread that is stuck in the user's code, and for what it waits for."""
    _ABANDONED[:] = [*filter(threading.Thread.is_alive, _ABANDONED), thread]


def leave(code: int) -> int:
    """Return an exit code; if an abandoned thread still runs, end the process here, because the interpreter's own end would abort."""
    if any(thread.is_alive() for thread in _ABANDONED):
        _exit_now(code)
    return code


def end_in_time(code: int, tell: Callable[[str], None]) -> None:
    """Let the interpreter's end take a few seconds at most, if the user's code has run.

    It waits for pools and child processes and calls registered functions; each of them may never return.
    """
    if not foreign_code_has_run():
        return
    _CODES.append(code)
    if len(_CODES) == 1:
        ends = threading.Event()
        threading.Thread(target=_watch_end, args=(ends, tell), name="talm-sim-end", daemon=True).start()
        threading._register_atexit(ends.set)  # type: ignore[attr-defined]  # called first of all; what is public is called after the waiting


def _watch_end(ends: threading.Event, tell: Callable[[str], None]) -> None:
    from talm_sim.foreign.threads import place_in, stack_of  # not at the top: it imports asyncio, which a help page does without

    ends.wait()
    time.sleep(_END_S)
    frames = sys._current_frames()
    others = (frames.get(one.ident or 0) for one in threading.enumerate() if one is not threading.current_thread())
    place = next(filter(None, (place_in(stack_of(one)) for one in others)), "")
    with contextlib.suppress(AttributeError, OSError, ValueError):
        tell(f"your code was still running {_END_S:g} s after the end and was stopped{f' at {escape_control(place)}' if place else ''}")
    _exit_now(_CODES[-1])


def _exit_now(code: int) -> NoReturn:
    """End the process immediately, with the child processes that Python's own end would wait for."""
    if "multiprocessing" in sys.modules:
        for child in sys.modules["multiprocessing"].active_children():
            child.kill()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()
    os._exit(code)


def machine_and_boot() -> tuple[str, str]:
    """Return this machine's name, and a mark that changes with a reboot and differs in another container of the same name."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return socket.gethostname(), f"{boot}/{os.readlink('/proc/self/ns/pid')}/"
    except OSError:
        return socket.gethostname(), "/"


def mark_of(pid: int) -> str:
    """Return the mark of a living process, which a later process with the same number does not share; empty for a dead one."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return ""
    except OSError:
        pass  # alive, another user's
    _, boot = machine_and_boot()
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return boot
    return "" if fields[0] == "Z" else f"{boot}{fields[19]}"


def hidden_name(of: str, end: str = "") -> str:
    """Return a hidden name for what this process makes and, unless it is killed, removes again; see `sweep`."""
    return f".{of}.{_process_mark(os.getpid())}.{secrets.token_hex(4)}{end}"


def sweep(folder: Path) -> None:
    """Remove what dead processes left in a folder under a `hidden_name`; files of living ones stay, as do those that cannot be removed."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if (found := _OWN_NAME.fullmatch(entry.name)) is None:
                continue
            with contextlib.suppress(OSError):
                if not _is_left(found, entry.stat(follow_symlinks=False).st_mtime):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path)
                else:
                    os.unlink(entry.path)


def _is_left(found: re.Match[str], changed: float) -> bool:
    if sys.platform == "win32" or found["place"] != _place():
        return time.time() - changed > _YOUNG_SECONDS
    mark = mark_of(int(found["pid"]))
    return not mark or digest(mark, 8) != found["process"]


@cache
def _process_mark(pid: int) -> str:
    return f"{pid}-{_place()}-{digest(mark_of(pid) if sys.platform != 'win32' else '', 8)}"


@cache
def _place() -> str:
    return digest(machine_and_boot(), 8)
