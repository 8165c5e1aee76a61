"""What every wrong input gets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from tests.tables import read_table

Case = TypeVar("Case")

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


def check_each(cases: Iterable[tuple[Case, str]], ask: Callable[[Case], tuple[int, str, str]]) -> None:
    """Ask every case, and fail with all of those that do not get what they should."""
    missed = []
    for case, told in cases:
        try:
            check(ask(case), told)
        except AssertionError as err:
            missed.append(f"{case}: {err}")
    assert not missed, "\n\n".join(missed)


def check_table(test_file: str, name: str, ask: Callable[[Any], tuple[int, str, str]]) -> None:
    """Ask every case of the table `tables/NAME.jsonl` beside a test file: what is `given`, and what is `told` of it."""
    check_each(((row["given"], row["told"]) for row in read_table(test_file, name)), ask)
