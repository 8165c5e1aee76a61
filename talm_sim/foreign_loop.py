"""The event loop of code that is not ours: one for the process, in a thread of its own, which lives on between runs.

An agent or a tool of the user's may hold clients that were made once, and whose connections belong to the loop they were made on: on a loop of
each run's, the second run would find them closed. What blocks this loop does not block the run's.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Final, ParamSpec, TypeVar

__all__ = ["foreign_code_apart", "foreign_loop", "here_is_foreign_loop", "on_foreign_loop", "on_loop", "running_loop"]

_P = ParamSpec("_P")
_T = TypeVar("_T")

_apart: ContextVar[bool] = ContextVar("talm_sim_apart", default=False)
_NAME: Final = "talm-sim-foreign"


class _DaemonThreads(ThreadPoolExecutor):
    """Runs what a loop hands to threads in daemons, one a call: a pool's are joined at the end, and one that never returns would hold it."""

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        done: Future[_T] = Future()

        def work() -> None:
            if not done.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as err:
                done.set_exception(err)
            else:
                done.set_result(result)

        threading.Thread(target=work, name=f"{_NAME}-call", daemon=True).start()
        return done


class _Loop:
    """A loop and its thread, both for as long as the process."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.set_default_executor(_DaemonThreads())
        self._thread = threading.Thread(target=self._run, name=_NAME, daemon=True)
        self._ends = False
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        while not self._ends:
            # SystemExit and KeyboardInterrupt of a task leave the loop, which others still need.
            with suppress(SystemExit, KeyboardInterrupt):
                self.loop.run_forever()

    def end(self) -> None:
        """Stop it when the process ends; what it still runs ends there, without a word."""
        self._ends = True
        self.loop.set_exception_handler(lambda loop, context: None)
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(1)


_lock = threading.Lock()
_living: list[_Loop] = []


def foreign_loop() -> asyncio.AbstractEventLoop:
    """The process' loop for foreign code; made when it is first asked for."""
    with _lock:
        if not _living:
            _living.append(_Loop())
            atexit.register(_living[0].end)
        return _living[0].loop


def here_is_foreign_loop() -> bool:
    """Whether the running loop is that one."""
    return bool(_living) and running_loop() is _living[0].loop


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The loop that runs in this thread; None where none does."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _forget() -> None:
    """A child process has the loop's object and not its thread."""
    for one in _living:
        atexit.unregister(one.end)
    _living.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@contextmanager
def foreign_code_apart() -> Iterator[None]:
    """Within it, `on_foreign_loop` goes to the loop that lives on; else to the one that runs, which is the caller's own."""
    token = _apart.set(True)
    try:
        yield
    finally:
        _apart.reset(token)


async def on_foreign_loop(work: Coroutine[Any, Any, _T]) -> _T:
    """Await code that is not ours, on the loop that is its own in this run."""
    return await (on_loop(work, foreign_loop()) if _apart.get() else work)


async def on_loop(work: Coroutine[Any, Any, _T], loop: asyncio.AbstractEventLoop) -> _T:
    """Await work on a loop, from whichever loop runs here; a cancellation goes along."""
    if asyncio.get_running_loop() is loop:
        return await work
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))
