"""What is wrong with a scenario."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Problem"]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with one scenario, and how to fix it.

    Attributes:
        scenario: Its id.
        what: What is wrong.
        fix: How to fix it.
        warning: Whether it is known and kept: a packaged scenario changes only together with its recording.
    """

    scenario: str
    what: str
    fix: str
    warning: bool = False

    def __str__(self) -> str:
        return f"{'warning: ' if self.warning else ''}{self.scenario}: {self.what}; {self.fix}"
