"""Score Yes/No answers, with intervals: an original and its manipulated instances are drawn together."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from operator import add, mul
from typing import NamedTuple

from talm_sim.judges.stats import Interval, bootstrap, ratio_interval

BINS = 10
"""Bins of equal width that probabilities are sorted into."""


def f1(hits: int, misses: int, false_alarms: int) -> float | None:
    """Return the F1 of a class: `2 hits / (2 hits + misses + false alarms)`; None if the class neither occurs nor is found.

    >>> f1(3, 1, 2)
    0.6666666666666666
    """
    size = 2 * hits + misses + false_alarms
    return 2 * hits / size if size else None


def f1_interval(clusters: Iterable[tuple[int, int]], seed: int = 0) -> Interval | None:
    """Return the bootstrap interval of an F1 over independent clusters; None if it has no spread.

    Args:
        clusters: For each cluster its hits, and its misses and false alarms together; their order does not matter.
        seed: Seed of the draws.
    """
    return ratio_interval([(2 * hits, 2 * hits + wrong) for hits, wrong in clusters], seed)


def auroc(chances: Sequence[float], positive: Sequence[bool]) -> float | None:
    """Return the area under the ROC curve: how often a positive one has the higher chance, ties counting half; None without both kinds."""
    ups, downs = sum(positive), len(positive) - sum(positive)
    if not ups or not downs:
        return None
    order = sorted(zip(chances, positive, strict=True))
    below, doubled, place = 0, 0, 0
    while place < len(order):
        end = place
        while end < len(order) and order[end][0] == order[place][0]:
            end += 1
        hits = sum(hit for _, hit in order[place:end])
        rest = end - place - hits
        doubled += hits * (2 * below + rest)
        below += rest
        place = end
    return doubled / (2 * ups * downs)


def brier(chances: Sequence[float], positive: Sequence[bool]) -> float | None:
    """Return the Brier score (Brier 1950): the mean squared distance of the chance of a Yes from 1 or 0, whichever is right; 0 is best."""
    if not chances:
        return None
    return sum((chance - hit) ** 2 for chance, hit in zip(chances, positive, strict=True)) / len(chances)


def calibration_error(chances: Sequence[float], positive: Sequence[bool]) -> float | None:
    """Return the expected calibration error (Naeini et al. 2015): how far each bin's mean chance lies from its share, weighted by its size."""
    if not chances:
        return None
    gaps = [0.0] * BINS
    for chance, hit in zip(chances, positive, strict=True):
        gaps[bin_of(chance)] += chance - hit
    return sum(map(abs, gaps)) / len(chances)


def bin_of(chance: float) -> int:
    """Return the bin of a chance, counted from 0; the last one includes 1 as well."""
    return min(int(chance * BINS), BINS - 1)


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
    """Return what gives the area under the ROC curve from how often each place is drawn."""
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
