"""Scores of Yes/No answers, from the standard library alone: F1 with its bootstrap interval, and how good probabilities are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from talm_sim.judges.stats import Interval, ratio_interval

__all__ = ["BINS", "auroc", "bin_of", "brier", "calibration_error", "f1", "f1_interval"]

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
