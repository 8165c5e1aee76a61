"""Run the user's code in an event loop of its own: one for the process, in its own thread, kept between runs.

A user's agent or tool may hold clients that were made once, and whose connections belong to the loop they were made on: with a new loop for
each run, the second run would find them closed. What blocks this loop does not block the run's; if it stays blocked too long, the loop is
given up with its thread, and the next call makes a new one.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final, Generic, ParamSpec, TypeVar

from talm_sim.foreign.threads import Work, place_in, run_for, stack_of, working_for

_P = ParamSpec("_P")
_T = TypeVar("_T")

_apart: ContextVar[bool] = ContextVar("talm_sim_apart", default=False)
_NAME: Final = "talm-sim-foreign"
_BLOCKED_S: Final = 0.3
"""Seconds without a break after which running code counts as blocking the loop."""
_HANDLE: Final = asyncio.Handle._run.__code__


class LoopGivenUp(BaseException):
    """The loop that this ran on was blocked by something else and was given up; the work starts again. No `except Exception` catches it."""

    def __init__(self, work: Work | None, place: str) -> None:
        super().__init__(f"the event loop of all agents was blocked at {place} and had to be abandoned")
        self.work = work
        self.place = place


@dataclass(frozen=True, slots=True)
class CurrentWork:
    """What the loop is running now.

    Attributes:
        seconds: How long it has been running without a break, while others wait.
        give_up: Gives the loop up, with the thread that it runs in.
    """

    work: Work | None
    seconds: float
    place: str
    give_up: Callable[[], None]

    def is_of(self, work: Work) -> bool:
        """Return whether it is, or may be, part of some work."""
        return self.work is None or self.work.is_part_of(work)


class _DaemonThreads(ThreadPoolExecutor):
    """Runs what a loop hands to threads in daemon threads, one per call."""

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

        run_for(working_for.get(), work, f"{_NAME}-call")
        return done


class _Result(Generic[_T]):
    """The result or error of work that runs on another loop than the one that waits for it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.done: asyncio.Future[_T] = self._loop.create_future()

    async def of(self, work: Coroutine[Any, Any, _T]) -> None:
        """Do the work, on the other loop."""
        try:
            self.settle(await work)
        except KeyboardInterrupt as err:  # Ctrl-C reaches only the first thread
            self.settle(None, RuntimeError(type(err).__name__).with_traceback(err.__traceback__))
        except BaseException as err:
            self.settle(None, err)

    def settle(self, result: Any, error: BaseException | None = None) -> None:
        """Set the result or the error, from any thread."""
        with suppress(RuntimeError):  # the loop that waited may be gone
            self._loop.call_soon_threadsafe(self._settle, result, error)

    def _settle(self, result: Any, error: BaseException | None) -> None:
        if self.done.done():
            return
        if isinstance(error, asyncio.CancelledError):
            self.done.cancel()
        elif error is not None:
            self.done.set_exception(error)
        else:
            self.done.set_result(result)


class _Loop:
    """A loop and its thread, which both last as long as the process, or until the loop is given up."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.set_default_executor(_DaemonThreads())
        self._thread = threading.Thread(target=self._run, name=_NAME, daemon=True)
        self._ends = False
        self._lost: LoopGivenUp | None = None
        self._waiting: set[_Result[Any]] = set()
        self._seen: tuple[object, float] | None = None
        self._thread.start()

    def _run(self) -> None:
        _here.home = self
        asyncio.set_event_loop(self.loop)
        while not self._ends:
            # SystemExit and KeyboardInterrupt of a task leave the loop, which others still need.
            with suppress(SystemExit, KeyboardInterrupt):
                self.loop.run_forever()

    def stop(self) -> None:
        """Stop the loop when the process ends; what is still running ends silently."""
        self._stop()
        self._thread.join(1)

    def _stop(self) -> None:
        self._ends = True
        self.loop.set_exception_handler(lambda loop, context: None)
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.loop.stop)

    def give_up(self, work: Work | None, place: str) -> None:
        """Give the loop up: everyone who waits for its work is told so, and the next call makes a new one."""
        self._lost = LoopGivenUp(work, place)
        with _lock:
            if self in _living:
                _living.remove(self)
                _given_up.append(self)
            self._stop()
            waiting, self._waiting = self._waiting, set()
        atexit.unregister(self.stop)
        for one in waiting:
            one.settle(None, LoopGivenUp(work, place))

    async def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Await work on this loop from another one; a cancellation is passed on."""
        result: _Result[_T] = _Result()
        task: asyncio.Task[None] | None = None

        def start() -> None:
            nonlocal task
            if result.done.cancelled():
                work.close()
            else:
                task = self.loop.create_task(result.of(work))

        with _lock:
            if self._lost is not None:
                work.close()
                raise self._lost
            self._waiting.add(result)
        self.loop.call_soon_threadsafe(start)
        try:
            return await result.done
        except asyncio.CancelledError:
            self.loop.call_soon_threadsafe(lambda: task and task.cancel())
            raise
        finally:
            self._waiting.discard(result)

    def current_work(self) -> CurrentWork | None:
        """Return what the loop is running; None if it is waiting."""
        frame = sys._current_frames().get(self._thread.ident or 0)
        handle = _handle_in(frame)
        with _lock:
            now = time.monotonic()
            if self._seen is None or self._seen[0] is not handle:
                self._seen = handle, now
            since = self._seen[1]
        if handle is None:
            return None
        work, place = handle._context.get(working_for), place_in(stack_of(frame))  # type: ignore[attr-defined]
        return CurrentWork(work, now - since, place, lambda: self.give_up(work, place))


