"""Guard the standard streams: output that takes no more or that is data alone, and standard error that may go away."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

from talm_sim.foreign.code import is_foreign


def silence_stdout() -> None:
    """Let nothing more be written to standard output, including the interpreter's last flush."""
    _redirect_to_null(sys.stdout)


def settle_stdout() -> None:
    """Write what is left for standard output, if it still accepts it: a failure at the interpreter's own end would become the exit code."""
    try:
        sys.stdout.flush()
    except OSError:
        _redirect_to_null(sys.stdout)


@contextlib.contextmanager
def until_reader_leaves() -> Iterator[None]:
    """Print results as long as somebody reads them: a reader that stops early, for example `head`, does not change the exit code."""
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # the latter is what Rich makes of the former
        silence_stdout()


@contextlib.contextmanager
def tolerate_closed_stderr() -> Iterator[None]:
    """Let a command continue if standard error is closed or full: only messages go there, and the work matters more."""
    if (given := sys.stderr) is None:
        yield
        return
    talk = _Talk(given)
    sys.stderr = talk
    try:
        yield
    finally:
        talk.flush()
        sys.stderr = given


@contextlib.contextmanager
def data_alone() -> Iterator[None]:
    """Redirect to standard error what the user's own agents and modules print: standard output is data, and a program may read it."""
    given: Any = sys.stdout
    sys.stdout = _Data(given)
    try:
        yield
    finally:
        sys.stdout = given


@contextlib.contextmanager
def streams_kept() -> Iterator[None]:
    """Restore the streams at the end of the block, should the user's code have replaced them, as `sys.stdout = None` does."""
    given = sys.stdout, sys.stderr
    try:
        yield
    finally:
        sys.stdout, sys.stderr = given


class _Data:
    """Standard output, except for what the user's code writes there."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr if is_foreign() else self._stream, name)


class _Talk:
    """A stream that is silent once it fails."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError:
            _redirect_to_null(self._stream)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            _redirect_to_null(self._stream)


def _redirect_to_null(stream: TextIO) -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
