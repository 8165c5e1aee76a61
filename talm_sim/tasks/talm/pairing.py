"""Find the `perfect` episode that a no-tools episode is compared with."""

from __future__ import annotations

from typing import Generic, TypeVar

__all__ = ["PerfectPairs"]

T = TypeVar("T")


class PerfectPairs(Generic[T]):
    """What is known of `perfect` episodes, by the scenario that another one was derived from.

    A pair shares the base scenario and, if the perfect run has it, the epoch; otherwise the earliest epoch is used.
    """

    def __init__(self) -> None:
        self._by_scenario: dict[str, dict[int, T]] = {}

    def add(self, scenario_id: str, epoch: int, value: T) -> None:
        """Keep `value` for an epoch of a perfect scenario."""
        self._by_scenario.setdefault(scenario_id, {})[epoch] = value

    def of(self, base: str, epoch: int) -> T | None:
        """Return what is known of the perfect episode of scenario `base`, or None where there is none."""
        epochs = self._by_scenario.get(base)
        if not epochs:
            return None
        return epochs[epoch] if epoch in epochs else epochs[min(epochs)]
