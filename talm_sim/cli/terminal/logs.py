"""The package's log on standard error: what its own modules log, and no library's, which might hold credentials."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from talm_sim.cli.terminal.text import strip_control

__all__ = ["logging_to"]


class _Handler(logging.Handler):
    """Prints records through a console, so that a line does not break the progress bar."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s", "%H:%M:%S"))

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        self._console.print(strip_control(self.format(record)), soft_wrap=True)


@contextmanager
def logging_to(console: Console, level: str | None) -> Iterator[None]:
    """Print what the package logs within the block; nothing if no level is given."""
    if level is None:
        yield
        return
    logger, handler = logging.getLogger("talm_sim"), _Handler(console)
    before, propagates = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(level.upper())
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
        logger.propagate = propagates
