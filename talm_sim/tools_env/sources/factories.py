"""Python tools that every episode has for itself: made by a class or a factory before its first call, closed at its end."""

from __future__ import annotations

import asyncio
import inspect
import logging
import sys
from collections.abc import Callable, Iterator
from reprlib import Repr
from typing import Any, TypeVar

from talm_sim.errors import PrerequisiteError
from talm_sim.foreign.code import in_foreign_code
from talm_sim.foreign.error_text import error_line
from talm_sim.foreign.loop import on_foreign_loop
from talm_sim.foreign.threads import call_apart
from talm_sim.tools_env.sources.sdk_tools import is_sdk_tool

_MAKE_S = 30.0
_CLOSE_S = 10.0
_MARK = "talm_sim_makes_tools"
_CLOSING = ("aclose", "close")
_NOT_THEIRS = sys.stdlib_module_names | {"pydantic"}
"""Modules whose base classes have documented methods that nobody means as tools."""

_SHORT = Repr()
_SHORT.maxdict, _SHORT.maxlist, _SHORT.maxstring, _SHORT.maxother = 1, 2, 24, 60

log = logging.getLogger(__name__)

Factory = TypeVar("Factory", bound=Callable[..., Any])


def tool_factory(function: Factory) -> Factory:
    """Mark a function that makes the tools of one episode; it takes no arguments and may be async.

    It returns functions, LangChain tools, an object whose public methods are the tools, or a list of these. Anything with an `aclose` or
    a `close` method is closed when the episode ends.
    """
    setattr(function, _MARK, True)
    return function


def makes_tools(one: Any) -> bool:
    """Return whether this is a class or a factory, so that each episode has its own tools."""
    return isinstance(one, type) or getattr(one, _MARK, False) is True


def name_of(one: Any) -> str:
    """Return what a message calls a tool, a class or a factory."""
    return str(getattr(one, "name", None) or getattr(one, "__name__", None) or _SHORT.repr(one))


def check_maker(maker: Any) -> None:
    """Check that a class or factory can be called without arguments."""
    try:
        parameters = inspect.signature(maker).parameters.values()
    except (TypeError, ValueError):
        return  # written in C; calling it will tell
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if needed := [one.name for one in parameters if one.default is one.empty and one.kind not in kinds]:
        fix = "pass a function marked @talm_sim.tool_factory that creates it" if isinstance(maker, type) else "give it a default"
        raise PrerequisiteError(f"{name_of(maker)}: takes '{needed[0]}', but is called without arguments; {fix}.")


class Made:
    """The objects that a class or a factory made for one episode."""

    def __init__(self, found: Any, *, instance: bool) -> None:
        self.tools: list[Any] = []
        self.undocumented: list[str] = []
        self._things = [found] if instance or not isinstance(found, list | tuple) else list(found)
        for thing in self._things:
            if _is_tool(thing) or (callable(thing) and not instance):
                self.tools.append(thing)
                continue
            for name in _public_methods(thing):
                method = getattr(thing, name)
                if inspect.getdoc(method):
                    self.tools.append(method)
                else:
                    self.undocumented.append(name)

    async def aclose(self) -> None:
        """Close what can be closed. A failure is reported, and keeps nothing else from being closed."""
        for thing in self._things:
            method = next((found for name in _CLOSING if callable(found := getattr(thing, name, None))), None)
            if method is None or inspect.isroutine(thing):
                continue
            try:
                async with asyncio.timeout(_CLOSE_S):
                    await run_apart(method)
            except asyncio.CancelledError:
                raise
            except (Exception, SystemExit) as err:  # a user's code may fail in any way
                told = f"took more than {_CLOSE_S:g} s" if isinstance(err, TimeoutError) else _error_line(err)
                log.warning("tools of %s: %s failed: %s", type(thing).__name__, method.__name__, told)


async def make_tools(maker: Any) -> Made:
    """Call a class or a factory."""
    instance = isinstance(maker, type)
    try:
        async with asyncio.timeout(_MAKE_S):
            # In a tuple: an instance may be awaitable, and is meant as it is.
            found = await run_apart((lambda: (maker(),)) if instance else maker)
            return Made(found[0] if instance else found, instance=instance)
    except TimeoutError:
        raise PrerequisiteError(f"{name_of(maker)}: took more than {_MAKE_S:g} s to make the tools of an episode.") from None
    except (Exception, SystemExit) as err:  # a user's code may fail in any way
        raise PrerequisiteError(f"{name_of(maker)}: cannot make the tools of an episode: {_error_line(err)}.") from err


class EndedError(Exception):
    """The user's code raised an error that would end more than its call."""

    def __init__(self, raised: BaseException) -> None:
        super().__init__()
        self.raised = raised


async def run_apart(function: Callable[[], Any]) -> Any:
    """Call the user's code, and await its result if that is awaitable.

    Raises:
        Ended: It raised, in its thread, something other than an `Exception`.
    """

    def work() -> Any:
        try:
            return function()
        except Exception:
            raise
        except BaseException as err:
            raise EndedError(err) from err

    with in_foreign_code():
        return await on_foreign_loop(call_apart(work, "talm-sim-tool"))


def _is_tool(thing: Any) -> bool:
    from langchain_core.tools import BaseTool

    return isinstance(thing, BaseTool) or is_sdk_tool(thing)


def _public_methods(thing: Any) -> Iterator[str]:
    """Yield public methods in the order in which they are written, base classes first, without those that close the object."""
    written = [kind for kind in reversed(type(thing).__mro__) if kind.__module__.partition(".")[0] not in _NOT_THEIRS]
    for name in dict.fromkeys(name for kind in written for name in vars(kind)):
        found = inspect.getattr_static(thing, name)
        if not name.startswith("_") and name not in _CLOSING and (inspect.isroutine(found) or isinstance(found, staticmethod | classmethod)):
            yield name


def _error_line(err: BaseException) -> str:
    return error_line(err.raised if type(err) is EndedError else err, 300)
