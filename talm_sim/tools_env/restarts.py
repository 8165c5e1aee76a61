"""What becomes of calls when a tool service dies under them."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

__all__ = ["Recovered", "on_restart"]


@dataclass(frozen=True, slots=True)
class Recovered:
    """Where a call is to be sent again."""

    address: str
    """The same as before where the service lives; it has another one after it was started again."""
    died: str = ""
    """How it had ended; empty for all but the call it was started again for."""


on_restart: ContextVar[Callable[[str], None] | None] = ContextVar("on_restart", default=None)
"""Told how a tool service ended that was started again; whoever shows progress sets it for the work it starts."""
