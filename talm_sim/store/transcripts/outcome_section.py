"""Say in a transcript what its episode came to, and what shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from talm_sim.tasks import RunView
from talm_sim.tasks.outcomes import BETTER_STYLES, BY_SUCCESS, agent_words, by_success
from talm_sim.types import Episode, Line, Scenario, Section, Verdict


class _OneEpisode:
    """A run with one of its episodes alone: its other ones need not be read to count it."""

    def __init__(self, run: RunView, episode: Episode, scenario: Scenario, verdicts: Sequence[Verdict]) -> None:
        self.job, self.imported, self.paired = run.job, run.imported, None
        self.tools, self.measures = run.tools, run.measures
        self._episode, self._scenario, self._verdicts = episode, scenario, verdicts

    def episodes(self, group: str | None = None) -> Iterator[Episode]:
        """Yield the episode."""
        return iter([self._episode])

    def scenarios(self) -> Iterator[Scenario]:
        """Yield its scenario."""
        return iter([self._scenario])

    def verdicts(self) -> Iterator[Verdict]:
        """Yield what the judges said of it."""
        return iter(self._verdicts)


def outcome_section(stored: RunView, episode: Episode, scenario: Scenario, verdicts: Sequence[Verdict]) -> Iterator[Section]:
    """Yield what the episode came to, and what shows it."""
    task = stored.job.task
    for row in by_success(task.rows(_OneEpisode(stored, episode, scenario, verdicts)), task.succeeded):
        outcome = next((one for one in task.outcomes or BY_SUCCESS if one.name == row.outcome), None)
        if outcome is not None:
            style = BETTER_STYLES[outcome.better]
            shown = task.evidence(episode, scenario, outcome.name, stored.tools())
            lines = ((Line(text=agent_words(outcome), style=style),), *([(Line(text=shown, style="faint"),)] if shown else []))
            yield Section(title="Outcome", lines=lines)
