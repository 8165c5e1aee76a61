"""Compute intervals for shares and for any other figure, from the standard library alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from math import fsum, sqrt
from operator import mul
from statistics import NormalDist

from talm_sim.types import Rate, Row

Interval = tuple[float, float]
"""The lower and the upper end."""
_MOST_DRAWS, _FEWEST_DRAWS, _EFFORT, _EFFORT_OF_A_DRAW = 10_000, 1_000, 250_000, 20
"""Most and fewest draws of a bootstrap, and how many clusters are drawn in all of them; a draw itself takes as long as some clusters.
Tables have dozens of figures, so each may take some hundredths of a second.
"""
_ALIKE = 8
"""From so many clusters for each different one, it is quicker to count together those that are alike."""
_NO_WIDTH = 1e-12
"""Values that differ by less differ only by rounding."""


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
        ValueError: k is not within 0 and n, or the confidence is not a probability.

    >>> rate = wilson(29, 99)
    >>> f"{rate.value:.3f} [{rate.low:.3f}, {rate.high:.3f}]"
    '0.293 [0.212, 0.389]'
    """
    if not 0 <= k <= n:
        raise ValueError(f"{k} successes in {n} trials make no share.")
    z = _z(confidence)
    if n == 0:
        return Rate(k=0, n=0, value=None, low=None, high=None)
    low, high = score_interval(k / n, n, z)
    return Rate(k=k, n=n, value=k / n, low=low, high=high)


def score_interval(share: float, n: int, z: float | None = None) -> Interval:
    """Return Wilson's interval of a share of n trials, which need not be a whole number of them; at 95 % by default."""
    z = _z(0.95) if z is None else z
    z2 = z * z
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = z / (1 + z2 / n) * sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    # At the ends the formula gives exactly 0 and 1; floating point does not.
    return 0.0 if share == 0 else centre - half, 1.0 if share == 1 else centre + half


def share(rows: Iterable[Row], *names: str) -> Rate:
    """Return the share of the scored rows with a value for a measure of those whose value is true, with its 95 % interval.

    The interval is Wilson's if each row is a separate request. Variants and repeats of one request are alike, so if several rows have one
    `base`, bases are drawn (`bootstrap`); if that has no spread, the interval is Wilson's over as many trials as there are bases.

    Args:
        rows: Rows of a run.
        names: The measure; several if each row has a value for at most one of them.
    """
    bases: dict[str, list[tuple[int, int]]] = {}
    for row in rows:
        values = [bool(value) for name in names if (value := row.values.get(name)) is not None] if row.scored else []
        for value in values:
            bases.setdefault(row.base, []).append((value, 1))
    return _share_over(bases)


def share_of_counts(rows: Iterable[Row], part: str, whole: str) -> Rate:
    """Return the share of what the scored rows count, with its 95 % interval: Wilson's, or by bases as in `share`.

    Args:
        rows: Rows of a run.
        part: The value that counts those with a property.
        whole: The value that counts all.
    """
    bases: dict[str, list[tuple[int, int]]] = {}
    for row in rows:
        if row.scored and (size := int(row.values.get(whole) or 0)):
            bases.setdefault(row.base, []).append((int(row.values.get(part) or 0), size))
    return _share_over(bases)


def _share_over(bases: Mapping[str, Sequence[tuple[int, int]]]) -> Rate:
    """Return the share of counts (k, n) that belong to bases."""
    counts = [(sum(k for k, _ in own), sum(n for _, n in own)) for own in bases.values()]
    rate = wilson(sum(k for k, _ in counts), sum(n for _, n in counts))
    if rate.value is None or all(len(own) == 1 for own in bases.values()):
        return rate
    low, high = ratio_interval(counts) or score_interval(rate.value, len(bases))
    return rate.model_copy(update={"low": low, "high": high})


def mean_over(values: Iterable[tuple[str, float]]) -> tuple[float, float, float] | None:
    """Return the mean of values between 0 and 1 with its 95 % interval: Wilson's for separate shares of 0 and 1, else by bases as in `share`.

    Args:
        values: Each with its base; their order does not matter.

    Returns:
        The mean, and the ends of its interval; None without values.
    """
    bases: dict[str, list[float]] = {}
    for base, value in values:
        bases.setdefault(base, []).append(value)
    if not (size := sum(map(len, bases.values()))):
        return None
    mean = fsum(value for own in bases.values() for value in own) / size
    plain = size == len(bases) and all(value in (0, 1) for own in bases.values() for value in own)
    limits = None if plain else ratio_interval([(fsum(own), len(own)) for own in bases.values()])
    return mean, *(limits or score_interval(mean, len(bases)))


def ratio_interval(clusters: Iterable[tuple[float, float]], seed: int = 0) -> Interval | None:
    """Return the `bootstrap` interval of the ratio of two sums.

    Args:
        clusters: What each cluster adds to the numerator and to the denominator; their order does not matter.
        seed: Seed of the draws.
    """
    return _ratio_interval(tuple(sorted(clusters)), seed)


