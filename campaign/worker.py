"""The program in a process that is kept: a case costs no start of Python, and one that hangs is ended with its process."""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import resource
import time
import traceback
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from campaign.base import Ran

__all__ = ["Worker", "working"]

_MEMORY: Final = 3 * 2**30
"""Bytes of address space: a case that wants more is a failure, not the machine's end."""


class Worker:
    """Runs command lines in a child, one after the other.

    Args:
        scratch: Where it works.
    """

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, str(self._scratch)), daemon=True)
        self._process.start()
        theirs.close()

    def talm(self, *args: str | Path, seconds: float = 90.0) -> Ran:
        """Run `talm-sim ARGS`; after so many seconds its process is killed, and another takes the next."""
        words, began = [*map(str, args)], time.monotonic()
        self._pipe.send(words)
        code: int | None = None
        out = err = ""
        try:
            if self._pipe.poll(seconds):
                code, out, err = self._pipe.recv()
            else:
                self._end()
                self._start()
        except EOFError:
            self._process.join()
            code, err = self._process.exitcode, "the process died"
            self._start()
        return Ran(("talm-sim", *words), code, out, err, time.monotonic() - began, 0)

    def _end(self) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def close(self) -> None:
        """End the child."""
        self._end()


@contextlib.contextmanager
def working(scratch: Path) -> Iterator[Worker]:
    """A worker for the time of the block."""
    worker = Worker(scratch)
    try:
        yield worker
    finally:
        worker.close()


def _work(pipe: Connection, scratch: str) -> None:
    os.chdir(scratch)
    for name in [name for name in os.environ if name.startswith("TALM_SIM_") or name.endswith("_API_KEY")]:
        del os.environ[name]
    os.environ["COLUMNS"] = "80"
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    from talm_sim.cli import main

    while True:
        try:
            words = pipe.recv()
        except EOFError:
            return
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main(words)
            except BaseException:
                code = 70
                traceback.print_exc(file=err)
        pipe.send((code, out.getvalue(), err.getvalue()))
