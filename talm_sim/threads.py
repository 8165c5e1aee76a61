"""Calls of code that may never return: each in a thread of its own, for which nothing waits at the end."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

__all__ = ["call_apart"]


async def call_apart(function: Callable[[], Any], name: str) -> Any:
    """Call a plain function in a daemon thread with this task's context; await what it gives back, where that is to be awaited.

    A pool's threads are joined at the end of the process, so one function that never returns would hold it for ever.

    Args:
        function: Called once.
        name: The thread's.

    Raises:
        BaseException: What the function raised; `RuntimeError` for `KeyboardInterrupt` and `StopIteration`.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: Any, error: BaseException | None) -> None:
        if not done.done():
            done.set_result(result) if error is None else done.set_exception(error)

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

    threading.Thread(target=work, name=name, daemon=True).start()
    result = await done
    return await result if inspect.isawaitable(result) else result
