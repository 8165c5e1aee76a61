"""Intervals for measures of P(Yes): an original and its manipulated instances are drawn together."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from operator import add, mul
from typing import NamedTuple

from talm_sim.judges.stats import Interval, bootstrap, ratio_interval
from talm_sim.tasks.awareness.scores import BINS, bin_of

__all__ = ["Chance", "area_interval", "area_over", "brier_interval", "calibration_interval"]


class Chance(NamedTuple):
    """The probability that a model gave Yes."""

    value: float
    complete: bool
    """Whether Yes is right."""
    base: str
    """The original it comes from: instances of one base are drawn together."""


def area_interval(chances: Sequence[Chance], seed: int) -> Interval | None:
    """Return the interval of `auroc`."""
    place = _places(chances)
    return bootstrap(len(place), area_over([(one.value, one.complete, place[one.base]) for one in chances]), seed)


def area_over(chances: Iterable[tuple[float, bool, int]]) -> Callable[[Sequence[int]], float | None]:
    """Return what gives the area under the ROC curve from how often each place is drawn.

    Args:
        chances: The probability of a Yes, whether Yes is right, and the place that it is drawn with.
    """
    ordered = sorted(chances)
    downs = [(value, place) for value, complete, place in ordered if not complete]
    ups = [(value, place) for value, complete, place in ordered if complete]
    values, down_places = [value for value, _ in downs], [place for _, place in downs]
    up_places = [place for _, place in ups]
    # How many incomplete ones are below each complete one, and below it or equal to it.
    lower, level = ([find(values, value) for value, _ in ups] for find in (bisect_left, bisect_right))

    def area(times: Sequence[int]) -> float | None:
        below = list(accumulate(map(times.__getitem__, down_places), initial=0))
        drawn = list(map(times.__getitem__, up_places))
        doubled = sum(map(mul, drawn, map(add, map(below.__getitem__, lower), map(below.__getitem__, level))))
        pairs = below[-1] * sum(drawn)
        return doubled / (2 * pairs) if pairs else None

    return area


def brier_interval(chances: Sequence[Chance], seed: int) -> Interval | None:
    """Return the interval of `brier`."""
    sums: dict[str, tuple[float, int]] = {}
    for one in sorted(chances):
        error, n = sums.get(one.base, (0.0, 0))
        sums[one.base] = error + (one.value - one.complete) ** 2, n + 1
    return ratio_interval(sums.values(), seed)


def calibration_interval(chances: Sequence[Chance], seed: int) -> Interval | None:
    """Return the interval of `calibration_error`."""
    place = _places(chances)
    sizes = [0] * len(place)
    gaps = [[0.0] * len(place) for _ in range(BINS)]
    for one in sorted(chances):
        sizes[place[one.base]] += 1
        gaps[bin_of(one.value)][place[one.base]] += one.value - one.complete
    filled = [gap for gap in gaps if any(gap)]

    def error(times: Sequence[int]) -> float | None:
        n = sum(map(mul, times, sizes))
        return sum(abs(sum(map(mul, times, gap))) for gap in filled) / n if n else None

    return bootstrap(len(place), error, seed)


def _places(chances: Sequence[Chance]) -> dict[str, int]:
    return {base: place for place, base in enumerate(sorted({one.base for one in chances}))}