def _handle_in(frame: FrameType | None) -> asyncio.Handle | None:
    """Return the step of a task, or the callback, that the loop is running; its context shows whose it is."""
    found = next((one for one in stack_of(frame) if one.f_code is _HANDLE), None)
    return found and found.f_locals["self"]


_lock = threading.Lock()
_here = threading.local()
_living: list[_Loop] = []
_given_up: list[_Loop] = []
"""Loops that were given up. They are kept because their waiting tasks would otherwise be closed midway, when memory happens to be freed.
"""


def _home() -> _Loop:
    with _lock:
        if not _living:
            _living.append(_Loop())
            atexit.register(_living[0].stop)
        return _living[0]


def foreign_loop() -> asyncio.AbstractEventLoop:
    """Return the process' loop for the user's code; it is made when first asked for, and again after it was given up."""
    return _home().loop


def is_foreign_loop() -> bool:
    """Return whether the running loop is, or was, the loop for the user's code."""
    return running_loop() is not None and hasattr(_here, "home")


def was_loop_given_up() -> bool:
    """Return whether this thread's loop was the one for the user's code, and was given up."""
    return getattr(_here, "home", None) in _given_up


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the loop that runs in this thread; None if there is none."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _forget() -> None:
    """Forget the loop in a child process, which has the loop's object but not its thread."""
    global _lock  # noqa: PLW0603  # it may have been held by a thread that is not there
    _lock = threading.Lock()
    for one in _living:
        atexit.unregister(one.stop)
    _living.clear()
    _given_up.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@contextmanager
def use_foreign_loop() -> Iterator[None]:
    """Let `on_foreign_loop` use the lasting loop within the block; outside, it uses the caller's running loop."""
    token = _apart.set(True)
    try:
        yield
    finally:
        _apart.reset(token)


async def on_foreign_loop(call: Coroutine[Any, Any, _T], work: Work | None = None) -> _T:
    """Await the user's code on its loop in this run.

    Raises:
        LoopGivenUp: Something else blocked the loop and did not stop; the progress so far is lost.
    """
    if not _apart.get() or is_foreign_loop():
        return await call
    token = working_for.set(work or working_for.get())
    try:
        return await _home().run(call)
    finally:
        working_for.reset(token)


async def on_loop(work: Coroutine[Any, Any, _T], loop: asyncio.AbstractEventLoop) -> _T:
    """Await work on a loop, from whichever loop runs here; a cancellation is passed on."""
    if asyncio.get_running_loop() is loop:
        return await work
    found: _T = _found(await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_kept(work), loop)))
    return found


def wait_on_loop(work: Coroutine[Any, Any, _T], loop: asyncio.AbstractEventLoop) -> _T:
    """Wait for work on a loop, in a thread that has none."""
    found: _T = _found(asyncio.run_coroutine_threadsafe(_kept(work), loop).result())
    return found


async def _kept(work: Coroutine[Any, Any, _T]) -> tuple[_T | None, Exception | None]:
    """Return a result or an error: a future of another thread makes a `TimeoutError` anew, without what the error has besides its text."""
    try:
        return await work, None
    except Exception as err:
        return None, err


def _found(kept: tuple[Any, Exception | None]) -> Any:
    if kept[1] is not None:
        raise kept[1]
    return kept[0]


def current_foreign_work() -> CurrentWork | None:
    """Return what the loop for the user's code is running; None if it is waiting, or if the code runs on the caller's own loop."""
    return _living[0].current_work() if _apart.get() and _living and not is_foreign_loop() else None


async def blocks(work: Work) -> CurrentWork | None:
    """Wait until some work is seen to block the loop, and return what blocks it; None if nothing does."""
    until = time.monotonic() + 2 * _BLOCKED_S
    while (found := current_foreign_work()) is not None and found.is_of(work) and time.monotonic() < until:
        if found.seconds >= _BLOCKED_S:
            return found
        await asyncio.sleep(_BLOCKED_S / 10)
    return None


async def abandon_loop_of(work: Work) -> None:
    """Give the loop up if work that is over blocks it."""
    work.over = True
    if found := await blocks(work):
        found.give_up()
