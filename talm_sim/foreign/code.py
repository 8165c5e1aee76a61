"""Track whether the user's code is running: what it prints is only talk, even if this process writes data to standard output."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

_foreign: ContextVar[bool] = ContextVar("talm_sim_foreign", default=False)
_has_run = False


@contextmanager
def in_foreign_code() -> Iterator[None]:
    """Mark the block as the user's code, in this task or thread and in whatever they start with their context."""
    global _has_run  # noqa: PLW0603  # of the process, as what it leaves behind is
    _has_run = True
    token = _foreign.set(True)
    try:
        yield
    finally:
        _foreign.reset(token)


def is_foreign() -> bool:
    """Return whether the user's code is running here and now."""
    return _foreign.get()


def foreign_code_has_run() -> bool:
    """Return whether the user's code has run anywhere in this process."""
    return _has_run


@contextmanager
def directory_kept() -> Iterator[None]:
    """Return to the working directory at the end of the block, should the user's code have changed it."""
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
