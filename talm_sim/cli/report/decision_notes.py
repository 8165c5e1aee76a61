"""What people decided about calls, and what was put to nobody or answered by nobody: notes below a run's table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from talm_sim.cli.terminal.text import count
from talm_sim.runs.stored_run import StoredRun
from talm_sim.tasks import PersonOptions
from talm_sim.types import HumanEvent

__all__ = ["person_notes"]

_DECIDED = {"approve": "approved", "edit": "edited", "reject": "rejected", "respond": "answered in its place"}
_NOUNS = {"question": "question", "approval": "call", "form": "form"}


def person_notes(stored: StoredRun) -> Iterator[str]:
    """Yield how calls that waited for a person were decided, and how much stayed without an answer."""
    options = stored.job.options
    if not isinstance(options, PersonOptions) or options.human == "none":
        return
    limited = options.ask_limit is not None or options.ask_limit_run is not None or options.answer_timeout is not None
    if not (getattr(options, "approve", "") or limited or options.human == "recorded" or getattr(options, "agent", None)):
        return
    decided: Counter[str] = Counter()
    silent: dict[str, list[tuple[str, str]]] = {"limit": [], "timeout": []}
    for episode in stored.episodes():
        decided.update(map(_decision_of, episode.human_events))
        for event in episode.human_events:
            if event.declined in silent:
                silent[event.declined].append((episode.id, event.kind))
    del decided[""]
    if decided:
        kinds = ", ".join(f"{decided[one]:,} {one}" for one in _DECIDED.values() if decided[one])
        yield f"calls that waited for a person: {decided.total():,} ({kinds})"
    if silent["limit"]:
        yield f"not asked: {_format(silent['limit'])}, as a limit was reached (ask_limit, ask_limit_run)"
    if silent["timeout"]:
        yield f"not answered in time (answer_timeout): {_format(silent['timeout'])}"


def _decision_of(event: HumanEvent) -> str:
    """Return how a call was decided; empty for anything else, and where nobody decided."""
    if event.kind != "approval" or event.decision is None or event.declined:
        return ""
    return _DECIDED.get(event.decision.action, "")


def _format(found: list[tuple[str, str]]) -> str:
    """Count what stayed without an answer, by kind, and its episodes."""
    kinds = Counter(kind for _, kind in found)
    parts = [count(kinds[kind], noun) for kind, noun in _NOUNS.items() if kinds[kind]]
    return f"{' and '.join(parts)} in {count(len({episode for episode, _ in found}), 'episode')}"
