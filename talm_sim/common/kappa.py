"""Agreement between people, or programs, who label the same items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from operator import mul

Drawn = Callable[[Sequence[int]], float | None]
"""Takes how often each cluster of items was drawn, and returns the value over those; None if it has none."""


def kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Return Cohen's kappa of pairs of labels (Cohen 1960); None if chance alone would always agree, or there are no pairs.

    >>> kappa([("yes", "yes"), ("yes", "no"), ("no", "no"), ("no", "no")])
    0.5
    """
    return kappa_of_drawn([pairs])([1])


def kappa_of_drawn(clusters: Sequence[Sequence[tuple[str, str]]]) -> Drawn:
    """Return what computes `kappa` over clusters of pairs, each counted as often as it was drawn."""
    sizes = [len(pairs) for pairs in clusters]
    agreed = [sum(one == other for one, other in pairs) for pairs in clusters]
    labels = sorted({label for pairs in clusters for pair in pairs for label in pair})
    sides = [[[sum(pair[side] == label for pair in pairs) for pairs in clusters] for label in labels] for side in (0, 1)]

    def value(times: Sequence[int]) -> float | None:
        n = sum(map(mul, times, sizes))
        first, second = ([sum(map(mul, times, own)) for own in side] for side in sides)
        observed, expected = sum(map(mul, times, agreed)), sum(map(mul, first, second))
        return None if expected == n * n else (observed * n - expected) / (n * n - expected)

    return value


def alpha(items: Sequence[Sequence[str]]) -> float | None:
    """Return Krippendorff's alpha for labels without an order (Krippendorff 2011); None if all labels are the same, or nothing has two.

    >>> alpha([("yes", "yes", "yes"), ("no", "no"), ("yes", "no", "no"), ("no",)])
    0.5625
    """
    return alpha_of_drawn([items])([1])


def alpha_of_drawn(clusters: Sequence[Sequence[Sequence[str]]]) -> Drawn:
    """Return what computes `alpha` over clusters of items, each counted as often as it was drawn."""
    paired = [[Counter(labels) for labels in items if len(labels) > 1] for items in clusters]
    labels = sorted({label for items in paired for counts in items for label in counts})
    totals = [[sum(counts[label] for counts in items) for items in paired] for label in labels]
    # Ordered pairs of equal labels on one item, each item's divided by how many labels another one can be paired with.
    agreed = [sum(sum(k * (k - 1) for k in counts.values()) / (counts.total() - 1) for counts in items) for items in paired]

    def value(times: Sequence[int]) -> float | None:
        of_label = [sum(map(mul, times, own)) for own in totals]
        n = sum(of_label)
        different = n * n - sum(k * k for k in of_label)
        return None if different == 0 else 1 - (n - 1) * (n - sum(map(mul, times, agreed))) / different

    return value
