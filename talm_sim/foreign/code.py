"""Whether what runs now is code of the user's own: what it prints is talk, even where this process' standard output is data."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

__all__ = ["directory_kept", "foreign_code_has_run", "in_foreign_code", "is_foreign"]

_foreign: ContextVar[bool] = ContextVar("talm_sim_foreign", default=False)
_has_run = False


@contextmanager
def in_foreign_code() -> Iterator[None]:
    """Within it, code of the user's own runs: in this task or thread, and in what they begin with their context."""
    global _has_run  # noqa: PLW0603  # of the process, as what it leaves behind is
    _has_run = True
    token = _foreign.set(True)
    try:
        yield
    finally:
        _foreign.reset(token)


def is_foreign() -> bool:
    """Whether it does, here and now."""
    return _foreign.get()


def foreign_code_has_run() -> bool:
    """Whether it did, anywhere in this process."""
    return _has_run


@contextmanager
def directory_kept() -> Iterator[None]:
    """Where code of the user's own moves to another working directory within it, the process is back at its end."""
    try:
        given = os.getcwd()
    except OSError:  # it was deleted
        yield
        return
    try:
        yield
    finally:
        with suppress(OSError):
            os.chdir(given)
