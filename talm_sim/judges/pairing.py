"""Which `perfect` episode a no-tools episode is compared with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

from talm_sim.types import Episode

__all__ = ["PerfectPairs", "perfect_episodes"]

T = TypeVar("T")


class PerfectPairs(Generic[T]):
    """What is known of `perfect` episodes, found by the scenario another one was derived from.

    A pair shares the base scenario and, where the perfect run has it, the epoch; else the earliest epoch stands in.
    """

    def __init__(self) -> None:
        self._by_scenario: dict[str, dict[int, T]] = {}

    def add(self, episode: Episode, value: T) -> None:
        """Keep `value` for the episode, if it is a completed one of group `perfect`."""
        if episode.group == "perfect" and episode.termination.completed:
            self._by_scenario.setdefault(episode.scenario_id, {})[episode.epoch] = value

    def of(self, base: str, epoch: int) -> T | None:
        """Return what is known of the perfect episode of scenario `base`, or None where there is none."""
        epochs = self._by_scenario.get(base)
        if not epochs:
            return None
        return epochs[epoch] if epoch in epochs else epochs[min(epochs)]


def perfect_episodes(episodes: Iterable[Episode]) -> PerfectPairs[Episode]:
    """The perfect ones among `episodes`, as the preference judge compares with them."""
    pairs: PerfectPairs[Episode] = PerfectPairs()
    for episode in episodes:
        pairs.add(episode, episode)
    return pairs
