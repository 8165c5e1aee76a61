"""The event loop of code that is not ours: one for the process, in a thread of its own, which lives on between runs.

An agent or a tool of the user's may hold clients that were made once, and whose connections belong to the loop they were made on: on a loop of
each run's, the second run would find them closed. What blocks this loop does not block the run's; where that lasts beyond its time, the loop
is given up with its thread, and the next call makes a new one.
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

__all__ = [
    "CurrentWork",
    "LoopGivenUp",
    "abandon_loop_of",
    "blocks",
    "current_foreign_work",
    "foreign_loop",
    "is_foreign_loop",
    "on_foreign_loop",
    "on_loop",
    "running_loop",
    "use_foreign_loop",
    "was_loop_given_up",
]

_P = ParamSpec("_P")
_T = TypeVar("_T")

_apart: ContextVar[bool] = ContextVar("talm_sim_apart", default=False)
_NAME: Final = "talm-sim-foreign"
_BLOCKED_S: Final = 0.3
"""What runs for so long without a break blocks the loop."""
_HANDLE: Final = asyncio.Handle._run.__code__


class LoopGivenUp(BaseException):
    """The loop that this ran on was blocked, and was given up: what something else blocked starts again. No `except Exception` holds it up.

    Args:
        work: What blocked it; None where that is not known.
        place: File and line where it did.
    """

    def __init__(self, work: Work | None, place: str) -> None:
        super().__init__(f"the event loop of all agents was blocked at {place} and had to be abandoned")
        self.work = work
        self.place = place


@dataclass(frozen=True, slots=True)
class CurrentWork:
    """What the loop runs just now.

    Attributes:
        work: Whose it is; None where that cannot be known.
        seconds: For how long it has been seen to run, without a break: others wait meanwhile.
        place: File and line.
        give_up: Gives the loop up, with the thread that it runs in.
    """

    work: Work | None
    seconds: float
    place: str
    give_up: Callable[[], None]

    def is_of(self, work: Work) -> bool:
        """Whether it is part of some work, or may be."""
        return self.work is None or self.work.is_part_of(work)


class _DaemonThreads(ThreadPoolExecutor):
    """Runs what a loop hands to threads in daemons, one a call."""

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
    """What runs on another loop than the one that waits for it comes to, or why it came to nothing."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.done: asyncio.Future[_T] = self._loop.create_future()

    async def of(self, work: Coroutine[Any, Any, _T]) -> None:
        """Do the work, on that other loop."""
        try:
            self.settle(await work)
        except KeyboardInterrupt as err:  # Ctrl-C comes to no thread but the first
            self.settle(None, RuntimeError(type(err).__name__).with_traceback(err.__traceback__))
        except BaseException as err:
            self.settle(None, err)

    def settle(self, result: Any, error: BaseException | None = None) -> None:
        """Settle it, from any thread."""
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
    """A loop and its thread, both for as long as the process; or until it is given up."""

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
        """Stop it when the process ends; what it still runs ends there, without a word."""
        self._stop()
        self._thread.join(1)

    def _stop(self) -> None:
        self._ends = True
        self.loop.set_exception_handler(lambda loop, context: None)
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.loop.stop)

    def give_up(self, work: Work | None, place: str) -> None:
        """Let it be: whoever waits for what runs on it learns that, and the next call makes a new one."""
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
        """Await work on this loop, from another; a cancellation goes along."""
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
        """What it runs; None where it waits."""
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
    """What the loop runs just now: a step of a task, or a callback. It has the context, and so tells whose it is."""
    found = next((one for one in stack_of(frame) if one.f_code is _HANDLE), None)
    return found and found.f_locals["self"]


_lock = threading.Lock()
_here = threading.local()
_living: list[_Loop] = []
_given_up: list[_Loop] = []
"""They are kept: what waits there would else be closed in the middle, wherever memory happens to be freed."""


def _home() -> _Loop:
    with _lock:
        if not _living:
            _living.append(_Loop())
            atexit.register(_living[0].stop)
        return _living[0]


def foreign_loop() -> asyncio.AbstractEventLoop:
    """The process' loop for foreign code; made when it is first asked for, and again after it was given up."""
    return _home().loop


def is_foreign_loop() -> bool:
    """Whether the running loop is that one, or was."""
    return running_loop() is not None and hasattr(_here, "home")


def was_loop_given_up() -> bool:
    """Whether this thread's loop was that one, and was given up."""
    return getattr(_here, "home", None) in _given_up


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The loop that runs in this thread; None where none does."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _forget() -> None:
    """A child process has the loop's object and not its thread."""
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
    """Within it, `on_foreign_loop` goes to the loop that lives on; else to the one that runs, which is the caller's own."""
    token = _apart.set(True)
    try:
        yield
    finally:
        _apart.reset(token)


async def on_foreign_loop(call: Coroutine[Any, Any, _T], work: Work | None = None) -> _T:
    """Await code that is not ours, on the loop that is its own in this run.

    Args:
        call: The code.
        work: Whose it is, where that is not already said.

    Raises:
        LoopGivenUp: Something else blocked that loop and did not stop; what was done so far is lost.
    """
    if not _apart.get() or is_foreign_loop():
        return await call
    token = working_for.set(work or working_for.get())
    try:
        return await _home().run(call)
    finally:
        working_for.reset(token)


async def on_loop(work: Coroutine[Any, Any, _T], loop: asyncio.AbstractEventLoop) -> _T:
    """Await work on a loop, from whichever loop runs here; a cancellation goes along."""
    if asyncio.get_running_loop() is loop:
        return await work
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))


def current_foreign_work() -> CurrentWork | None:
    """What the loop of foreign code runs just now; None where it waits, and where foreign code runs on the caller's own."""
    return _living[0].current_work() if _apart.get() and _living and not is_foreign_loop() else None


async def blocks(work: Work) -> CurrentWork | None:
    """What of some work blocks the loop, once it is seen to; None where nothing does."""
    until = time.monotonic() + 2 * _BLOCKED_S
    while (found := current_foreign_work()) is not None and found.is_of(work) and time.monotonic() < until:
        if found.seconds >= _BLOCKED_S:
            return found
        await asyncio.sleep(_BLOCKED_S / 10)
    return None


async def abandon_loop_of(work: Work) -> None:
    """Give the loop up where work that is over blocks it."""
    work.over = True
    if found := await blocks(work):
        found.give_up()
