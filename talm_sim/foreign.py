"""Whether what runs now is code of the user's own: what it prints is talk, even where this process' standard output is data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["foreign_code", "is_foreign"]

_foreign: ContextVar[bool] = ContextVar("talm_sim_foreign", default=False)


@contextmanager
def foreign_code() -> Iterator[None]:
    """Within it, code of the user's own runs: in this task or thread, and in what they begin with their context."""
    token = _foreign.set(True)
    try:
        yield
    finally:
        _foreign.reset(token)


def is_foreign() -> bool:
    """Whether it does, here and now."""
    return _foreign.get()
