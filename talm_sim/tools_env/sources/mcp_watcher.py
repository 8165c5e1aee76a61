"""Starts an MCP server's program and ends it, with all that it started, once talm-sim has ended in whatever way or says so with SIGTERM.

Run as a program, `mcp_watcher.py PARENT SECONDS PROGRAM [WORD ...]`, with the server's standard streams. PARENT is talm-sim's process id,
SECONDS is how long the server has to end by itself, and again after SIGTERM. On Linux the watcher adopts what the server leaves behind, so that
not even a process with a session of its own escapes; elsewhere it ends the server's process group.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from typing import Final

_HEARD: Final = {signal.SIGCHLD, signal.SIGTERM, signal.SIGALRM, signal.SIGINT, signal.SIGHUP}
_ADOPT_ORPHANS: Final = 36  # PR_SET_CHILD_SUBREAPER
_LOOK_S: Final = 1.0
"""Seconds between two looks at whether talm-sim lives."""
_LEFTOVERS_S: Final = 0.3
"""Seconds that leftover processes have after SIGTERM if the server has ended by itself: until they are gone they may hold its output."""
_KILLED_S: Final = 5.0


def main(parent: int, patience: float, words: list[str]) -> None:
    """Start the program, and return once nothing of it is left."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1, 0, 0, 0)
    server = os.fork()
    if server == 0:
        _become(words)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):  # those who wait for the end of a stream must not wait for this process
        os.dup2(nothing, number)
    signal.setitimer(signal.ITIMER_REAL, _LOOK_S, _LOOK_S)
    heard = None
    while _is_alive(server) and heard not in {signal.SIGTERM, signal.SIGINT, signal.SIGHUP} and os.getppid() == parent:
        heard = signal.sigwait(_HEARD)
    until = time.monotonic() + patience
    while _is_alive(server) and time.monotonic() < until:  # its input has ended
        time.sleep(0.02)
    _signal_all(server, signal.SIGTERM, patience if _is_alive(server) else _LEFTOVERS_S)
    _signal_all(server, signal.SIGKILL, _KILLED_S)


def _become(words: list[str]) -> None:
    os.setsid()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEARD)
    try:
        os.execvp(words[0], words)
    except OSError as err:
        os.write(2, f"{words[0]}: {err.strerror}\n".encode(errors="replace"))
    os._exit(127)


def _is_alive(server: int) -> bool:
    try:
        return os.waitpid(server, os.WNOHANG)[0] == 0
    except ChildProcessError:
        return False


def _signal_all(server: int, how: signal.Signals, seconds: float) -> None:
    """Send all that is left a signal, and wait until it is gone; processes that appear after SIGKILL are killed as well."""
    until = time.monotonic() + seconds
    first = True
    while time.monotonic() < until:
        left = _living_descendants(server)
        if not left:
            return
        if first or how == signal.SIGKILL:
            for pid in left:
                with contextlib.suppress(OSError):
                    os.kill(pid, how)
        first = False
        time.sleep(0.02)


def _living_descendants(server: int) -> list[int]:
    """Return the living processes among the server and its descendants; dead ones are reaped."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        if sys.platform == "linux":
            return []
    if sys.platform != "linux":
        try:
            os.killpg(server, 0)
        except OSError:
            return []
        return [-server]
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
        except OSError:
            continue
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return sorted(found - {os.getpid()})


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:])
