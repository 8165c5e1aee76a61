"""Write a figure in the same way on the screen, on a page, in Markdown and in a note."""

from __future__ import annotations

from typing import Protocol

DASH = "\N{EN DASH}"
"""Shown between the ends of an interval, and if there is no value."""


class Figure(Protocol):
    """A measure, or a rate; one whose `kind` is `number` is not a share and has no interval."""

    @property
    def value(self) -> int | float | None:
        """None if there is no value."""

    @property
    def low(self) -> float | None:
        """Lower end of the 95 % interval."""

    @property
    def high(self) -> float | None:
        """Upper end of it."""


def decimal(value: float | None) -> str:
    """Return a share as the papers print it; a dash if there is none.

    >>> decimal(0.357), decimal(1.0)
    ('.36', '1.00')
    >>> decimal(-0.1), decimal(-0.001)
    ('-.10', '.00')
    """
    if value is None:
        return DASH
    text = f"{abs(value):.2f}".removeprefix("0")
    return f"-{text}" if value < 0 and text != ".00" else text


def interval(one: Figure | None) -> str:
    """Return the 95 % interval of a rate or score; empty if there is none, as for a number."""
    if one is None or one.low is None or one.high is None or _is_number(one):
        return ""
    return f"{decimal(one.low)}{DASH}{decimal(one.high)}"


def format_figure(one: Figure | None) -> str:
    """Return the value of a measure: with two decimals, a whole number as it is, a dash if there is none.

    >>> from talm_sim.types import Measure
    >>> format_figure(Measure(name="a", head="A", value=0.5)), format_figure(None)
    ('.50', '\N{EN DASH}')
    >>> format_figure(Measure(name="a", head="A", kind="number", value=1234))
    '1,234'
    """
    if one is None or one.value is None:
        return DASH
    if _is_number(one):
        return f"{one.value:,}" if isinstance(one.value, int) else f"{one.value:,.2f}".removeprefix("0")
    return decimal(one.value)


def format_figure_with_interval(one: Figure | None) -> str:
    """Return the value of a measure with its interval, on one line.

    >>> from talm_sim.types import Measure
    >>> format_figure_with_interval(Measure(name="a", head="A", value=0.5, low=0.1, high=0.9))
    '.50 [.10\N{EN DASH}.90]'
    """
    limits = interval(one)
    return format_figure(one) + (f" [{limits}]" if limits else "")


def _is_number(one: Figure) -> bool:
    return getattr(one, "kind", "") == "number"
