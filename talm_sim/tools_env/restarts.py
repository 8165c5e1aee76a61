"""Send calls again after a tool service has died during them."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Recovered:
    """The address to send a call to again."""

    address: str
    """The same address as before if the service lives; another one after it was started again."""
    died: str = ""
    """How it had ended; empty except for the call for which it was started again."""


on_restart: ContextVar[Callable[[str], None] | None] = ContextVar("on_restart", default=None)
"""Receives how a tool service ended that was started again; set by what shows progress, for the work it starts."""
