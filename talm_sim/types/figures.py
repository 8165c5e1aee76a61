"""How a figure is written: the same on the screen, on a page, in Markdown and in a note."""

from __future__ import annotations

from talm_sim.types.measures import Measure
from talm_sim.types.verdicts import Rate

__all__ = ["DASH", "decimal", "interval", "shown"]

DASH = "\N{EN DASH}"
"""Stands between the ends of an interval, and where there is no value."""


def decimal(value: float | None) -> str:
    """A share as the papers print it; a dash where there is none.

    >>> decimal(0.357), decimal(1.0)
    ('.36', '1.00')
    """
    return DASH if value is None else f"{value:.2f}".removeprefix("0")


def interval(one: Rate | Measure | None) -> str:
    """The 95 % interval of a rate or score; empty where there is none, as for a number."""
    if one is None or one.low is None or one.high is None or (isinstance(one, Measure) and one.kind == "number"):
        return ""
    return f"{decimal(one.low)}{DASH}{decimal(one.high)}"


def shown(one: Measure | None) -> str:
    """The value of a measure: with two decimals, a whole number as it is, a dash where it could not be had.

    >>> shown(Measure(name="a", head="A", value=0.5)), shown(Measure(name="a", head="A", kind="number", value=1234)), shown(None)
    ('.50', '1,234', '\N{EN DASH}')
    """
    if one is None or one.value is None:
        return DASH
    if one.kind == "number":
        return f"{one.value:,}" if isinstance(one.value, int) else f"{one.value:,.2f}".removeprefix("0")
    return decimal(one.value)
