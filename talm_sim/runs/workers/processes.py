"""Start the processes of workers, before their run is prepared or later."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from talm_sim.config import RunConfig
from talm_sim.errors import WorkersGoneError
from talm_sim.runs.workers.checks import MOST_WORKERS, names_own_code

__all__ = ["start_early", "start_process"]

_WORDS: Final = ("-P", "-m", "talm_sim.runs.workers")
"""-P: a file in the working directory must not stand in for a module."""
_READ_AHEAD: Final = 2**20
"""Bytes that are read ahead of what a worker sends."""


@asynccontextmanager
async def start_early(config: RunConfig) -> AsyncIterator[list[asyncio.subprocess.Process]]:
    """Start the processes that a run surely needs beside this one, so that they import while the run is prepared.

    Yields:
        The processes. Those that are still in the list at the end were not needed.

    Raises:
        WorkersGoneError: One cannot be started.
    """
    early: list[asyncio.subprocess.Process] = []
    try:
        if config.on is None and 1 < config.workers <= MOST_WORKERS:
            for _ in range(config.workers - (not names_own_code(config))):
                early.append(await start_process())
        yield early
    finally:
        for process in early:
            if process.returncode is None:
                process.kill()
        await asyncio.gather(*(process.wait() for process in early))


async def start_process() -> asyncio.subprocess.Process:
    """Start the process of one worker; it waits for its first message.

    Raises:
        WorkersGoneError: It cannot be started.
    """
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *_WORDS,
            # It finds the package where this process has it.
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            # Ctrl-C in a terminal is for the run.
            start_new_session=True,
            limit=_READ_AHEAD,
        )
    except OSError as err:
        raise WorkersGoneError(f"a worker cannot be started ({err.strerror}); use fewer --workers.") from None
