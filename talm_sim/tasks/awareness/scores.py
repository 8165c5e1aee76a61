"""Scores of Yes/No answers, from the standard library alone: F1 with its bootstrap interval, agreement, and how good probabilities are."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

__all__ = ["BINS", "auroc", "bin_of", "brier", "calibration_error", "f1", "f1_interval"]

BINS = 10
"""Bins of equal width that probabilities are sorted into."""
_RESAMPLES = 1000


def f1(hits: int, misses: int, false_alarms: int) -> float | None:
    """F1 of a class: `2 hits / (2 hits + misses + false alarms)`; None where the class is neither there nor found.

    >>> f1(3, 1, 2)
    0.6666666666666666
    """
    size = 2 * hits + misses + false_alarms
    return 2 * hits / size if size else None


def f1_interval(clusters: Sequence[tuple[int, int]], seed: int = 0, confidence: float = 0.95) -> tuple[float, float] | None:
    """Return the percentile bootstrap interval of an F1 over independent clusters (Efron 1979).

    An original and what was made of it are alike, so they are drawn together. Where no draw differs from the value there is none: an interval
    of no width would read as proof.

    Args:
        clusters: Of each cluster its hits, and its misses and false alarms together; their order does not matter.
        seed: Seed of the draws.
        confidence: Coverage of the interval.
    """
    return _f1_interval(tuple(sorted(Counter(clusters).items())), seed, confidence)


@lru_cache(maxsize=256)
def _f1_interval(counted: tuple[tuple[tuple[int, int], int], ...], seed: int, confidence: float) -> tuple[float, float] | None:
    draw = random.Random(seed)
    values = []
    for _ in range(_RESAMPLES):
        hits = wrong = 0
        for (hit, missed), number in _resampled(draw, counted):
            hits += hit * number
            wrong += missed * number
        value = f1(hits, wrong, 0)
        if value is not None:
            values.append(value)
    values.sort()
    if not values or values[0] == values[-1]:
        return None
    tail = (1 - confidence) / 2
    return _quantile(values, tail), _quantile(values, 1 - tail)


def _resampled(draw: random.Random, counted: Sequence[tuple[tuple[int, int], int]]) -> Iterator[tuple[tuple[int, int], int]]:
    """As many clusters as there are, drawn with replacement: each kind with how often it was drawn."""
    left = of = sum(number for _, number in counted)
    for kind, number in counted:
        drawn = left if number == of else _binomial(draw, left, number / of)
        left, of = left - drawn, of - number
        yield kind, drawn


def _binomial(draw: random.Random, trials: int, chance: float) -> int:
    """How many of so many trials succeed: each a number below `chance` bit by bit, all trials that are undecided at once."""
    successes = 0
    while trials and chance:
        chance *= 2
        ones = draw.getrandbits(trials).bit_count()
        if chance >= 1:
            chance -= 1
            successes += trials - ones
            trials = ones
        else:
            trials -= ones
    return successes


def _quantile(values: Sequence[float], share: float) -> float:
    """The value below which a share of sorted values lies, interpolated between neighbours."""
    place = share * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)


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
    """The bin of a chance, counted from 0; the last one holds 1 as well."""
    return min(int(chance * BINS), BINS - 1)
