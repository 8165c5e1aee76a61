"""Ctrl-C taken once: who presses it several times in quick succession means one, and what was begun is put down in order all the same."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from talm_sim.errors import on_command_line

if TYPE_CHECKING:
    import asyncio

__all__ = ["PATIENCE_S", "debounce", "in_order", "run_in_order", "run_in_thread"]

PATIENCE_S = 3.0
"""Seconds after an interrupt in which further ones are taken to be the same."""
_T = TypeVar("_T")
Handler = Callable[[int, FrameType | None], Any]


def debounce(handler: Handler, since: float | None = None) -> Handler:
    """A signal handler that hands on the first of several signals in quick succession.

    Args:
        handler: What takes it.
        since: When, by the monotonic clock, the first one came; None where none has come.
    """

    def take(number: int, frame: FrameType | None) -> None:
        nonlocal since
        now = time.monotonic()
        if since is None or now - since > PATIENCE_S:
            since = now
            handler(number, frame)

    return take


@contextmanager
def in_order() -> Iterator[asyncio.Runner]:
    """A runner as of `asyncio.run`, in which a second Ctrl-C does not break off what the first one ends in order.

    Where that ends a command, it does not break off the command's last words either.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed; what was under way has been put down.
    """
    import asyncio  # not at the top: a help page needs no event loop

    before = signal.getsignal(signal.SIGINT)
    with asyncio.Runner() as runner:
        if threading.current_thread() is not threading.main_thread() or before is not signal.default_int_handler:
            yield runner
            return

        def take_once() -> None:
            own = signal.getsignal(signal.SIGINT)  # by which asyncio cancels the task that runs
            if callable(own):
                signal.signal(signal.SIGINT, debounce(own))

        runner.get_loop().call_soon(take_once)  # in the loop: asyncio sets its own as it begins to run
        after: Handler = before
        try:
            yield runner
        except KeyboardInterrupt:
            if on_command_line.get():
                after = debounce(before, time.monotonic())
            raise
        finally:
            signal.signal(signal.SIGINT, after)


def run_in_order(work: Coroutine[Any, Any, _T]) -> _T:
    """`asyncio.run`, with a runner of `in_order`."""
    with in_order() as runner:
        return runner.run(work)


def run_in_thread(work: Coroutine[Any, Any, _T]) -> _T:
    """Wait in this thread for what another one runs; Ctrl-C here cancels it there, so that what is under way is put down in order."""
    import asyncio
    import contextlib
    from concurrent.futures import CancelledError, ThreadPoolExecutor

    loop = asyncio.new_event_loop()
    # Made here, it has this thread's context: what it displays belongs to the cell that waits.
    task = loop.create_task(work)

    def run() -> _T:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            return runner.run(_result(task))

    with ThreadPoolExecutor(1, "talm-sim-loop") as pool:
        done = pool.submit(run)
        try:
            return done.result()
        except KeyboardInterrupt:
            loop.call_soon_threadsafe(task.cancel)
            with contextlib.suppress(CancelledError, asyncio.CancelledError):
                done.result()
            raise


async def _result(task: asyncio.Task[_T]) -> _T:
    return await task
