"""Read an answer to a Yes/No question (Yes, No or I don't know), and how likely its first word is Yes or No.

Agents are asked such a question before they act (the awareness question of Fail-TaLMs, section 4.2), graders after. The reader forgives
form, never content: an answer that does not begin with one of the three is `unparsed`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from talm_sim.models.parsing import first_words
from talm_sim.types import AwarenessValue, TokenLogprob

YES_NO_IDK = ("Yes", "No", "IDK")
"""The labels to choose from, in the order a question names them."""

_LABEL = re.compile(
    r"(?:(?:(?:my|the|final|short)\s+)*(?:(?:answer|response|awareness|verdict|result|output)\W*(?:is\b)?|a\s*:)\W*)?"
    r"(?:(?:so|hence|thus|therefore)\b\W*)?"
    r"(?:[\s$\\\[(\u2705\u274c\ufe0f]|\b(?:f?box(?:ed)?|text\w*|math\w+)\s*\{|<(?:final_)?answer>|<\|begin_of_box\|>)*",
    re.IGNORECASE,
)
_OPENINGS = (
    (
        AwarenessValue.IDK,
        re.compile(r"(?:idk|i\s*(?:do\s*n['’]?t|do\s+not)\s+know|i['’]?\s*a?m\s+(?:not\s+sure|unsure)|no\s+idea)\b", re.IGNORECASE),
    ),
    (AwarenessValue.YES, re.compile(r"yes(?!_*[^\W_])", re.IGNORECASE)),
    # "No further information is needed" is not a No: the label is alone or before a new clause.
    (
        AwarenessValue.NO,
        re.compile(r"no(?!_*[^\W_])(?=_*\s*(?:[^\w\s]|\n|\Z)|\s+(?:i|we|it|this|that|there|the|because|and|or)\b)", re.IGNORECASE),
    ),
)
_SECOND_LABEL = re.compile(r"\W{0,3}(?:\s*(?:/|,|\||or|and)\s*)\W{0,3}(?:yes|no|idk)\b(?=\W*\Z|\s*[,/|:;.]|\s+(?:or|and)\b)", re.IGNORECASE)
"""An answer that lists the labels ("Yes, No, or IDK", "yes/no") chooses none of them."""
_WORD = re.compile(r"[\W_ĠĊĉ]*(?:(?P<yes>yes)|no)[\W_ĠĊĉ]*", re.IGNORECASE)
"""One whole word: Ġ, Ċ and ĉ are what byte-level vocabularies write for a space, a line's end and a tab."""


def read_yes_no(raw: str) -> AwarenessValue:
    """Read the label that an answer begins with.

    Case, quotes, markdown, an "Answer:" in front and thinking blocks are forgiven.

    >>> read_yes_no("**Yes**, I can look both up.").value
    'yes'
    >>> read_yes_no("I don't know which airport is meant.").value
    'idk'
    >>> read_yes_no("Sure! Let me help.").value
    'unparsed'
    """
    text = first_words(raw, _LABEL)
    for value, form in _OPENINGS:
        if match := form.match(text):
            return AwarenessValue.UNPARSED if _SECOND_LABEL.match(text, match.end()) else value
    return AwarenessValue.UNPARSED


def yes_no_chances(first_tokens: Sequence[TokenLogprob]) -> tuple[float, float]:
    """Return the probabilities that an answer's first token is a Yes and that it is a No, each summed over its spellings.

    A spelling is the whole word in any case, with spaces (or a vocabulary's marks for them), quotes, markdown or punctuation around it: ` yes`,
    `▁YES`, `**Yes`, `"No`, `No.`. What only begins like it (`Y`, `Not`, `Nothing`, `Yesterday`) is none.

    Args:
        first_tokens: The likeliest first tokens; others count as impossible.

    >>> yes_no_chances([TokenLogprob(token=" Yes", logprob=math.log(0.5)), TokenLogprob(token="Not", logprob=math.log(0.25))])
    (0.5, 0.0)
    """
    yes, no = _spellings(first_tokens)
    return math.fsum(map(math.exp, yes)), math.fsum(map(math.exp, no))


def yes_probability(first_tokens: Sequence[TokenLogprob]) -> float | None:
    """Return P(Yes), the share of Yes in what `yes_no_chances` finds; None if neither word is among the first tokens.

    >>> yes_probability([TokenLogprob(token="Yes", logprob=-0.7), TokenLogprob(token=" no", logprob=-0.7)])
    0.5
    """
    yes, no = _spellings(first_tokens)
    if not yes and not no:
        return None
    most = max(*yes, *no, -math.inf)  # the share of two words that are both next to impossible is still a share
    yes_weight, no_weight = (math.fsum(math.exp(one - most) for one in side) for side in (yes, no))
    return yes_weight / (yes_weight + no_weight)


def _spellings(first_tokens: Sequence[TokenLogprob]) -> tuple[list[float], list[float]]:
    """Return the log-probabilities of the spellings of Yes and of those of No."""
    sides: tuple[list[float], list[float]] = ([], [])
    for one in first_tokens:
        if (word := _WORD.fullmatch(one.token)) is not None:
            sides[word["yes"] is None].append(one.logprob)
    return sides
