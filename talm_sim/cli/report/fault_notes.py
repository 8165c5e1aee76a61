"""What a reader of a run's rows should know of its faults: how often they struck, and what their labels do not say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from talm_sim.cli.terminal.text import count
from talm_sim.errors import format_names, line_to_copy
from talm_sim.store.stored_run import StoredRun
from talm_sim.tasks import AgentOptions
from talm_sim.types import Episode, Summary

_MOST_NAMES = 3
_UNDECIDED = "undecided"


def perturbation_notes(stored: StoredRun) -> Iterator[str]:
    """Report how often each perturbation of the whole run fired: one that never did looks like a clean result."""
    options = stored.job.options
    wanted = {text.partition(":")[0] for text in options.perturb} if isinstance(options, AgentOptions) else set()
    hit: Counter[str] = Counter()
    of: Counter[str] = Counter()
    fired: Counter[str] = Counter()
    armed: Counter[str] = Counter()
    of_model: set[str] = set()
    seen: Counter[str] = Counter()
    lacking: Counter[str] = Counter()
    for episode in stored.episodes() if wanted else ():
        for log in episode.perturbations:
            if log.name.partition(":")[0] in wanted:
                of[log.name] += 1
                hit[log.name] += log.fired > 0
                fired[log.name] += log.fired
                armed[log.name] += log.armed
                seen[log.name] += log.seen > 0
                lacking[log.name] += log.not_applicable
                of_model |= {log.name} if episode.watched_model(log) else set()
    unmet = [name for name in of if not armed[name] and not lacking[name] and name not in of_model and name.partition(":")[0] != "mask"]
    if unmet:
        others = [name for name in of if fired[name]]
        alone = line_to_copy("talm-sim", "ablate", "--over", f"perturb={','.join(of)}")
        yield f"{', '.join(unmet)} met no call{f', as {others[0]} came first; for one run each: {alone}' if others else ''}"
    for name, total in ((name, total) for name, total in of.items() if name not in unmet):
        calls = "tool" if name.partition(":")[0] == "mask" else "generation" if name in of_model else "call"
        said = f"{name} hit {fired[name]:,} of {count(armed[name], calls)} ({hit[name]:,} of {count(total, 'episode')})"
        saw = f"; the agent saw {f'it in {seen[name]:,}' if seen[name] else 'none'}" if fired[name] else ""
        yield f"{said}{saw}" + (f"; not applicable to {count(lacking[name], calls)}" if lacking[name] else "")


def fault_notes(stored: StoredRun, summaries: Sequence[Summary]) -> Iterator[str]:
    """Yield what the labels of the run's faults do not say."""
    options = stored.job.options
    if not isinstance(options, AgentOptions) or not (options.perturb or any(summary.matrices for summary in summaries)):
        return
    if undecided := sum(map(_count_undecided, summaries)):
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
        yield f"{count(passed_over, 'fault')} reached the agent's code but never its model"


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
