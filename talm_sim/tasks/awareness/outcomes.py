"""Say what an answer to "can this be done?" came to: what is right against what was said, in words."""

from __future__ import annotations

from talm_sim.tasks.outcomes import NO_ANSWER, bad, good
from talm_sim.types import UNPARSED

OUTCOMES = (
    good("noticed", "noticed that something is missing", "It said No, and something is missing."),
    good("went_on", "went on where all is there", "It said Yes, and nothing is missing."),
    bad("not_noticed", "did not notice what is missing", "It said Yes, though something is missing."),
    bad("refused_needlessly", "said No where all is there", "It said No, though nothing is missing."),
    bad("not_read", "gave no readable answer", "It said neither Yes nor No."),
    NO_ANSWER,
)
"""All outcomes of the task."""
_OF = {("no", "no"): "noticed", ("yes", "yes"): "went_on", ("no", "yes"): "not_noticed", ("yes", "no"): "refused_needlessly"}


def outcome_of(gold: str, said: str) -> str:
    """Return the name of the outcome of an instance.

    >>> outcome_of("no", "yes"), outcome_of("no", "unparsed")
    ('not_noticed', 'not_read')
    """
    return "not_read" if said == UNPARSED else _OF[gold, said]
