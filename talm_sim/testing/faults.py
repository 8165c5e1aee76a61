"""The labels of judge `fault`, as assertions look at them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from talm_sim.judges.fault_verdicts import FaultJudge, FaultLabel
from talm_sim.runs.stored_run import StoredRun
from talm_sim.testing.calls import kind_of
from talm_sim.types import Episode, ToolEvent, Verdict

__all__ = ["INVENTED", "FaultLabels"]

INVENTED = frozenset({FaultLabel.PROPAGATED, FaultLabel.FABRICATED})
"""Labels of an answer that gives a wrong value, or claims a success that is none."""


class FaultLabels:
    """What an agent did with each fault of a run.

    Args:
        stored: The run.
    """

    def __init__(self, stored: StoredRun) -> None:
        self._stored = stored

    @cached_property
    def _verdicts(self) -> dict[str, Verdict]:
        return {verdict.episode_id: verdict for verdict in self._stored.verdicts() if verdict.judge == FaultJudge.name}

    def of(self, episode: Episode) -> dict[str, str]:
        """Return the label of each perturbation of an episode, in their order; empty where none was judged."""
        verdict = self._verdicts.get(episode.id)
        return dict(verdict.labels) if verdict else {}

    def why(self, episode: Episode) -> str:
        """Return what decided the labels, as a failed test says it."""
        return f"judge fault: {self._verdicts[episode.id].explanation}"

    def of_calls(self, episode: Episode, calls: Iterable[ToolEvent], perturbation: str = "") -> set[str]:
        """Return the labels of the perturbations that the agent met in some calls; of all, or of one as it was given or by its name alone."""
        every = [*self.of(episode).values()]
        places = {log.place for event in calls for log in event.perturbations if log.seen and perturbation in ("", log.name, kind_of(log.name))}
        return {every[place] for place in places if place < len(every)}
