"""Agreement between two labellers of the same items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

__all__ = ["kappa"]


def kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Return Cohen's kappa of pairs of labels (Cohen 1960); None if chance alone would always agree, or there are no pairs.

    >>> kappa([("yes", "yes"), ("yes", "no"), ("no", "no"), ("no", "no")])
    0.5
    """
    n = len(pairs)
    first, second = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    observed = sum(one == other for one, other in pairs)
    expected = sum(first[label] * second[label] for label in first)
    return None if expected == n * n else (observed * n - expected) / (n * n - expected)
