"""Compute how likely McNemar's exact test tells two runs over the same scenarios apart if one of them succeeds less often."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_LEVEL, _WANTED = 0.05, 0.8
"""Two-sided level of the test, and the power that is asked for."""
_MOST_PAIRS = 10_000_000
_NEGLIGIBLE = 1e-18
"""Chances that are this small a part of the largest are left out."""
_NEVER = 1e-12
_LOOKED_AROUND = 50
"""Power does not grow with every pair: so many numbers of pairs beside the one found are looked at as well."""


class Discordance(NamedTuple):
    """Shares of the pairs in which one run alone succeeds."""

    first: float
    """Share in which only the first one does."""
    second: float

    @property
    def total(self) -> float:
        """Share of the pairs in which the two differ."""
        return self.first + self.second


def find_discordance(share: float, drop: float, both: float | None = None) -> Discordance:
    """Return in how many pairs a run differs from one that succeeds less often.

    The second run succeeds in each scenario with (share - drop) / share times the chance of the first.

    Args:
        share: The share of the episodes in which the first succeeds.
        drop: How much less often the second does; at most the share.
        both: The share of pairs of epochs of one scenario that both succeed; by default the runs are independent, as if all scenarios were
            equally hard.

    >>> find_discordance(0.6, 0.2).total
    0.52
    """
    after = share - drop
    agreed = share * after if both is None else both * after / share if share else 0.0
    return Discordance(max(0.0, share - agreed), max(0.0, after - agreed))


def power(pairs: int, discordance: Discordance) -> float:
    """Return the chance that the exact two-sided test rejects at .05.

    Args:
        pairs: The number of scenarios, each played once by each run.
        discordance: In how many pairs the two differ.
    """
    total = min(1.0, discordance.total)
    if total <= 0:
        return 0.0
    conditional = _conditional_power(discordance.first / discordance.total)
    weights = dict(_binomial_weights(pairs, total))
    found = sum(weight * conditional.at(differing) for differing, weight in weights.items())
    return min(1.0, found / sum(weights.values()))


def pairs_needed(discordance: Discordance) -> int | None:
    """Return the smallest number of pairs from which on the test has a power of .8; None if that takes over ten million."""
    most = 8
    while power(most, discordance) < _WANTED:
        most *= 2
        if most > _MOST_PAIRS:
            return None
    least = most // 2
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if power(middle, discordance) >= _WANTED else (middle, most)
    around = range(max(1, most - _LOOKED_AROUND), most + _LOOKED_AROUND)
    return 1 + max((pairs for pairs in around if power(pairs, discordance) < _WANTED), default=around.start - 1)


def find_drop(pairs: int, share: float, both: float | None = None) -> float | None:
    """Return the smallest drop that the test finds with a power of .8; None if it finds none.

    Args:
        pairs: The number of scenarios.
        share: As in `find_discordance`.
        both: As in `find_discordance`.
    """
    least, most = 0.0, share
    if power(pairs, find_discordance(share, most, both)) < _WANTED:
        return None
    while most - least > 1e-5:
        middle = (least + most) / 2
        least, most = (least, middle) if power(pairs, find_discordance(share, middle, both)) >= _WANTED else (middle, most)
    return most


def _binomial_weights(n: int, chance: float) -> Iterator[tuple[int, float]]:
    """Yield numbers of successes in n trials, with weights that are proportional to their chances."""
    mode = min(n, int((n + 1) * chance))
    yield mode, 1.0
    weight = 1.0
    for k in range(mode + 1, n + 1):
        weight *= (n - k + 1) * chance / (k * (1 - chance)) if chance < 1 else 0.0
        if weight < _NEGLIGIBLE:
            break
        yield k, weight
    weight = 1.0
    for k in range(mode - 1, -1, -1):
        weight *= (k + 1) * (1 - chance) / ((n - k) * chance)
        if weight < _NEGLIGIBLE:
            break
        yield k, weight


class _Tail:
    """The chance of at most `most` successes in `trials` trials, followed from trial to trial."""

    def __init__(self, chance: float) -> None:
        self.chance = min(max(chance, _NEVER), 1 - _NEVER)
        self.trials, self.most = 0, -1
        self.value = self._last = 0.0

    def add_trial(self) -> None:
        """Go on to one more trial."""
        self.value = max(0.0, self.value - self.chance * self._last)
        self.trials += 1
        self._last *= self.trials / (self.trials - self.most) * (1 - self.chance)

    def next_chance(self) -> float:
        """Return the chance of exactly one success more than `most`."""
        if self.most < 0:
            return float((1 - self.chance) ** self.trials)
        return self._last * (self.trials - self.most) / (self.most + 1) * self.chance / (1 - self.chance)

    def widen(self) -> None:
        """Allow one more success."""
        self._last = self.next_chance()
        self.value += self._last
        self.most += 1


class _ConditionalPower:
    """The chance that the test rejects, by the number of pairs that differ."""

    def __init__(self, chance: float) -> None:
        self._null, self._down, self._up = _Tail(0.5), _Tail(1 - chance), _Tail(chance)
        self._known = [0.0]

    def at(self, differing: int) -> float:
        """Return it for a number of pairs that differ."""
        tails = (self._null, self._down, self._up)
        while len(self._known) <= differing:
            for tail in tails:
                tail.add_trial()
            while self._null.value + self._null.next_chance() < _LEVEL / 2:
                for tail in tails:
                    tail.widen()
            self._known.append(min(1.0, self._down.value + self._up.value))
        return self._known[differing]


@lru_cache(maxsize=64)
def _conditional_power(chance: float) -> _ConditionalPower:
    return _ConditionalPower(chance)
