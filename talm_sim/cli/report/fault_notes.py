"""What is not known of the faults of a run, and where they did not apply: notes below its table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from talm_sim.cli.terminal.text import count
from talm_sim.errors import format_names
from talm_sim.runs.stored_run import StoredRun
from talm_sim.tasks import AgentOptions
from talm_sim.types import Episode, Summary

__all__ = ["fault_notes"]

_MOST_NAMES = 3
_UNDECIDED = "undecided"


def fault_notes(stored: StoredRun, summaries: Sequence[Summary]) -> Iterator[str]:
    """Yield what the labels of the run's faults do not say."""
    options = stored.job.options
    if not isinstance(options, AgentOptions) or not (options.perturb or any(summary.matrices for summary in summaries)):
        return
    undecided = sum(map(_count_undecided, summaries))
    if undecided:
        yield (
            f"undecided: {count(undecided, 'fault')}, as neither facts nor an undamaged answer are known; give the scenarios a target of facts "
            "with their gold calls"
        )
    withheld: Counter[str] = Counter()
    seen = passed_over = 0
    for episode in stored.episodes():
        withheld.update(event.name for event in episode.tool_events for log in event.perturbations if log.withheld)
        seen += any(log.seen for log in episode.perturbations)
        passed_over += _count_passed_over(episode)
    if withheld:
        yield (
            f"not applicable without --writing: {count(withheld.total(), 'call')} of {format_names(sorted(withheld), _MOST_NAMES)}, which may "
            "change data; a fault that lets a call through does not strike them"
        )
    if getattr(options, "agent", None):
        yield from _notes_on_agent(seen, passed_over, takes_model=not stored.job.config.model.startswith("agent/"))


def _notes_on_agent(seen: int, passed_over: int, *, takes_model: bool) -> Iterator[str]:
    """Say what counts as seen by the user's own agent: what it thinks with need not be known."""
    if seen and not takes_model:
        yield "seen: what the agent's code was given, as its model's prompts are not known"
    if passed_over and takes_model:
        yield (
            f"not seen: {count(passed_over, 'changed result')} that the agent's code was given, but that no prompt of the model it was handed "
            "contains word for word"
        )


def _count_undecided(summary: Summary) -> int:
    """Count the faults of a group that nobody can judge; a matrix of other things has no such column."""
    if summary.derived:
        return 0
    found = [(one, one.columns.index(_UNDECIDED)) for one in summary.matrices if _UNDECIDED in one.columns]
    return sum(row[place] for matrix, place in found for row in matrix.counts)


def _count_passed_over(episode: Episode) -> int:
    """Count the results that a fault changed and no prompt contained, though the agent went on."""
    last = len(episode.model_turns) - 1
    return sum(
        event.turn < last and any(log.injected == event.result and not log.seen for log in event.perturbations) for event in episode.tool_events
    )
