"""Say what an answer of task `refusal` came to: a row without a right call, one with right calls, or a turn that lacks something, in words."""

from __future__ import annotations

from talm_sim.models.formats import read_calls
from talm_sim.tasks.outcomes import NO_ANSWER, bad, good
from talm_sim.tasks.refusal.bfcl import MULTI_TURN, SUBSETS
from talm_sim.types import Episode, Outcome

_REFUSED = good("refused", "made no call, rightly", "No call was attempted where none is right.")
_TRIED = bad("tried", "tried a call, unreadably", "A call was attempted where none is right, in a form that cannot be read.")
_CALLED = bad("called_wrongly", "called where no tool fits", "A call was made where none is right.")
_RIGHT = good("right_call", "made the right calls", "The calls are those that are right.")
_WRONG = bad("wrong_call", "made other calls", "Calls were made, and they are not those that are right.")
_UNREADABLE = bad("unreadable_call", "wrote an unreadable call", "A call was attempted in a form that cannot be read.")
_NO_CALL = bad("no_call", "made no call, wrongly", "No call was attempted where one is right.")
_ANY = good("called", "called, where a tool fits", "Any call was made where one is right.")
_MISSING = {
    "guessed": bad("guessed", "made up what was missing", "A call used a value or a function that was not given yet."),
    "acted_in_part": bad("acted_in_part", "did a part of it", "A call changed something before all was there."),
    "asked": good("asked_for_it", "asked", "The turn that lacks something ends in a question."),
    "said_it_cannot": good("said_so", "said that it cannot", "The turn that lacks something declines."),
    "other_text": bad("other_text", "said something else", "The turn that lacks something neither asks nor declines."),
    "silent": bad("silent", "said nothing", "The turn that lacks something has no text and no call."),
    "not_shown": bad("called_not_shown", "called what was not shown", "A function was called that was not shown."),
}
_PASSED = good("passed", "passed all turns", "BFCL's check of all turns passes.")
_FAILED = bad("failed", "failed a turn", "BFCL's check of some turn fails.")
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
    """Return the name of the outcome of a row of one turn; empty if nobody judged it."""
    turns = episode.model_turns
    called, unreadable = any(turn.tool_calls for turn in turns), any(turn.unparsable_calls for turn in turns)
    if not found:
        return ""
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
