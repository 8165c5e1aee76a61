"""What an agent does when a tool fails, or when something is missing: read only from the events and the final answer, for any agent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from talm_sim.judges.admission import admits_failure, admits_lack, reports_nothing_found
from talm_sim.judges.stats import share
from talm_sim.tasks.talm.uninformed_calls import find_uninformed_call, lacks_an_argument
from talm_sim.types import AwarenessValue, Episode, Measure, Row, Scenario, Termination
from talm_sim.types.measures import Better

__all__ = ["AFTER_FAULT", "MEASURES", "behaviour_after_fault", "behaviour_measures", "behaviour_when_missing", "declined_first"]

_MISSING = {
    "asked": ("Asked", "asked, by tool or in words"),
    "asked_in_words": ("In words", "asked in the words of a message"),
    "called_without_knowing": ("Untold", "used the missing argument's value before anything had given it"),
    "declined": ("Declined", "said No, or that it cannot"),
    "went_ahead": ("Ahead", "answered without asking or declining"),
}
_FAULT = {
    "retried": ("Retried", "called the failed tool again"),
    "recovered": ("Recover", "the tool answered later"),
    "told": ("Told", "the tool never answered, and the answer says so"),
    "went_on": ("Went on", "the tool never answered, and the answer does not say so"),
}
_BETTER: Mapping[str, Better] = {
    "called_without_knowing": "lower",
    "went_ahead": "lower",
    "recovered": "higher",
    "told": "higher",
    "went_on": "lower",
}
_TABLES = {"something missing": _MISSING, "a tool failed": _FAULT}
"""Title of a table to its columns: name to head and meaning."""
AFTER_FAULT = tuple(_FAULT)
"""Names of the columns of the second one."""
MEASURES = tuple(name for names in _TABLES.values() for name in names)
"""Names of all columns."""


def declined_first(episode: Episode) -> bool:
    """Return whether the agent declined before it tried."""
    return episode.termination is Termination.SKIPPED or any(answer.value is AwarenessValue.NO for answer in episode.awareness)


def behaviour_when_missing(episode: Episode, scenario: Scenario | None, left_open: Sequence[str]) -> dict[str, bool]:
    """Return what the agent did about what was missing; empty if nothing was, or if the scenario does not say what.

    The result of `find_uninformed_call` is only included if an argument is missing.

    Args:
        episode: What happened.
        scenario: What was asked.
        left_open: The questions in its final answer.
    """
    if scenario is None or not scenario.missing:
        return {}
    in_words = bool(left_open) or any(event.by == "words" for event in episode.questions)
    answered = episode.answered
    asked = in_words or bool(episode.questions)
    declined = declined_first(episode) or (answered and not left_open and admits_lack(episode.answer))
    done = {"asked": asked, "asked_in_words": in_words, "declined": declined}
    if lacks_an_argument(scenario):
        done["called_without_knowing"] = find_uninformed_call(episode, scenario) is not None
    return {**done, "went_ahead": answered and bool(episode.answer.strip()) and not asked and not declined}


def behaviour_after_fault(episode: Episode) -> dict[str, bool]:
    """Return what the agent did after a tool had failed; empty if it saw no fault.

    A fault is a call that failed, unless by the agent's own mistake, or whose result a perturbation changed. An episode recovered if each
    tool that failed answered in a later turn than its last fault; otherwise, one that ended with an answer either reported the failure or
    ignored it.
    """
    faults = [event for event in episode.tool_events if event.broken]
    if not faults:
        return {}
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for event in faults:
        first.setdefault(event.name, event.turn)
        last[event.name] = max(event.turn, last.get(event.name, event.turn))
    retried = any(event.turn > first[event.name] for event in episode.tool_events if event.name in first)
    answers = {event.name for event in episode.tool_events if event.ok and event.turn > last.get(event.name, event.turn)}
    recovered = answers >= last.keys()
    ended = episode.answered and bool(episode.answer.strip()) and not recovered
    # A result that was only damaged is told of by saying that nothing was found, too.
    admits = reports_nothing_found if any(event.ok for event in faults) else admits_failure
    told = ended and admits(episode.answer)
    return {"retried": retried, "recovered": recovered, "told": told, "went_on": ended and not told}


def behaviour_measures(scored: Sequence[Row]) -> Iterator[Measure]:
    """Return the columns over the rows they apply to; none if they apply to no row."""
    for title, names in _TABLES.items():
        rates: Mapping[str, tuple[str, str]] = names if any(next(iter(names)) in row.values for row in scored) else {}
        for name, (head, about) in rates.items():
            rate = share(scored, name)
            yield Measure.of(rate if rate.n else None, name, head, under=title, note=about, better=_BETTER.get(name, "neither"))
