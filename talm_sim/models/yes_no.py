"""An answer to a Yes/No question, read: Yes, No or I don't know.

Agents are asked such a question before they act (the awareness question of Fail-TaLMs, section 4.2), graders after. The reader forgives form,
never content: whatever does not open with one of the three is `unparsed`.
"""

from __future__ import annotations

import re

from talm_sim.models.parsing import opening
from talm_sim.types import AwarenessValue

__all__ = ["YES_NO_IDK", "read_yes_no"]

YES_NO_IDK = ("Yes", "No", "IDK")
"""The labels to choose from, in the order a question names them."""

_LABEL = re.compile(r"(?:(?:my|the|final|short)\s+)*(?:answer|response|awareness|verdict)\W*(?:is\b)?\W*", re.IGNORECASE)
_OPENINGS = (
    (
        AwarenessValue.IDK,
        re.compile(r"(?:idk|i\s*(?:do\s*n['’]?t|do\s+not)\s+know|i['’]?\s*a?m\s+(?:not\s+sure|unsure)|no\s+idea)\b", re.IGNORECASE),
    ),
    (AwarenessValue.YES, re.compile(r"yes\b", re.IGNORECASE)),
    # "No further information is needed" is no No: the label stands alone or before a new clause.
    (AwarenessValue.NO, re.compile(r"no\b(?=\s*(?:[^\w\s]|\n|\Z)|\s+(?:i|we|it|this|that|there|the|because|and|or)\b)", re.IGNORECASE)),
)
_SECOND_LABEL = re.compile(r"\W{0,3}(?:\s*(?:/|,|\||or|and)\s*)\W{0,3}(?:yes|no|idk)\b(?=\W*\Z|\s*[,/|]|\s+(?:or|and)\b)", re.IGNORECASE)
"""An answer that lists the labels ("Yes, No, or IDK", "yes/no") chooses none of them."""


def read_yes_no(raw: str) -> AwarenessValue:
    """Read the label an answer opens with.

    Case, quotes, markdown, an "Answer:" in front and thinking blocks are forgiven.

    >>> read_yes_no("**Yes**, I can look both up.").value
    'yes'
    >>> read_yes_no("I don't know which airport is meant.").value
    'idk'
    >>> read_yes_no("Sure! Let me help.").value
    'unparsed'
    """
    text = opening(raw, _LABEL)
    for value, form in _OPENINGS:
        match = form.match(text)
        if match:
            return AwarenessValue.UNPARSED if _SECOND_LABEL.match(text, match.end()) else value
    return AwarenessValue.UNPARSED
