"""Which `perfect` episode a no-tools episode is compared with."""

from __future__ import annotations

from collections.abc import Iterable

from talm_sim.types import Episode, Scenario

__all__ = ["PerfectPairs"]


class PerfectPairs:
    """Completed `perfect` episodes, found by the scenario another one was derived from.

    A pair shares the base scenario and, where the perfect run has it, the epoch; else the earliest epoch stands in.
    """

    def __init__(self, episodes: Iterable[Episode]) -> None:
        self._by_scenario: dict[str, dict[int, Episode]] = {}
        for episode in episodes:
            if episode.group == "perfect" and episode.termination.completed:
                self._by_scenario.setdefault(episode.scenario_id, {})[episode.epoch] = episode

    def of(self, episode: Episode, scenario: Scenario) -> Episode | None:
        """Return the episode to compare with, or None where there is none."""
        epochs = self._by_scenario.get(scenario.base)
        if not epochs:
            return None
        return epochs.get(episode.epoch) or epochs[min(epochs)]
