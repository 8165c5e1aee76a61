"""Count the outcomes of a group: how many of its scored episodes came to each, as measures that every table, file and gate can read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from talm_sim.judges.stats import share
from talm_sim.types import Episode, Measure, Outcome, Row, Termination
from talm_sim.types.measures import Better


def good(name: str, words: str, about: str, advice: str = "") -> Outcome:
    """Make an outcome that is good."""
    return Outcome(name=name, words=words, kind="good", about=about, advice=advice)


def neutral(name: str, words: str, about: str, advice: str = "") -> Outcome:
    """Make an outcome that is neither good nor bad."""
    return Outcome(name=name, words=words, about=about, advice=advice)


def bad(name: str, words: str, about: str, advice: str = "") -> Outcome:
    """Make an outcome that is bad."""
    return Outcome(name=name, words=words, kind="bad", about=about, advice=advice)


SOLVED = good("solved", "solved it", "The episode passed.")
NOT_SOLVED = bad("not_solved", "did not solve it", "The episode did not pass.")
RAN_OUT = bad(
    "ran_out",
    "ran out of turns or tokens",
    "A limit of turns or tokens ended the episode.",
    "See whether it repeats a call; turn_limit, in the file of --config, gives it more turns; --finish text ends an episode with words.",
)
NO_ANSWER = bad("no_answer", "gave no answer", "The last message has no text and no call, or a text that is only thought.")
CRASHED = bad("crashed", "crashed", "The agent or a tool raised an error, which ended the episode.", "show prints the traceback.")
NOT_DECIDED = neutral("not_decided", "could not be decided", "No judge could say what the episode came to.")
ENDS = (RAN_OUT, NO_ANSWER, CRASHED, NOT_DECIDED)
"""The outcomes of episodes that no answer decides; they end each list of an agent's."""
BETTER_STYLES: Mapping[Better, Literal["good", "notice", "bad"]] = {"higher": "good", "neither": "notice", "lower": "bad"}
"""Whether more episodes with an outcome are better, to the style of a `Line` that says it."""
BY_SUCCESS = (SOLVED, NOT_SOLVED)
"""The outcomes of a task that says when an episode succeeded, and nothing more; beside `NO_ANSWER`."""


def agent_words(outcome: Outcome) -> str:
    """Return an outcome as a sentence about the agent."""
    return "it could not be decided what the agent did" if outcome.name == NOT_DECIDED.name else f"the agent {outcome.words}"


def end_of(episode: Episode) -> Outcome | None:
    """Return the outcome of an episode that did not end with the agent's own words; None of one that did."""
    if episode.termination in (Termination.TURN_LIMIT, Termination.TOKEN_LIMIT):
        return RAN_OUT
    if episode.termination in (Termination.AGENT_ERROR, Termination.TOOL_ERROR):
        return CRASHED
    return NO_ANSWER if episode.termination is Termination.ANSWERED and not episode.answer.strip() else None


def by_success(rows: Iterable[Row], succeeded: Callable[[Row], bool | None]) -> list[Row]:
    """Give each row without an outcome the one that its success says."""
    found = []
    for row in rows:
        passed = None if row.outcome else succeeded(row)
        one = None if passed is None else NO_ANSWER if row.silent else SOLVED if passed else NOT_SOLVED
        found.append(row if one is None else row.model_copy(update={"outcome": one.name}))
    return found


def outcome_values(row: Row, outcomes: Sequence[Outcome]) -> Row:
    """Return a row with a value for each outcome: whether it came to it."""
    if not row.outcome:
        return row
    return row.model_copy(update={"values": {**row.values, **{one.name: one.name == row.outcome for one in outcomes}}})


def outcome_measures(rows: Sequence[Row], expected: Sequence[Outcome], every: Sequence[Outcome]) -> tuple[Measure, ...]:
    """Return a rate for each outcome of a group, over its scored episodes that have one."""
    if not (came := {row.outcome for row in rows if row.scored and row.outcome}):
        return ()
    listed = {one.name for one in expected}
    shown = [*expected, *(one for one in every if one.name in came - listed)]
    valued = [outcome_values(row, shown) for row in rows if row.scored and row.outcome]
    return tuple(Measure.of(share(valued, one.name), one.name, one.words, place="outcome", note=one.about, better=one.better) for one in shown)
