"""The label that a grader's answer begins with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from talm_sim.models.parsing import first_words

__all__ = ["opening_label"]

_LEAD = re.compile(
    r"(?:(?:my|the|final|overall)\s+)*(?:verdict|grade|answer|result|judge?ment|decision|label)\s*+[*_`\"']*+\s*+(?:is\b|[:=-])", re.IGNORECASE
)


@cache
def _patterns(labels: tuple[tuple[str, str], ...]) -> tuple[tuple[tuple[str, re.Pattern[str]], ...], re.Pattern[str]]:
    openings = tuple((label, re.compile(rf"(?:{words})\b", re.IGNORECASE)) for label, words in labels)
    any_label = "|".join(words for _, words in labels)
    return openings, re.compile(rf"\W{{0,3}}(?:\s*(?:/|,|\||or|and)\s*)\W{{0,3}}(?:{any_label})\b", re.IGNORECASE)


def opening_label(raw: str, labels: Mapping[str, str]) -> str | None:
    """Return the label that `raw` begins with; None if it begins with none of them, or lists several ("Pass or Fail").

    Case, quotes, markdown, thinking blocks and a "Verdict:" in front are forgiven; anything else is not guessed at.

    Args:
        raw: What the grader wrote.
        labels: Label to the words that mean it, as alternatives of a regular expression.

    >>> opening_label("**Verdict: Pass** - both facts are given.", {"pass": "pass", "fail": "fail"})
    'pass'
    """
    openings, second = _patterns(tuple(labels.items()))
    text = first_words(raw, _LEAD)
    for label, form in openings:
        match = form.match(text)
        if match:
            return None if second.match(text, match.end()) else label
    return None
