"""Take Ctrl-C once: several presses in quick succession mean one, and work in progress still ends in order."""

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

PATIENCE_S = 3.0
"""Seconds after an interrupt in which further ones are taken to be the same."""
_T = TypeVar("_T")
Handler = Callable[[int, FrameType | None], Any]


def debounce(handler: Handler, since: float | None = None) -> Handler:
    """Return a signal handler that passes on only the first of several signals in quick succession."""

    def take(number: int, frame: FrameType | None) -> None:
        nonlocal since
        now = time.monotonic()
        if since is None or now - since > PATIENCE_S:
            since = now
            handler(number, frame)

    return take


@contextmanager
def in_order() -> Iterator[asyncio.Runner]:
    """Yield a runner like that of `asyncio.run`, in which a second Ctrl-C does not interrupt what the first one is ending in order.

    If a command ends that way, its last words are not interrupted either.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed; the work in progress has been put down.
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
    """Run a coroutine like `asyncio.run`, with the runner of `in_order`."""
    with in_order() as runner:
        return runner.run(work)


def run_in_thread(work: Coroutine[Any, Any, _T]) -> _T:
    """Wait in this thread for what another one runs; Ctrl-C here cancels it there, so that work in progress is put down in order."""
    import asyncio
    import contextlib
    from concurrent.futures import CancelledError, ThreadPoolExecutor

    loop = asyncio.new_event_loop()
    # Made here, it has this thread's context: what it displays belongs to the waiting cell.
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


@contextmanager
def interrupts_at_once() -> Iterator[None]:
    """Let Ctrl-C end work that never yields, such as a model that is loaded; an event loop's own handler waits for its next turn."""
    if threading.current_thread() is not threading.main_thread() or not callable(before := signal.getsignal(signal.SIGINT)):
        yield
        return
    pressed = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:  # and the work has lost it, as in a finalizer
        raise KeyboardInterrupt
