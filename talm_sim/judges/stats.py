"""Intervals for shares, from the standard library alone."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from math import sqrt
from statistics import NormalDist

from talm_sim.types import Rate, Row

__all__ = ["average_of_rates", "share", "wilson"]


@cache
def _z(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence} must lie between 0 and 1.")
    return NormalDist().inv_cdf((1 + confidence) / 2)


def wilson(k: int, n: int, confidence: float = 0.95) -> Rate:
    """Return the share k / n with its Wilson score interval (Wilson 1927), which stays inside [0, 1] and is never empty at k = 0 or k = n.

    Args:
        k: Successes.
        n: Trials; 0 gives a rate without a value.
        confidence: Coverage of the interval.

    Raises:
        ValueError: k is not within 0 and n, or the confidence is no probability.

    >>> rate = wilson(29, 99)
    >>> f"{rate.value:.3f} [{rate.low:.3f}, {rate.high:.3f}]"
    '0.293 [0.212, 0.389]'
    """
    if not 0 <= k <= n:
        raise ValueError(f"{k} successes in {n} trials make no share.")
    z = _z(confidence)
    if n == 0:
        return Rate(k=0, n=0, value=None, low=None, high=None)
    share, z2 = k / n, z * z
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = z / (1 + z2 / n) * sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    # At the ends the formula gives exactly 0 and 1; floating point does not.
    return Rate(k=k, n=n, value=share, low=0.0 if k == 0 else centre - half, high=1.0 if k == n else centre + half)


def share(rows: Iterable[Row], name: str) -> Rate:
    """Return the share of the scored rows that have a value for the measure `name` of those whose value is true, with its Wilson interval."""
    hits = [bool(value) for row in rows if row.scored and (value := row.values.get(name)) is not None]
    return wilson(sum(hits), len(hits))


def average_of_rates(first: Rate, second: Rate) -> Rate | None:
    """Return the plain average of two shares of separate groups, whatever their sizes; None where either has no value.

    The interval combines the two groups' Wilson limits by the square-and-add rule for independent proportions (Newcombe 1998, method 10).
    `k` and `n` are the groups' sums, so k / n differs from `value` where the sizes differ.
    """
    one, other = _limits(first), _limits(second)
    if one is None or other is None:
        return None
    value = (one[1] + other[1]) / 2
    below = sqrt((one[1] - one[0]) ** 2 + (other[1] - other[0]) ** 2) / 2
    above = sqrt((one[2] - one[1]) ** 2 + (other[2] - other[1]) ** 2) / 2
    return Rate(k=first.k + second.k, n=first.n + second.n, value=value, low=max(0.0, value - below), high=min(1.0, value + above))


def _limits(rate: Rate) -> tuple[float, float, float] | None:
    if rate.low is None or rate.value is None or rate.high is None:
        return None
    return rate.low, rate.value, rate.high
