"""Let SIGTERM and SIGHUP end a command as Ctrl-C does: in order, with everything kept and a line that says how to continue."""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from talm_sim.common.interrupts import debounce

_INTERRUPTED = 130
_MOMENT_S = 0.5


class StopSignals:
    """The signal that told the command to end."""

    number = 0
    _taken = 0.0
    _noted: socket.socket | None = None

    def pressed_since(self) -> bool:
        """Return whether Ctrl-C was pressed since the last call: an import that it interrupts may end in any error of the library's own."""
        with suppress(OSError):
            return self._noted is not None and signal.SIGINT in self._noted.recv(4096)
        return False

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note signals in the block, for `pressed_since`; not if somebody else handles them, for example a program that calls this."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.setblocking(False)
            theirs.setblocking(False)
            before = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
            if before == -1:
                self._noted = ours
            else:
                signal.set_wakeup_fd(before)
            try:
                yield
            finally:
                if before == -1:
                    signal.set_wakeup_fd(-1)
                self._noted = None

    def code(self, code: int) -> int:
        """Return the exit code of a command that ended with `code`: if a signal interrupted it, the one by which shells know the signal."""
        return 128 + self.number if self.number and code == _INTERRUPTED else code

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Take a signal; a second one, a moment or more later, ends the process at once."""
        if self.number and time.monotonic() - self._taken < _MOMENT_S:
            return  # a terminal that goes away may send it twice: the kernel and the shell
        if self.number:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        self.number, self._taken = number, time.monotonic()
        if callable(signal.getsignal(signal.SIGINT)):
            # Whatever waits for Ctrl-C can now end in order: the event loop, or the line that is edited.
            signal.raise_signal(signal.SIGINT)
        else:  # a shell starts what it runs in the background with Ctrl-C ignored
            _interrupt()


def only_ends() -> None:
    """After Ctrl-C, only end the command: further presses interrupt neither its last words nor the interpreter's end.

    One that comes later than `PATIENCE_S` seconds ends the process at once.
    """

    def end(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    in_main = threading.current_thread() is threading.main_thread()
    if in_main and callable(signal.getsignal(signal.SIGINT)):
        signal.signal(signal.SIGINT, debounce(end, time.monotonic()))


def _interrupt() -> None:
    """Interrupt the running code between two steps of the event loop, as an error within one may be lost in a callback of Python's."""
    import asyncio  # not at the top: a help page needs no event loop

    def interrupt() -> None:
        raise KeyboardInterrupt

    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        raise KeyboardInterrupt from None
    loop.call_soon_threadsafe(interrupt)


@contextmanager
def as_ctrl_c() -> Iterator[StopSignals]:
    """Take SIGTERM and SIGHUP as Ctrl-C while a command runs; signals already ignored or handled are left alone."""
    ending = StopSignals()
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():  # handlers cannot be set here
        yield ending
        return
    ours = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, ending)
    try:
        with ending.noting():
            yield ending
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
