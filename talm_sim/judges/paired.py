"""Compare two runs over the same scenarios: an exact test of their differences, intervals, and a correction for several tests at once.

Everything is computed with the standard library. A *cluster* holds the differences of scenarios that share a base: what is alike is drawn, and
changes its sign, together.
"""

from __future__ import annotations

import random
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import accumulate, product
from math import comb, fsum, gcd, lcm, sqrt
from typing import NamedTuple

from talm_sim.judges.stats import Interval, draws_for, quantile, score_interval, wilson

DRAWS = 10_000
"""Draws of a bootstrap, and of signs where they cannot all be counted."""
_MOST_STEPS = 10_000_000
"""Most additions for counting all signs; more take longer than some seconds."""
_WORTH = 8
"""Clusters per kind from which on kinds are drawn by their numbers, and not each cluster."""
_NEVER = 1e-18
"""Chance, against the likeliest, below which a number is not drawn."""
_ROUNDING = 1e-12


class Cluster(NamedTuple):
    """The differences of scenarios that share a base."""

    total: Fraction | float
    """Their sum; a fraction where it is exact."""
    size: int = 1
    """The number of scenarios."""


class SignFlips(NamedTuple):
    """The result of a sign-flip test."""

    p: float
    """Two-sided p value."""
    exact: bool
    """Whether all cases were counted; otherwise some were drawn."""


