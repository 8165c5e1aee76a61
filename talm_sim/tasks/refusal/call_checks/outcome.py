"""The result of a check of calls."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

__all__ = ["RIGHT", "CallFault", "CheckResult", "format_value"]

MOST_SHOWN = 80
"""Characters of a value in a message: a model may write a megabyte."""


class CallFault(StrEnum):
    """What is wrong with the calls of an answer.

    Of several faults the first counts, in the order in which BFCL looks: count, function, missing required arguments, then argument by
    argument in the order written, then missing optional ones.
    """

    COUNT = "count"
    """The wrong number of calls: none if one is needed, one if none is, too many, too few."""
    FUNCTION = "wrong_function"
    MISSING = "missing"
    """An argument is not given, and may not be left out."""
    UNEXPECTED = "unexpected"
    """An argument is given that the function does not take, or that is right with no value."""
    TYPE = "wrong_type"
    VALUE = "wrong_value"


class CheckResult(NamedTuple):
    """Whether the calls are right, what is wrong with them, and the same in words."""

    outcome: bool
    error: CallFault | None
    words: str


RIGHT = CheckResult(True, None, "")


def format_value(value: Any) -> str:
    """Return a value as a message shows it, cut short."""
    try:
        text = repr(value[: MOST_SHOWN + 1] if isinstance(value, str | list) else value)
    except ValueError:  # Python writes no integer of so many digits
        return "(a value that is too long to print)"
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
