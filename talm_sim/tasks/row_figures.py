"""Figures over rows other than the mean of a value, by which a task says what a difference of two runs is drawn from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import mul

from talm_sim.types import Row

Figure = Callable[[Sequence[Row]], Callable[[Sequence[int]], float | None]]
"""Takes rows, and returns what gives a figure's value from how often each row counts; None if it has no value."""


def ratio_of(parts: Callable[[Row], tuple[float, float]]) -> Figure:
    """Return the figure that is a sum over the rows divided by another.

    Args:
        parts: What a row adds to both sums.
    """

    def figure(rows: Sequence[Row]) -> Callable[[Sequence[int]], float | None]:
        sums = list(map(parts, rows))
        over, under = [one for one, _ in sums], [one for _, one in sums]

        def value(times: Sequence[int]) -> float | None:
            size = sum(map(mul, times, under))
            return sum(map(mul, times, over)) / size if size else None

        return value

    return figure


def mean_of(*names: str) -> Figure:
    """Return the figure that is the mean of a value over the scored rows that have it; of several values, the first that a row has."""

    def parts(row: Row) -> tuple[float, float]:
        found = (value for name in names if (value := row.values.get(name)) is not None)
        value = next(found, None) if row.scored else None
        return (0.0, 0.0) if value is None else (float(value), 1.0)

    return ratio_of(parts)


def within(select: Callable[[Sequence[Row]], Sequence[Row]], figure: Figure) -> Figure:
    """Return a figure over some of the rows.

    Args:
        select: Returns which of the rows it is over.
        figure: The figure.
    """

    def over_some(rows: Sequence[Row]) -> Callable[[Sequence[int]], float | None]:
        chosen = set(map(id, select(rows)))
        places = [place for place, row in enumerate(rows) if id(row) in chosen]
        value = figure([rows[place] for place in places])
        return lambda times: value([times[place] for place in places])

    return over_some


def average_of(*figures: Figure) -> Figure:
    """Return the plain average of figures, whatever the number of rows that each is over; without a value where one has none."""

    def figure(rows: Sequence[Row]) -> Callable[[Sequence[int]], float | None]:
        own = [one(rows) for one in figures]

        def value(times: Sequence[int]) -> float | None:
            values = [one(times) for one in own]
            known = [one for one in values if one is not None]
            return sum(known) / len(known) if len(known) == len(values) else None

        return value

    return figure


def difference_of(first: Figure, second: Figure) -> Figure:
    """Return the figure that is the second less the first."""

    def figure(rows: Sequence[Row]) -> Callable[[Sequence[int]], float | None]:
        before, after = first(rows), second(rows)

        def value(times: Sequence[int]) -> float | None:
            one, other = before(times), after(times)
            return None if one is None or other is None else other - one

        return value

    return figure
