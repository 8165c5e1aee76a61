"""Describe how an own agent failed: in a line, and as the traceback that its owner needs to find the fault."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from talm_sim.foreign.error_text import MOST_READ, kind_of, text_of
from talm_sim.foreign.threads import call_briefly
from talm_sim.tools_env.perturbations import ModelRequestError

__all__ = ["AgentFailure", "failure_of"]

_MOST_LINE = 500
_MOST_BEGIN, _MOST_END = 2_000, 6_000
"""Characters that are kept of a traceback: its first frames are the agent's own, its last ones say where the error was raised."""
_FRAME = '  File "'
_HEAD = "Traceback (most recent call last):\n"
_CAUSE: Final[Any] = BaseException.__dict__["__cause__"]
_PARTS: Final[Any] = BaseExceptionGroup.__dict__["exceptions"]
_TRACEBACK: Final[Any] = BaseException.__dict__["__traceback__"]


@dataclass(frozen=True, slots=True)
class AgentFailure:
    """How an agent failed.

    Attributes:
        line: The kind of the error, its text, and the agent's frame that raised it.
        traceback: The traceback from the agent's first frame on; empty if none of its code was running.
        injected: The injected fault that the agent let pass; empty where it failed on its own.
    """

    line: str
    traceback: str
    injected: str = ""


async def failure_of(error: BaseException, hide: Callable[[str], str], ours: frozenset[str]) -> AgentFailure:
    """Say how an agent failed. The error is inspected in its own thread, for at most a second, as its class may do anything then.

    Args:
        error: What the agent raised.
        hide: Removes secrets from a text; it receives more than is kept, as half a secret is not recognised.
        ours: Files whose frames called the agent; they are left out.
    """
    fault = _injected_in(error)
    otherwise = AgentFailure(f"{kind_of(error)}, whose text takes too long", "", fault)
    return await call_briefly(lambda: AgentFailure(_line_of(error, hide, ours), _traceback_of(error, hide, ours), fault), otherwise)


def _injected_in(error: BaseException) -> str:
    """Return the injected fault that an error is, contains alone, or was raised from; empty where there is none.

    An error that is raised while an injected one is dealt with, without `from`, is the agent's own.
    """
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        if issubclass(type(at), ModelRequestError):
            return at.fault  # type: ignore[attr-defined,no-any-return]
        parts: tuple[BaseException, ...] = _PARTS.__get__(at) if issubclass(type(at), BaseExceptionGroup) else ()
        at = parts[0] if len(parts) == 1 else _CAUSE.__get__(at)
    return ""


def _line_of(error: BaseException, hide: Callable[[str], str], ours: frozenset[str]) -> str:
    frames = _frames(error, ours)
    where = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    said = " ".join(hide(text_of(error)).split())[:_MOST_LINE]
    return f"{kind_of(error)}: {said}{where}" if said else f"{kind_of(error)}{where}"


def _traceback_of(error: BaseException, hide: Callable[[str], str], ours: frozenset[str]) -> str:
    """Return the traceback, with that of the error's cause; without the middle if it is very long."""
    try:
        told = traceback.TracebackException.from_exception(error)
        told.stack[:] = [frame for frame in told.stack if frame.filename not in ours]
        lines = [*told.format()]
    except BaseException:  # the class of the error, or of its cause, may refuse to be inspected
        lines = [_HEAD, *traceback.format_list(_frames(error, ours)), f"{kind_of(error)}: {text_of(error)}"]
    short = [*map(_shorten, lines)]
    text = hide("".join(short)).rstrip()
    if _FRAME not in text:
        return ""
    left_out = len(text) - _MOST_BEGIN - _MOST_END + sum(map(len, lines)) - sum(map(len, short))
    return text if left_out <= 0 else f"{text[:_MOST_BEGIN]}\n[… {left_out:,} characters left out …]\n{text[-_MOST_END:]}"


def _frames(error: BaseException, ours: frozenset[str]) -> list[traceback.FrameSummary]:
    return [frame for frame in traceback.extract_tb(_TRACEBACK.__get__(error)) if frame.filename not in ours]


def _shorten(text: str) -> str:
    return text if len(text) <= MOST_READ else text[: MOST_READ // 2] + text[-MOST_READ // 2 :]
