"""Say what an answer of When2Call came to: the right behaviour against the one that was chosen, in words."""

from __future__ import annotations

from talm_sim.tasks.outcomes import NO_ANSWER, bad, good, neutral
from talm_sim.types import UNPARSED, Behaviour

_RIGHT = good("right", "did what was right", "The behaviour is the gold one.")
_MADE_UP = bad("called_with_made_up", "called with a made-up value", "A call was chosen where the request lacks a value that the call needs.")
_NO_TOOL = bad("called_without_fit", "called where no tool fits", "A call was chosen where none is right.")
_FROM_MEMORY = bad("answered_from_memory", "answered from memory", "A direct answer was chosen where it is not right.")
_ASKED = neutral("asked_needlessly", "asked though nothing was missing", "A question was chosen where it is not right.")
_DECLINED = neutral("declined_needlessly", "declined needlessly", "It was said that it cannot be answered, and it can be.")
_NOT_READ = bad("not_read", "gave no readable answer", "The answer fits no behaviour.")
OUTCOMES = (_RIGHT, _MADE_UP, _NO_TOOL, _FROM_MEMORY, _ASKED, _DECLINED, _NOT_READ, NO_ANSWER)
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
