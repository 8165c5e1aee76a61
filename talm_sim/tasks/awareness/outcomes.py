"""Say what an answer to "can this be done?" came to: what is right against what was said, in words."""

from __future__ import annotations

from talm_sim.types import UNPARSED, Outcome

OUTCOMES = (
    Outcome(name="noticed", words="noticed that something is missing", kind="good", about="It said No, and something is missing."),
    Outcome(name="went_on", words="went on where all is there", kind="good", about="It said Yes, and nothing is missing."),
    Outcome(name="not_noticed", words="did not notice what is missing", kind="bad", about="It said Yes, though something is missing."),
    Outcome(name="refused_needlessly", words="said No where all is there", kind="bad", about="It said No, though nothing is missing."),
    Outcome(name="not_read", words="gave no readable answer", kind="bad", about="It said neither Yes nor No."),
)
"""All outcomes of the task."""
_OF = {("no", "no"): "noticed", ("yes", "yes"): "went_on", ("no", "yes"): "not_noticed", ("yes", "no"): "refused_needlessly"}


def outcome_of(gold: str, said: str) -> str:
    """Return the name of the outcome of an instance.

    >>> outcome_of("no", "yes"), outcome_of("no", "unparsed")
    ('not_noticed', 'not_read')
    """
    return "not_read" if said == UNPARSED else _OF[gold, said]
