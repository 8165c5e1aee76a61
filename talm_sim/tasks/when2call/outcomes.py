"""Say what an answer of When2Call came to: the right behaviour against the one that was chosen, in words."""

from __future__ import annotations

from talm_sim.types import UNPARSED, Behaviour, Outcome

_RIGHT = Outcome(name="right", words="did what was right", kind="good", about="The behaviour is the gold one.")
_MADE_UP = Outcome(
    name="called_with_made_up",
    words="called with a made-up value",
    kind="bad",
    about="A call was chosen where the request lacks a value that the call needs.",
)
_NO_TOOL = Outcome(name="called_without_fit", words="called where no tool fits", kind="bad", about="A call was chosen where none is right.")
_FROM_MEMORY = Outcome(
    name="answered_from_memory",
    words="answered from memory",
    kind="bad",
    about="A direct answer was chosen where it is not right.",
)
_ASKED = Outcome(name="asked_needlessly", words="asked, though nothing was missing", about="A question was chosen where it is not right.")
_DECLINED = Outcome(name="declined_needlessly", words="declined needlessly", about="It was said that it cannot be answered, and it can be.")
_NOT_READ = Outcome(name="not_read", words="gave no readable answer", kind="bad", about="The answer fits no behaviour, or is empty.")
OUTCOMES = (_RIGHT, _MADE_UP, _NO_TOOL, _FROM_MEMORY, _ASKED, _DECLINED, _NOT_READ)
"""All outcomes of the task."""
_WRONG = {Behaviour.DIRECT: _FROM_MEMORY, Behaviour.REQUEST_FOR_INFO: _ASKED, Behaviour.CANNOT_ANSWER: _DECLINED}


def outcome_of(gold: Behaviour, chosen: str) -> str:
    """Return the name of the outcome of an item.

    >>> outcome_of(Behaviour.REQUEST_FOR_INFO, "tool_call"), outcome_of(Behaviour.TOOL_CALL, "request_for_info")
    ('called_with_made_up', 'asked_needlessly')
    """
    if chosen == gold:
        return _RIGHT.name
    if chosen == UNPARSED:
        return _NOT_READ.name
    if chosen == Behaviour.TOOL_CALL:
        return (_MADE_UP if gold is Behaviour.REQUEST_FOR_INFO else _NO_TOOL).name
    return _WRONG[Behaviour(chosen)].name
