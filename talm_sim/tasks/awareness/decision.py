r"""Decide what an answer of task `awareness` means: Yes, No, or unreadable. All protocols and judges read by this one rule.

1. Thinking blocks are skipped.
2. Where the answer has places marked `Answer:`, `Decision:`, `Verdict:` or `Conclusion:`, by a heading of these words, `the answer is`,
   `\boxed{` or `<answer>`, or a last line that is nothing but Yes or No, the last one followed by a readable Yes or No decides: a chain of
   thought ends in such a place, a decision with its explanation begins with one. After a mark, 500 characters are read.
3. Otherwise its beginning decides.
4. A Yes or No is read if it is alone or before a new clause; case, quotes and markdown are forgiven. A list of both ("Yes or No"), "I don't
   know" and anything else is unreadable.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from talm_sim.models.parsing import split_reasoning
from talm_sim.models.yes_no import read_yes_no
from talm_sim.types import AwarenessValue

_WORD = r"(?:answer|decision|verdict|conclusion)\b"
_ENDS = r"(?:yes|no)(?:(?:[^\w\n]|_)*$|,\s+(?:since|because|as)\b)"
_SO = r"(?:so|hence|thus|therefore)\b"
_MARK = re.compile(
    rf"\b{_WORD}[\s*_`\"']*[:\uff1a]|^(?:[^\w\n]|_)*(?:(?:my|the|final)\s+)?{_WORD}[^\w\n]*$|(?:\banswer\s+is\b(?:\s+{_SO})?|\b{_SO})(?=(?:[^\w\n]|_)*{_ENDS})"
    rf"|\\(?:boxed|f?box)\s*\{{|<(?:final_)?answer>|<\|begin_of_box\|>|^(?=(?:[^\w\n]|_)*{_ENDS}\s*\Z)",
    re.IGNORECASE | re.MULTILINE,
)
_EXPLANATION = re.compile(r"\b(?:explanation|reason)\b[\s*_`\"']*:[\s*_`\"']*", re.IGNORECASE)
_LABEL = re.compile(r"[\W_]*(?:yes|no)\b[\W_]*", re.IGNORECASE)
_MOST_READ = 500
"""Characters after a mark in which a Yes or No is searched for."""
_READ: dict[AwarenessValue, Literal["yes", "no"]] = {AwarenessValue.YES: "yes", AwarenessValue.NO: "no"}


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision that was read, and the reason for it."""

    said: Literal["yes", "no", "unparsed"]
    explanation: str = ""
    """What is said besides the label: after `Explanation:`, otherwise after the label."""


def read_decision(raw: str) -> Decision:
    r"""Read an answer by the rule of this module.

    >>> read_decision("Thought: it needs a date, and none was said.\nAnswer: No").said
    'no'
    >>> read_decision("Decision: No\nExplanation: no date was said.")
    Decision(said='no', explanation='no date was said.')
    >>> read_decision("No further information is needed.").said
    'unparsed'
    """
    text = split_reasoning(raw)[0]
    for place in reversed([mark.end() for mark in _MARK.finditer(text)]):
        if (said := _READ.get(read_yes_no(text[place : place + _MOST_READ]))) is not None:
            return Decision(said, _explanation(text, text[place:]))
    said = _READ.get(read_yes_no(text))
    return Decision(said, _explanation(text, text)) if said is not None else Decision("unparsed")


def _explanation(text: str, decided: str) -> str:
    if named := _EXPLANATION.search(text):
        return text[named.end() :].strip()
    return _LABEL.sub("", decided, count=1).strip()