def flip_signs(clusters: Sequence[Cluster], seed: int = 0) -> SignFlips:
    """Test whether differences are symmetric around 0: how often random signs give a sum that is at least as far from 0.

    Of differences that are all -1, 0 and 1 it is the exact test of McNemar (1947). All signs are counted where the sums are few, as those of
    shares over equal numbers of epochs are.

    Args:
        clusters: The differences; those that are 0 say nothing.
        seed: Seed of the signs, where they are drawn.

    >>> flip_signs([Cluster(1)] * 9 + [Cluster(-1)]).p
    0.021484375
    """
    if not (totals := [cluster.total for cluster in clusters if cluster.total]):
        return SignFlips(1.0, True)
    if (steps := _as_steps(totals)) is None:
        return _try_signs(totals, seed)
    sizes = Counter(map(abs, steps))
    found = abs(sum(steps))
    if len(sizes) == 1:  # whole numbers to the end: no rounding
        ((size, n),) = sizes.items()
        lower = (n - found // size) // 2
        return SignFlips(min(1.0, 2 * sum(comb(n, k) for k in range(lower + 1)) / 2**n), True)
    chances = reduce(_add_signs, sorted(sizes.items()), {0: 1.0})
    return SignFlips(min(1.0, sum(chance for total, chance in chances.items() if abs(total) >= found)), True)


def _as_steps(totals: Sequence[Fraction | float]) -> list[int] | None:
    """Return differences as whole numbers of their largest common part; None if counting all their signs takes too long."""
    if any(isinstance(total, float) for total in totals):
        return None
    exact = [Fraction(total) for total in totals]
    scale = lcm(*(total.denominator for total in exact))
    whole = [total.numerator * (scale // total.denominator) for total in exact]
    part = gcd(*whole)
    steps = [one // part for one in whole]
    sizes = sorted(Counter(map(abs, steps)).items())
    cost, reach = 0, 0
    for size, number in sizes:
        cost += (reach + 1) * (number + 1)
        reach += size * number
    return steps if len(sizes) == 1 or cost <= _MOST_STEPS else None


def _add_signs(chances: dict[int, float], more: tuple[int, int]) -> dict[int, float]:
    """Return the chances of all sums after `number` further differences of one size, each with a random sign."""
    size, number = more
    own = [(size * (2 * up - number), comb(number, up) / 2**number) for up in range(number + 1)]
    found: dict[int, float] = {}
    for total, chance in chances.items():
        for step, weight in own:
            found[total + step] = found.get(total + step, 0.0) + chance * weight
    return found


def _try_signs(totals: Sequence[Fraction | float], seed: int) -> SignFlips:
    """Try the signs one by one: all of them where they are no more than the draws, else drawn ones. Neither order nor direction matters."""
    values = sorted(abs(float(total)) for total in totals)
    whole = fsum(values)
    reach = abs(fsum(map(float, totals))) - _ROUNDING * whole
    if 2 ** len(values) <= DRAWS:
        sums = _subset_sums(values)
        return SignFlips(sum(abs(2 * one - whole) >= reach for one in sums) / len(sums), True)
    # Sums over eight differences at once are looked up.
    parts = [_subset_sums(values[place : place + 8]) for place in range(0, len(values), 8)]
    tables = [sums * (256 // len(sums)) for sums in parts]
    draw = random.Random(seed)
    far = sum(abs(2 * sum(map(list.__getitem__, tables, draw.randbytes(len(tables)))) - whole) >= reach for _ in range(DRAWS))
    return SignFlips((far + 1) / (DRAWS + 1), False)


def _subset_sums(values: Sequence[float]) -> list[float]:
    sums = [0.0]
    for value in values:
        sums += [one + value for one in sums]
    return sums


def swap_sides(clusters: int, difference: Callable[[Sequence[int]], float | None], seed: int = 0) -> SignFlips | None:
    """Test a difference of two figures: how often it is at least as far from 0 when clusters change sides at random.

    All cases are counted where they are no more than 10,000. Else there are 10,000 draws of few clusters and at least 1,000 of however many, as
    a figure over many rows takes long. A case in which the figure has no value counts as one that is as far from 0.

    Args:
        clusters: The number of clusters.
        difference: Returns the difference, from 1 for each cluster that changed sides and 0 for each other.
        seed: Seed of the draws.

    Returns:
        The result; None if there is no difference to test.
    """
    if (found := difference(bytes(clusters))) is None:
        return None

    def is_far(swapped: Sequence[int]) -> bool:
        value = difference(swapped)
        return value is None or abs(value) >= abs(found) - _ROUNDING

    if 2**clusters <= DRAWS:
        return SignFlips(sum(map(is_far, product((0, 1), repeat=clusters))) / 2**clusters, True)
    draw = random.Random(seed)
    draws = draws_for(clusters)
    far = sum(is_far(bytes(one & 1 for one in draw.randbytes(clusters))) for _ in range(draws))
    return SignFlips((far + 1) / (draws + 1), False)


def difference_interval(clusters: Sequence[Cluster], seed: int = 0, draws: int = DRAWS) -> Interval | None:
    """Return the 95 % percentile bootstrap interval of the mean difference; None if all draws are equal.

    Args:
        clusters: The differences; what is drawn does not depend on their order.
        seed: Seed of the draws.
        draws: The number of draws.
    """
    if not clusters:
        return None
    return _difference_interval(tuple(sorted(Counter((float(one.total), one.size) for one in clusters).items())), seed, draws)


@lru_cache(maxsize=1024)
def _difference_interval(kinds: tuple[tuple[tuple[float, int], int], ...], seed: int, draws: int) -> Interval | None:
    draw = random.Random(seed)
    if _WORTH * len(kinds) <= sum(number for _, number in kinds):
        values = sorted(_mean_of_kinds(kinds, draw) for _ in range(draws))
    else:
        values = sorted(_draw_means([one for one, number in kinds for _ in range(number)], draw, draws))
    low, high = quantile(values, 0.025), quantile(values, 0.975)
    return (low, high) if high - low > _ROUNDING else None


def _draw_means(clusters: Sequence[tuple[float, int]], draw: random.Random, draws: int) -> Iterator[float]:
    n, sizes = len(clusters), {size for _, size in clusters}
    if len(sizes) == 1:  # the usual case: each scenario has a base of its own
        totals, size = [total for total, _ in clusters], sizes.pop()
        yield from (sum(draw.choices(totals, k=n)) / (n * size) for _ in range(draws))
        return
    for _ in range(draws):
        drawn = draw.choices(clusters, k=n)
        yield sum(total for total, _ in drawn) / sum(size for _, size in drawn)


def _mean_of_kinds(kinds: Sequence[tuple[tuple[float, int], int]], draw: random.Random) -> float:
    total, size = 0.0, 0
    for (value, scenarios), times in zip((one for one, _ in kinds), _draw_numbers([number for _, number in kinds], draw), strict=True):
        total += value * times
        size += scenarios * times
    return total / size


def _draw_numbers(numbers: Sequence[int], draw: random.Random) -> Iterator[int]:
    """Draw as many as there are, with replacement, and yield how many of each kind were drawn: one binomial number after the other."""
    n = left = sum(numbers)
    for number in numbers[:-1]:
        start, sums = _binomial(n, number, left)
        drawn = start + bisect(sums, draw.random() * sums[-1])
        yield drawn
        n, left = n - drawn, left - number
    yield n


@lru_cache(maxsize=20_000)
def _binomial(n: int, over: int, under: int) -> tuple[int, tuple[float, ...]]:
    """Return the smallest number of n trials with the chance over / under that is likely at all, and the cumulated chances from it."""
    chance = over / under
    mode = min(n, int((n + 1) * chance))
    odds = chance / (1 - chance)
    down, up = [1.0], [1.0]
    for k in range(mode, 0, -1):
        down.append(down[-1] * k / ((n - k + 1) * odds))
        if down[-1] < _NEVER:
            break
    for k in range(mode, n):
        up.append(up[-1] * (n - k) * odds / (k + 1))
        if up[-1] < _NEVER:
            break
    return mode - len(down) + 1, tuple(accumulate([*reversed(down), *up[1:]]))


def newcombe_interval(both: int, first: int, second: int, neither: int) -> Interval:
    """Return the 95 % interval of the difference of two paired shares, the second less the first (Newcombe 1998, method 10).

    It has a width for any counts.

    Args:
        both: Pairs in which both are true.
        first: Pairs in which the first alone is true.
        second: Pairs in which the second alone is true.
        neither: Pairs in which none is.

    Raises:
        ValueError: There are no pairs.

    >>> low, high = newcombe_interval(1, 7, 1, 12)  # Bentur et al. 2009: -0.507 to -0.026
    >>> f"{low:.3f} {high:.3f}"
    '-0.507 -0.026'
    """
    if not (n := both + first + second + neither):
        raise ValueError("there are no pairs.")
    before, after = _limits(both + first, n), _limits(both + second, n)
    marginals = (both + first) * (second + neither) * (both + second) * (first + neither)
    alike = both * neither - first * second
    # Corrected for continuity where the two agree more than by chance.
    phi = (max(alike - n / 2, 0) if alike > 0 else alike) / sqrt(marginals) if marginals else 0.0
    difference = after[1] - before[1]
    return max(-1.0, difference - _combine(after, before, phi)), min(1.0, difference + _combine(before, after, phi))


def flat_interval(first: float, second: float, n: int) -> Interval:
    """Return a 95 % interval of the difference of two means between 0 and 1 that is the same in all clusters, where a bootstrap has no width.

    Wilson's limits of the two means are combined as if these were independent, which is too wide rather than too narrow.

    Args:
        first: The first mean.
        second: The second mean.
        n: The number of clusters.
    """
    (low, high), (other_low, other_high) = score_interval(first, n), score_interval(second, n)
    before, after = (low, first, high), (other_low, second, other_high)
    return max(-1.0, second - first - _combine(after, before, 0.0)), min(1.0, second - first + _combine(before, after, 0.0))


def _limits(k: int, n: int) -> tuple[float, float, float]:
    rate = wilson(k, n)
    assert rate.low is not None and rate.value is not None and rate.high is not None
    return rate.low, rate.value, rate.high


def _combine(one: tuple[float, float, float], other: tuple[float, float, float], phi: float) -> float:
    """Return how far the one's value lies above its lower limit and the other's below its upper limit, together."""
    below, above = one[1] - one[0], other[2] - other[1]
    return sqrt(max(0.0, below * below - 2 * phi * below * above + above * above))


def correct_by_holm(values: Sequence[float]) -> list[float]:
    """Return p values corrected for their number (Holm 1979), in their order.

    >>> correct_by_holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    found = [0.0] * len(values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        largest = max(largest, min(1.0, values[place] * (len(values) - rank)))
        found[place] = largest
    return found
