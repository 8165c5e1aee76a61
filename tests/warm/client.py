"""What stands in for Python: asks the server beside it for a child, forwards signals to it, and ends as it ends.

This file is copied into a program of its own, so it imports nothing of ours, and little else: it starts in a few milliseconds.
"""

from __future__ import annotations

import array
import os
import signal
import socket
import sys

_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH)
_FILES = (0, 1, 2)
_OPTIONS = ("-P", "-u")
"""What may stand before a module or a text that is run; with anything else Python itself is started."""


def main() -> None:
    """Hand everything over and wait."""
    words = [word for word in sys.argv[1:] if word not in _OPTIONS]
    if not words or words[0] not in {"-m", "-c"}:
        os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
    files = [number for number in _FILES if _is_open(number)]
    ignored = [number for number in _FORWARDED if signal.getsignal(number) is signal.SIG_IGN]
    server = socket.socket(socket.AF_UNIX)
    server.connect(os.path.join(os.path.dirname(os.path.abspath(__file__)), "socket"))
    request = repr((sys.argv[1:], os.getcwd(), files, [int(number) for number in ignored], dict(os.environ))).encode("utf-8", "surrogateescape")
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else []
    server.sendmsg([len(request).to_bytes(8, "big")], rights)
    server.sendall(request)
    for number in _FORWARDED:
        if number not in ignored:
            signal.signal(number, lambda number, _: server.send(bytes([number])))
    for file in files:  # whoever reads them sees their end as soon as the child has ended
        os.close(file)
    answer = server.recv(4)
    if not answer:
        os._exit(125)
    code = os.waitstatus_to_exitcode(int.from_bytes(answer, "big"))
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


main()
