"""Estimate the rate of a run from the labels of some of its episodes: by stratum, with an interval that holds for few labels, too."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import mul
from typing import NamedTuple

from talm_sim.judges.stats import quantile
from talm_sim.types import Row

_DRAWS = 1_000
_PRIOR = 1 / 3
"""Of a label more of either kind in each stratum (Kerman 2011): where all labels are alike, the rate is still not known."""
_FEW, _LEAST_SHAPE = 4.4, 0.7
"""With weights of the shape 1 - 4.4 / bases, the draws of a mean vary as a t distribution does; below .7 they would be of few bases alone."""
_Counts = tuple[tuple[float, ...], ...]
"""What a base adds on each side: by stratum its episodes labelled yes, its labelled ones, and all of them."""


class Member(NamedTuple):
    """An episode of the pool that a sample was drawn from."""

    base: str
    stratum: str
    weight: float
    """How many of its stratum it stands for: 1 if all of them are known."""
    value: float | None
    """1 if it was labelled a yes, 0 if a no; None without a label."""


def stratum_key(measure: str) -> str:
    """Return the label under which a row has the stratum of its episode, for a measure of people."""
    return f"{measure.partition(':')[0]}_stratum"


def strata_without_labels(members: Sequence[Member]) -> list[str]:
    """Return the strata whose rate nothing tells, sorted."""
    return sorted({one.stratum for one in members} - {one.stratum for one in members if one.value is not None})


def labelled_rate(*sides: Sequence[Member]) -> tuple[float, float, float] | None:
    """Return the rate that labels give a run: over its strata, the share of each times the share of yeses among its labels.

    The 95 % interval is of the Bayesian bootstrap by bases (Rubin 1981): all episodes of a base get one random weight, also those without a
    label, which say how large the strata are. Of two sides, a base has the same weight on both.

    Args:
        sides: The members of a run; or those of two, for the second's rate less the first's.

    Returns:
        The rate and the ends of its interval, which holds it; None if a stratum has no label, or a side no members.
    """
    if any(not side or strata_without_labels(side) for side in sides):
        return None
    counts: dict[str, list[list[float]]] = {}
    width = [3 * len({one.stratum for one in side}) for side in sides]
    for place, side in enumerate(sides):
        order = sorted({one.stratum for one in side})
        for one in side:
            own, at = counts.setdefault(one.base, [[0.0] * size for size in width])[place], 3 * order.index(one.stratum)
            for add, number in enumerate((one.value or 0, one.value is not None, one.weight)):
                own[at + add] += number
    # Bases that add the same are drawn as one; then the order depends on nothing but what they add.
    alike = Counter(tuple(map(tuple, of)) for of in counts.values())
    return _estimate(tuple(sorted(alike.items())))


def compare_samples(sides: Sequence[Iterable[tuple[str, Row]]], measure: str) -> dict[str, float] | None:
    """Return how the rates of two runs differ in a measure of people, of whose rows each comes with its base.

    It is empty unless one is of a sample, and None if one has no rate.
    """
    key = stratum_key(measure)
    members = [[Member(base, row.labels[key], 1.0, row.values.get(measure)) for base, row in rows if key in row.labels] for rows in sides]
    if all(one.value is not None for side in members for one in side):
        return {}
    found, first = labelled_rate(*members), labelled_rate(members[0])
    if found is None or first is None:
        return None
    value, low, high = found
    return {"first": first[0], "second": first[0] + value, "difference": value, "low": low, "high": high}


@lru_cache(maxsize=256)
def _estimate(alike: tuple[tuple[_Counts, int], ...]) -> tuple[float, float, float]:
    sides = [tuple(zip(*of, strict=True)) for of in zip(*(counts for counts, _ in alike), strict=True)]
    bases = min(sum(number for counts, number in alike if any(counts[place][1::3])) for place in range(len(sides)))
    shape = max(_LEAST_SHAPE, 1 - _FEW / bases)
    draw = random.Random(0)

    def rate(side: Sequence[Sequence[float]], times: Sequence[float], prior: float) -> float:
        total = found = 0.0
        for yes, labelled, every in zip(side[::3], side[1::3], side[2::3], strict=True):
            more, less = (draw.gammavariate(prior, 1) if prior else 0.0 for _ in range(2))
            size = sum(map(mul, times, every))
            total += size
            found += size * (sum(map(mul, times, yes)) + more) / (sum(map(mul, times, labelled)) + more + less)
        return found / total

    def figure(times: Sequence[float], prior: float) -> float:
        *first, last = (rate(side, times, prior) for side in sides)
        return last - sum(first)

    value = figure([number for _, number in alike], 0.0)
    drawn = sorted(figure([draw.gammavariate(number * shape, 1) for _, number in alike], _PRIOR) for _ in range(_DRAWS))
    return value, min(value, quantile(drawn, 0.025)), max(value, quantile(drawn, 0.975))