@lru_cache(maxsize=256)
def _ratio_interval(clusters: tuple[tuple[float, float], ...], seed: int) -> Interval | None:
    ends = [end for end in range(1, len(clusters) + 1) if clusters[end - 1 : end] != clusters[end : end + 1]]
    # Neighbours that add the same are counted together, where that is quicker.
    alike = [*zip([0, *ends], ends, strict=False)] if len(ends) * _ALIKE <= len(clusters) else []
    different = [clusters[end - 1] for end in ends] if alike else clusters
    over, under = [one for one, _ in different], [one for _, one in different]

    def ratio(times: Sequence[int]) -> float | None:
        drawn = [sum(times[first:end]) for first, end in alike] if alike else times
        size = sum(map(mul, drawn, under))
        return sum(map(mul, drawn, over)) / size if size else None

    return bootstrap(len(clusters), ratio, seed)


def bootstrap(clusters: int, figure: Callable[[Sequence[int]], float | None], seed: int = 0) -> Interval | None:
    """Return the 95 % percentile bootstrap interval of a figure (Efron 1979), drawing clusters of similar rows, never single ones.

    There are 10,000 draws of up to 5 clusters, 2,717 of 72, and at least 1,000 of however many. If all draws are equal there is no
    interval: one of no width would look like proof.

    Args:
        clusters: The number of clusters. What is drawn depends on their order, which should depend on their content.
        figure: Its value, from how often each cluster was drawn; a draw in which it has none (None) is left out.
        seed: Seed of the draws.
    """
    if clusters < 1:
        return None
    values = sorted(value for times in _draws(clusters, seed) if (value := figure(times)) is not None)
    if not values:
        return None
    low, high = quantile(values, 0.025), quantile(values, 0.975)
    return (low, high) if high - low > _NO_WIDTH else None


def draws_for(clusters: int) -> int:
    """Return how often so many clusters are drawn."""
    return min(_MOST_DRAWS, max(_FEWEST_DRAWS, _EFFORT // (clusters + _EFFORT_OF_A_DRAW)))


@lru_cache(maxsize=8)
def _draws(clusters: int, seed: int) -> tuple[bytes, ...]:
    """Return how often each cluster is drawn if as many are drawn, with replacement, as there are: a group's figures share the draws."""
    draw = random.Random(seed)
    places = range(clusters)
    found = []
    for _ in range(draws_for(clusters)):
        times = bytearray(clusters)
        for place in draw.choices(places, k=clusters):
            times[place] += 1
        found.append(bytes(times))
    return tuple(found)


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share of sorted values lies, interpolated between neighbours."""
    place = share * (len(values) - 1)
    low = int(place)
    return values[low] + (values[min(low + 1, len(values) - 1)] - values[low]) * (place - low)


def average_of_rates(first: Rate, second: Rate) -> Rate | None:
    """Return the plain average of two shares of separate groups, whatever their sizes; None where either has no value.

    The interval combines the two groups' Wilson limits by the square-and-add rule for independent proportions (Newcombe 1998, method 10).
    `k` and `n` are the groups' sums, so k / n differs from `value` where the sizes differ.
    """
    if first.value is None or second.value is None:
        return None
    value, low, high = _combine([(first, 0.5), (second, 0.5)])
    return Rate(k=first.k + second.k, n=first.n + second.n, value=value, low=low, high=high)


def pool_rates(rates: Iterable[Rate]) -> Rate:
    """Return the share of the trials of several groups together.

    The interval is Wilson's if that of each group is. One that is wider or narrower rests on repeats or variants; then the groups' limits are
    combined as in `average_of_rates`, each by its share of the trials.
    """
    counted = [rate for rate in rates if rate.n]
    k, n = sum(rate.k for rate in counted), sum(rate.n for rate in counted)
    if all(rate == wilson(rate.k, rate.n) for rate in counted):
        return wilson(k, n)
    _, low, high = _combine([(rate, rate.n / n) for rate in counted])
    return Rate(k=k, n=n, value=k / n, low=low, high=high)


def _combine(parts: Sequence[tuple[Rate, float]]) -> tuple[float, float, float]:
    """Return the weighted mean of shares of separate groups, and the ends of its interval."""
    known = [(_limits(rate), weight) for rate, weight in parts]
    value = sum(middle * weight for (_, middle, _), weight in known)
    below = sqrt(sum(((middle - low) * weight) ** 2 for (low, middle, _), weight in known))
    above = sqrt(sum(((high - middle) * weight) ** 2 for (_, middle, high), weight in known))
    return value, max(0.0, value - below), min(1.0, value + above)


def _limits(rate: Rate) -> tuple[float, float, float]:
    assert rate.low is not None and rate.value is not None and rate.high is not None
    return rate.low, rate.value, rate.high
