"""Standard output that takes no more."""

from __future__ import annotations

import contextlib
import os
import sys

__all__ = ["silence_stdout"]


def silence_stdout() -> None:
    """Let nothing more be written to it, the interpreter's last flush included."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
