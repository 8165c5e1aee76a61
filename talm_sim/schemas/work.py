"""Limit the work of a check: anybody's schema could take hours over a small value.

What is counted is the same on every machine, so that a check ends alike everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

STEPS = 300_000.0
"""Of one check: about a third of a second."""


class NotChecked(Exception):
    """It cannot be said whether a value fits its schema; the message says why."""


class Work:
    """The work of one check, or of several that share it.

    Attributes:
        left: Steps that it may still take.
        unknown: How many parts could not be checked so far.
        why: The reason of the last of them.
        patterns: Those that were searched for, each made once.
        root: The schema that is being checked against, where references may lead anywhere in it.
    """

    def __init__(self, steps: float) -> None:
        self.left = steps
        self.unknown = 0
        self.why = ""
        self.patterns: dict[str, Any] = {}
        self.root: Any = None

    def spend(self, steps: float) -> None:
        """Count steps; one takes about a microsecond.

        Raises:
            NotChecked: There are none left.
        """
        self.left -= steps
        if self.left < 0:
            raise NotChecked("it would take too long")

    def pass_over(self, why: str) -> None:
        """Go on without a part that cannot be checked."""
        self.unknown += 1
        self.why = why

    def weigh(self, value: Any, each: float = 0.3) -> None:
        """Count the steps that it takes to look at each part of a value."""
        parts = [value]
        while parts:
            one = parts.pop()
            self.spend(each + (len(one) / 200 if isinstance(one, str) else 0))
            if isinstance(one, Mapping):
                parts += one.values()
                self.spend(sum(map(len, one)) / 200)
            elif isinstance(one, Sequence) and not isinstance(one, str):
                parts += one


_work: ContextVar[Work] = ContextVar("work_of_schemas")


@contextmanager
def limit_work(steps: float = STEPS) -> Iterator[Work]:
    """Bound the work of the checks within; those inside of another bound share its steps."""
    if (outer := _work.get(None)) is not None:
        yield outer
        return
    token = _work.set(Work(steps))
    try:
        yield _work.get()
    finally:
        _work.reset(token)


def current_work() -> Work:
    """Return the work of the check that is going on."""
    return _work.get()
