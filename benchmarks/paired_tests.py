"""How often the paired tests and intervals of a comparison call two equal agents different.

Usage: python benchmarks/paired_tests.py [--pairs 10000] [--intervals 1500] [--seed 0]

Two agents are equal in every row of the table. At one epoch each pair of runs has a share of scenarios in which the two differ (the
discordance), each difference by the toss of a coin, and half of the other scenarios are passed by both. At four epochs each agent has a
probability of its own in each scenario, from Beta(.5, .5), so that epochs of a scenario are alike. The test flips the signs of the scenarios'
differences; `naive` is McNemar's test over scenarios x epochs, which takes epochs as independent. The interval is the one a comparison prints;
that of four epochs is drawn 2,000 times in place of 10,000 here, to save time.

A test may reject in 1 % to 5 % of the pairs, plus two standard errors; an interval may leave out 0 in 3 % to 6 %; the naive test must reject in
over 15 %, or the row does not show what it is there to show. The exit code is 1 where a figure is outside. Takes some minutes.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from math import sqrt

from talm_sim.judges.paired import DRAWS, Cluster, difference_interval, flip_signs, newcombe_interval
from talm_sim.judges.stats import Interval

LEVEL, MOST_REJECTED, LEAST_REJECTED, NAIVE = 0.05, 0.05, 0.01, 0.15
LEAST_OUT, MOST_OUT = 0.03, 0.06
FEWER_DRAWS = 2_000
FEW = 10
"""Discordant pairs below which Newcombe's interval is used at one epoch."""
Counts = tuple[tuple[int, int], ...]
"""Pairs of a difference, in steps of one epoch, and how many scenarios have it."""
Pair = tuple[Counts, int, int]
"""The differences of two runs, and the pairs of episodes in which only the first and only the second passed."""


@cache
def rejects(differences: Counts) -> bool:
    """Return whether the sign-flip test calls the runs different."""
    return flip_signs([Cluster(Fraction(step)) for step, number in differences for _ in range(number)]).p < LEVEL


@cache
def leaves_out_zero(differences: Counts, epochs: int) -> bool:
    """Return whether the interval of the difference does not contain 0; its sign does not matter."""
    low, high = interval(Counter(dict(differences)), epochs)
    return low > 0 or high < 0


def interval(differences: Counter[int], epochs: int) -> Interval:
    """Return the interval that a comparison prints."""
    n = differences.total()
    same = differences[0]
    short = newcombe_interval(same // 2, differences[-1], differences[1], same - same // 2)
    if epochs == 1 and n - same < FEW:
        return short
    clusters = [Cluster(Fraction(step, epochs)) for step, number in sorted(differences.items()) for _ in range(number)]
    return difference_interval(clusters, draws=DRAWS if epochs == 1 else FEWER_DRAWS) or short


def one_epoch(n: int, discordance: float, draw: random.Random) -> Pair:
    """Draw two runs of one epoch over n scenarios."""
    differing = sum(draw.random() < discordance for _ in range(n))
    first = draw.getrandbits(differing).bit_count() if differing else 0
    return ordered({-1: first, 0: n - differing, 1: differing - first}), first, differing - first


def repeated(n: int, epochs: int, draw: random.Random) -> Pair:
    """Draw two runs of several epochs; each agent has its own probability in each scenario."""
    differences: Counter[int] = Counter()
    first = second = 0
    for _ in range(n):
        chances = [draw.betavariate(0.5, 0.5) for _ in range(2)]
        passed = [(draw.random() < chances[0], draw.random() < chances[1]) for _ in range(epochs)]
        differences[sum(after - before for before, after in passed)] += 1
        first += passed.count((True, False))
        second += passed.count((False, True))
    return ordered(differences), first, second


def ordered(differences: dict[int, int]) -> Counts:
    """Return differences by size, mirrored if most are negative: neither the test nor whether an interval contains 0 depends on it."""
    mirrored = {-step: number for step, number in differences.items()}
    return max(tuple(sorted((step, number) for step, number in one.items() if number)) for one in (differences, mirrored))


def rows(pairs: int, intervals: int, seed: int) -> Iterator[tuple[str, float, float, float | None]]:
    """Yield what is compared, and the shares of the pairs that are rejected, left out and, of several epochs, rejected by the naive test."""
    for n in (72, 200):
        for discordance in (0.1, 0.2, 0.5):
            found = _draw(lambda draw, n=n, one=discordance: one_epoch(n, one, draw), pairs, seed)  # type: ignore[misc]
            yield f"{n:>4} {1:>7} {discordance:>12.1f}", _share(found, rejects), _share(found, lambda one: leaves_out_zero(one, 1)), None
    found = _draw(lambda draw: repeated(72, 4, draw), pairs, seed)
    out = _share(found[:intervals], lambda one: leaves_out_zero(one, 4))
    naive = sum(rejects(ordered({-1: first, 1: second})) for _, first, second in found) / pairs
    yield f"{72:>4} {4:>7} {'Beta(.5,.5)':>12}", _share(found, rejects), out, naive


def _draw(make: Callable[[random.Random], Pair], pairs: int, seed: int) -> list[Pair]:
    draw = random.Random(seed)
    return [make(draw) for _ in range(pairs)]


def _share(found: list[Pair], holds: Callable[[Counts], bool]) -> float:
    return sum(holds(one) for one, _, _ in found) / len(found)


def main() -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=10_000, help="pairs of runs per row")
    parser.add_argument("--intervals", type=int, default=1_500, help="of them, those of four epochs that get an interval")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    most = MOST_REJECTED + 2 * sqrt(MOST_REJECTED * (1 - MOST_REJECTED) / given.pairs)
    print(f"{given.pairs:,} pairs of equal agents; test at {LEVEL}: 1 % to {most:.1%}; interval without 0: 3 % to 6 %")
    print(f"{'n':>4} {'epochs':>7} {'discordance':>12} {'test':>8} {'interval':>9} {'naive':>8}")
    outside = 0
    for what, rejected, out, naive in rows(given.pairs, given.intervals, given.seed):
        fits = LEAST_REJECTED <= rejected <= most and LEAST_OUT <= out <= MOST_OUT and (naive is None or naive > NAIVE)
        outside += not fits
        last = f"{naive:>8.1%}" if naive is not None else f"{'':>8}"
        print(f"{what} {rejected:>8.1%} {out:>9.1%} {last}{'' if fits else '  outside'}", flush=True)
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
