"""Run by path, beside a model server: ends it, and all it started, when standard input closes, which it does however the parent dies.

    python vllm_guard.py SECONDS COMMAND...

The parent starts this in a session of its own, so that Ctrl-C in a terminal is not the server's. Imports nothing heavy: it costs 10 MB.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading

__all__ = ["guard", "main"]


def guard(command: list[str], grace: float) -> int:
    """Run `command` until it ends by itself or standard input closes.

    Whatever is left of its process group afterwards is ended, this process included.

    Args:
        command: The server's program and arguments.
        grace: Seconds between asking the server to end and ending it.

    Returns:
        Its exit status.
    """
    ending = threading.Event()
    # The group is asked as a whole below; this process is to see it end.
    signal.signal(signal.SIGTERM, lambda *_: ending.set())
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    threading.Thread(target=_until_closed, args=(ending,), daemon=True).start()
    threading.Thread(target=_until_ended, args=(child, ending), daemon=True).start()
    ending.wait()
    os.killpg(0, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(grace)
    if child.returncode is None:
        child.kill()
    return child.wait()


def _until_closed(ending: threading.Event) -> None:
    while os.read(0, 1024):
        pass
    ending.set()


def _until_ended(child: subprocess.Popen[bytes], ending: threading.Event) -> None:
    child.wait()
    ending.set()


def main() -> int:
    """Guard the command given on the command line; ends the whole process group."""
    with contextlib.suppress(PermissionError):
        os.setsid()  # refused where this process leads its session already
    status = guard(sys.argv[2:], float(sys.argv[1]))
    print(f"the server ended with status {status}", flush=True)
    # Processes the server left behind hold memory and ports.
    os.killpg(0, signal.SIGKILL)
    return status


if __name__ == "__main__":
    sys.exit(main())
