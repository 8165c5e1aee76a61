"""Describe an error that the user's code raised, whatever its class does when it is looked at."""

from __future__ import annotations

from typing import Final

MOST_READ: Final = 100_000
"""Characters that are read of a text; far fewer are shown."""
_LONGEST_NAME: Final = 200
_NAME: Final = type.__dict__["__name__"]


def kind_of(error: BaseException) -> str:
    """Return the name of an error's class without asking its metaclass."""
    return str(_NAME.__get__(type(error)))[:_LONGEST_NAME]


def text_of(error: BaseException) -> str:
    """Return the beginning of an error's own text; empty if it cannot be read."""
    try:
        return str.__getitem__(str(error), slice(MOST_READ))  # a plain text, even if its class only pretends to be one
    except BaseException:  # `__str__` may raise anything, as the error itself did
        return ""


def error_line(error: BaseException, most: int) -> str:
    """Return an error on one line, without its place: its kind, and a limited number of characters of its text."""
    return ": ".join(filter(None, (kind_of(error), " ".join(text_of(error).split())[:most])))


def escape_control(text: str) -> str:
    r"""Return the text with every character escaped that acts on a terminal.

    >>> print(escape_control("a\x1b[31m é"))
    a\x1b[31m é
    """
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
