"""Calls of code that may never return: each in a thread of its own, for which nothing waits at the end; whose they are, and where they are."""

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
from typing import Any, Final, TypeVar

__all__ = ["Work", "call_apart", "call_briefly", "place_in", "run_for", "stack_of", "working_for"]

_LIBRARIES: Final = tuple({os.path.join(sysconfig.get_path(name), "") for name in ("purelib", "platlib")})
_PYTHON: Final = os.path.join(sysconfig.get_path("stdlib"), "")
_BRIEFLY_S: Final = 1.0
_T = TypeVar("_T")
_OURS: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")


class Work:
    """What an episode or a tool call does in code that is not ours; begun within other such work, it is part of that.

    Attributes:
        over: Nobody waits for it any more.
        threads: Those that do it now.
        task: In which it began.
    """

    def __init__(self) -> None:
        self.over = False
        self._outer = working_for.get()
        self.threads: list[threading.Thread] = []
        self.task: asyncio.Task[Any] | None = None

    def is_part_of(self, other: Work) -> bool:
        """Whether it is that work, or was begun within it, as by a run that an agent begins."""
        return self is other or (self._outer is not None and self._outer.is_part_of(other))

    def place(self) -> str:
        """In words, file and line where it blocks a thread or awaits something; empty where neither is known."""
        frames = sys._current_frames()
        blocking = [place_in(stack_of(frames.get(one.ident or 0))) for one in list(self.threads)]
        found = next(filter(None, blocking), "")
        if found:
            return f"it blocked a thread at {found}"
        awaiting = place_in(reversed(list(_await_chain(self.task))))
        return f"it was waiting at {awaiting}" if awaiting else ""


working_for: ContextVar[Work | None] = ContextVar("talm_sim_working_for", default=None)
"""Whose work it is that runs here."""


def run_for(work: Work | None, function: Callable[[], object], name: str) -> None:
    """Run a function in a daemon thread: a pool's are joined at the end of the process, and one that never returns would hold it for ever."""

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
    """File and line of the first frame of the user's own code; of a library's where none is the user's, and never ours or Python's."""
    stack = [(one.f_code.co_filename, one.f_lineno) for one in frames if not one.f_code.co_filename.startswith((_OURS, "<frozen"))]
    theirs = [one for one in stack if one[0].startswith(_LIBRARIES)]
    mine = [one for one in stack if one not in theirs and not one[0].startswith(_PYTHON)]
    return next((f"{file}, line {line}" for file, line in mine or theirs), "")


def stack_of(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame, and those it was called from."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def _await_chain(task: asyncio.Task[Any] | None) -> Iterator[FrameType]:
    """The coroutine of a task, and those that await each other within it."""
    coroutine: Any = task and task.get_coro()
    while getattr(coroutine, "cr_frame", None) is not None:
        yield coroutine.cr_frame
        coroutine = coroutine.cr_await


async def call_apart(function: Callable[[], Any], name: str) -> Any:
    """Call a plain function in a thread of its own with this task's context; await what it gives back, where that is to be awaited.

    Args:
        function: Called once.
        name: The thread's.

    Raises:
        BaseException: What the function raised; `RuntimeError` for `KeyboardInterrupt` and `StopIteration`.
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
        except (KeyboardInterrupt, StopIteration) as err:  # Ctrl-C comes to no thread but the first, and no coroutine may raise the other
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


async def call_briefly(function: Callable[[], _T], otherwise: _T) -> _T:
    """Call a function that may run code which is not ours, as what looks at an error does: in a thread of its own, and for a second at most.

    Args:
        function: Called once.
        otherwise: Returned where it takes longer; it is left running then.
    """
    try:
        async with asyncio.timeout(_BRIEFLY_S):
            found: _T = await call_apart(function, "talm-sim-telling")
            return found
    except TimeoutError:
        return otherwise
