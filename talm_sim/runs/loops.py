"""The package's coroutines for callers without an event loop, and for those in whose thread one is running already."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import Any, TypeVar

__all__ = ["to_completion"]

_T = TypeVar("_T")


def to_completion(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine in a loop of its own, and return what it returns; where a loop is running, as in a notebook, in a thread of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    return _in_a_thread(work)


def _in_a_thread(work: Coroutine[Any, Any, _T]) -> _T:
    """Wait in this thread for what another one runs; Ctrl-C here cancels it there, so that what is under way is put down in order."""
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
