"""What every wrong input gets."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

__all__ = ["Talm", "check"]

Talm = Callable[..., tuple[int, str, str]]
"""Runs a command line: exit code, standard output, standard error."""


def check(result: tuple[int, str, str], told: str) -> None:
    """One line that says `told` (a pattern), exit code 2, no traceback, nothing left behind."""
    code, out, err = result
    assert (code, out) == (2, ""), err
    assert err.startswith("talm-sim: error: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert "pydantic" not in err
    assert re.search(told, err), f"{err!r} does not say {told!r}"
    assert not Path("runs").exists()
