"""Call code that may never return, each call in a thread that nothing waits for at the end; find whose code it is, and where it is."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import os
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from types import FrameType
from typing import Any, Final

_LIBRARIES: Final = tuple({os.path.join(sysconfig.get_path(name), "") for name in ("purelib", "platlib")})
_PYTHON: Final = os.path.join(sysconfig.get_path("stdlib"), "")
_OURS: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")


class Work:
    """An activity of an episode or a tool call in the user's code; work begun within other work is part of it."""

    def __init__(self) -> None:
        self.over = False
        self._outer = working_for.get()
        self.threads: list[threading.Thread] = []
        self.task: asyncio.Task[Any] | None = None

    def is_part_of(self, other: Work) -> bool:
        """Return whether it is that work, or began within it, for example in a run that an agent starts."""
        return self is other or (self._outer is not None and self._outer.is_part_of(other))

    def place(self) -> str:
        """Say at which file and line it blocks a thread or awaits something; empty if neither is known."""
        frames = sys._current_frames()
        blocking = [place_in(stack_of(frames.get(one.ident or 0))) for one in list(self.threads)]
        if found := next(filter(None, blocking), ""):
            return f"it blocked a thread at {found}"
        awaiting = place_in(reversed(list(_await_chain(self.task))))
        return f"it was waiting at {awaiting}" if awaiting else ""


working_for: ContextVar[Work | None] = ContextVar("talm_sim_working_for", default=None)
"""The work that is running here."""


def run_for(work: Work | None, function: Callable[[], object], name: str) -> None:
    """Run a function in a daemon thread: those of a pool are joined at the end, so one that never returns would hold the process."""

    def run() -> None:
        try:
            function()
        finally:
            if work is not None:
                work.threads.remove(thread)

    thread = threading.Thread(target=run, name=name, daemon=True)
    if work is not None:
        work.threads.append(thread)
    thread.start()


def place_in(frames: Iterable[FrameType]) -> str:
    """Return file and line of the first frame of the user's own code, or else of a library; never of ours or Python's."""
    stack = [(one.f_code.co_filename, one.f_lineno) for one in frames if not one.f_code.co_filename.startswith((_OURS, "<frozen"))]
    theirs = [one for one in stack if one[0].startswith(_LIBRARIES)]
    mine = [one for one in stack if one not in theirs and not one[0].startswith(_PYTHON)]
    return next((f"{file}, line {line}" for file, line in mine or theirs), "")


def stack_of(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield a frame and those it was called from."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def _await_chain(task: asyncio.Task[Any] | None) -> Iterator[FrameType]:
    """Yield the coroutine of a task and those that await each other within it."""
    coroutine: Any = task and task.get_coro()
    while getattr(coroutine, "cr_frame", None) is not None:
        yield coroutine.cr_frame
        coroutine = coroutine.cr_await


async def call_apart(function: Callable[[], Any], name: str) -> Any:
    """Call a plain function in its own thread with this task's context; await its result if that is awaitable.

    Raises:
        BaseException: Whatever the function raised; `RuntimeError` for `KeyboardInterrupt` and `StopIteration`.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: Any, error: BaseException | None) -> None:
        if not done.done():
            done.set_result((result, error))  # a future looks at an error that it is given, and any class may refuse that

    def work() -> None:
        result: Any = None
        error: BaseException | None = None
        try:
            result = context.run(function)
        except (KeyboardInterrupt, StopIteration) as err:  # Ctrl-C reaches only the first thread, and no coroutine may raise the other
            error = RuntimeError(type(err).__name__).with_traceback(err.__traceback__)
        except BaseException as err:
            error = err
        with suppress(RuntimeError):  # the loop may be gone
            loop.call_soon_threadsafe(settle, result, error)

    run_for(working_for.get(), work, name)
    result, raised = await done
    if raised is not None:
        raise raised
    return await result if inspect.isawaitable(result) else result
