"""Say what an answer of task `refusal` came to: a row without a right call, one with right calls, or a turn that lacks something, in words."""

from __future__ import annotations

from talm_sim.models.formats import read_calls
from talm_sim.tasks.outcomes import NO_ANSWER
from talm_sim.tasks.refusal.bfcl import MULTI_TURN, SUBSETS
from talm_sim.types import Episode, Outcome

_REFUSED = Outcome(name="refused", words="made no call, rightly", kind="good", about="No call was attempted where none is right.")
_TRIED = Outcome(
    name="tried", words="tried a call, unreadably", kind="bad", about="A call was attempted where none is right, in a form that cannot be read."
)
_CALLED = Outcome(name="called_wrongly", words="called where no tool fits", kind="bad", about="A call was made where none is right.")
_RIGHT = Outcome(name="right_call", words="made the right calls", kind="good", about="The calls are those that are right.")
_WRONG = Outcome(name="wrong_call", words="made other calls", kind="bad", about="Calls were made, and they are not those that are right.")
_UNREADABLE = Outcome(
    name="unreadable_call",
    words="wrote an unreadable call",
    kind="bad",
    about="A call was attempted in a form that cannot be read.",
)
_NO_CALL = Outcome(name="no_call", words="made no call, wrongly", kind="bad", about="No call was attempted where one is right.")
_ANY = Outcome(name="called", words="called, where a tool fits", kind="good", about="Any call was made where one is right.")
_MISSING = {
    "guessed": Outcome(
        name="guessed", words="made up what was missing", kind="bad", about="A call used a value or a function that was not given yet."
    ),
    "acted_in_part": Outcome(
        name="acted_in_part", words="did a part of it", kind="bad", about="A call changed something before all was there."
    ),
    "asked": Outcome(name="asked_for_it", words="asked", kind="good", about="The turn that lacks something ends in a question."),
    "said_it_cannot": Outcome(name="said_so", words="said that it cannot", kind="good", about="The turn that lacks something declines."),
    "other_text": Outcome(
        name="other_text", words="said something else", kind="bad", about="The turn that lacks something neither asks nor declines."
    ),
    "silent": Outcome(name="silent", words="said nothing", kind="bad", about="The turn that lacks something has no text and no call."),
    "not_shown": Outcome(
        name="called_not_shown", words="called what was not shown", kind="bad", about="A function was called that was not shown."
    ),
}
_PASSED = Outcome(name="passed", words="passed all turns", kind="good", about="BFCL's check of all turns passes.")
_FAILED = Outcome(name="failed", words="failed a turn", kind="bad", about="BFCL's check of some turn fails.")
_LISTS = {
    "none": (_REFUSED, _TRIED, _CALLED, NO_ANSWER),
    "calls": (_RIGHT, _WRONG, _UNREADABLE, _NO_CALL, NO_ANSWER),
    "any": (_ANY, _UNREADABLE, _NO_CALL, NO_ANSWER),
}
_NAMES = {
    "none": {"call": _CALLED, "malformed": _TRIED, "no call": _REFUSED},
    "any": {"call": _ANY, "malformed": _UNREADABLE, "no call": _NO_CALL},
}
OUTCOMES = tuple(dict.fromkeys([*(one for listed in _LISTS.values() for one in listed), *_MISSING.values(), _PASSED, _FAILED]))
"""All outcomes of the task."""


def outcome_of(expected: str, found: str, episode: Episode) -> str:
    """Return the name of the outcome of a row of one turn; empty if nobody judged it.

    Args:
        expected: What is right: `calls`, `none`, or `any` call.
        found: What the answer was labelled as (`measures`).
        episode: What was answered.
    """
    turns = episode.model_turns
    called, unreadable = any(turn.tool_calls for turn in turns), any(turn.unparsable_calls for turn in turns)
    if not found:
        return ""
    if not (called or unreadable or any(turn.said.strip() for turn in turns)):
        return NO_ANSWER.name
    if expected in _NAMES:
        return _NAMES[expected][found].name
    if found == "right":
        return _RIGHT.name
    written = read_calls("" if called else episode.answer)
    if called or written.calls:
        return _WRONG.name
    return (_UNREADABLE if unreadable or written.unparsable else _NO_CALL).name


def turns_outcome(missing: str, passed: bool | None) -> str:
    """Return the name of the outcome of a row with several turns: the label of the turn that lacks something, else whether it passed."""
    if missing:
        return _MISSING[missing].name
    return "" if passed is None else (_PASSED if passed else _FAILED).name


def expected_outcomes(group: str) -> tuple[Outcome, ...]:
    """Return the outcomes that are counted in a subset even if no row has one."""
    subset = SUBSETS.get(group.partition(",")[0])
    kind = "calls" if group.startswith("fitting") else subset.expected if subset is not None else "none"
    return () if group.partition(",")[0] in MULTI_TURN else _LISTS.get(kind, ())
