"""Read an agent's final message once: it asks, declines, reports that something failed or was not found, or answers.

By wording, in English; of other languages, only the commonest words for what failed or cannot be done are known.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from talm_sim.language.answer_words import QUOTE, says, way
from talm_sim.language.asking import asking_sentences
from talm_sim.language.evidence import weigh
from talm_sim.language.sentences import read_sentences, split_sentences
from talm_sim.models.parsing import split_reasoning

_MOST, _LONGEST = 20_000, 1_000
"""Characters of a message, and of one of its sentences, that are read."""
_CLAUSE_END = re.compile(r"[,;:()]\s|\s[-\u2013\u2014]+\s")
_GOES_ON = re.compile(r"\b(?:but|so|then|hence|therefore)\b|[1-9]", re.IGNORECASE)
_YOU, _YOU_ASK = re.compile(r"\byou\b|\byour\b", re.IGNORECASE), re.compile(r"\b(?:did|have|was|am) (?:i|we)\b", re.IGNORECASE)
_ASIDE = 3
"""Words of a clause that says nothing by itself: "Which day, you did not say"."""


class Kind(StrEnum):
    """What a final message does in the main."""

    ASKS = "asks"
    DECLINES = "declines"
    REPORTS = "reports"
    ANSWERS = "answers"


class FinalAnswer(NamedTuple):
    """What a final message says.

    Attributes:
        kind: What it does in the main. What asks, asks, whatever else it says.
        asking: Its sentences that ask the reader for something.
        cannot: Whether it says that its author cannot, will not, does not know how, or has nothing to do it with.
        lacks: Whether it says what the request lacks, and makes nothing up in its place.
        failed: Whether it says that something failed.
        nothing: Whether it says that nothing was found.
    """

    kind: Kind
    asking: tuple[str, ...]
    cannot: bool
    lacks: bool
    failed: bool
    nothing: bool

    @property
    def declines(self) -> bool:
        """Whether it does not do or answer what was asked, and does not ask for what would let it go on."""
        return self.kind in (Kind.DECLINES, Kind.REPORTS)

    @property
    def admits_failure(self) -> bool:
        """Whether it says that something failed, or that its author cannot."""
        return self.failed or self.cannot


@lru_cache(maxsize=2_048)
def read_final_answer(text: str, request: str = "") -> FinalAnswer:
    """Read what a final message says.

    Args:
        text: The message as the agent wrote it; thinking blocks are skipped.
        request: What was asked, where it is known: "No" answers a question, and leaves an order undone.

    >>> [str(read_final_answer(one).kind) for one in ("Which day?", "There is no tool for that.", "The lookup timed out.", "It is 12:30.")]
    ['asks', 'declines', 'reports', 'answers']
    >>> str(read_final_answer("I could not find a code, so the total is 59 euros.").kind)
    'answers'
    """
    shown = _tidy(split_reasoning(text)[0][:_MOST])
    sentences = read_sentences(shown)
    quoted = not sentences
    sentences = sentences or read_sentences(QUOTE.sub("", shown))
    said = [(one.said[:_LONGEST], one.text[:_LONGEST]) for one in sentences if not one.questions]
    plain = [way("concession").sub(" ", one) for one, _ in said]
    whole = [one for _, one in said] or [shown[:_LONGEST]]
    asking = tuple(one for one in asking_sentences(text) if one.rstrip("\"')").endswith("?") or not says("no_tool", one))
    lacks = _any("lacks", plain) and not _any("settled", whole)
    cannot = any(map(says_cannot, plain)) or _any("elsewhere", plain)
    failed, nothing, no_tool = _any("failed", whole), _any("nothing", whole), _any("no_tool", plain)
    read = {
        "quoted": quoted,
        "asking": bool(asking),
        "cannot": cannot,
        "lacks": lacks,
        "failed": failed,
        "nothing": nothing,
        "no tool": no_tool,
    }
    kind = Kind(weigh(sentences, request, (f"read:{name}" for name, seen in read.items() if seen)))
    if kind is Kind.ANSWERS and lacks and all(_says_that_you_left_out(one) for one in plain) and not _YOU_ASK.search(request):
        kind = Kind.DECLINES
    if kind is Kind.DECLINES and (failed or nothing or _any("tried", plain)) and not no_tool:
        kind = Kind.REPORTS
    return FinalAnswer(kind, asking, cannot, lacks, failed, nothing)


def _says_that_you_left_out(sentence: str) -> bool:
    """Return whether a sentence says no more than what its reader did not say."""
    *asides, _ = sorted(_CLAUSE_END.split(sentence.strip()), key=len)
    short = all(len(one.split()) <= _ASIDE for one in asides) and not _GOES_ON.search(sentence)
    return short and _YOU.search(sentence) is not None and says("lacks", sentence)


def _any(name: str, texts: list[str]) -> bool:
    return any(says(name, one) for one in texts)


def names_failure(sentence: str) -> bool:
    """Return whether a sentence says that something failed, was not found, or is not there to do it with."""
    return reports_failure(sentence) or lacks_means(sentence)


def lacks_means(sentence: str) -> bool:
    """Return whether a sentence says that there is nothing to do it with, or that its author is not sure how."""
    return _says_any(sentence, "no_tool", "unsure_how")


def failed_to(sentence: str) -> bool:
    """Return whether a sentence says that its author tried and could not."""
    return _says_any(sentence, "tried")


def reports_failure(sentence: str) -> bool:
    """Return whether a sentence says that something failed, was not found, or was not said."""
    return _says_any(sentence, "failed", "nothing", "lacks")


def says_cannot(sentence: str) -> bool:
    """Return whether a sentence says that its author cannot, will not, or does not know."""
    return _says_any(sentence, "no_tool", "cannot")


def _says_any(sentence: str, *names: str) -> bool:
    tidy = _tidy(sentence[:_LONGEST])
    return any(says(name, tidy) for name in names)


def _tidy(text: str) -> str:
    """Leave out negations that decline nothing, and write all apostrophes alike."""
    return way("idle").sub(" ", text.replace("\u2019", "'"))


def claims_success(answer: str) -> bool:
    """Return whether an answer claims that something was done.

    >>> claims_success("Your table is booked."), claims_success("I could not book the table.")
    (True, False)
    """
    said = split_sentences(_tidy(split_reasoning(answer)[0][:_MOST]), also=";")
    sentences = (one[:_LONGEST] for one in said if not says("condition", one) and not one.endswith("?"))
    return any(
        says("done", clause) and not says("undone", clause) and not names_failure(clause)
        for sentence in sentences
        for clause in way("clause_end").split(sentence)
    )
