"""Read an agent's final message once: it asks, declines, reports that something failed or was not found, or answers.

By wording, in English; of other languages, only the commonest words for what failed or cannot be done are known.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from talm_sim.language import answer_words as words
from talm_sim.language.asking import asking_sentences
from talm_sim.language.sentences import read_sentences
from talm_sim.models.parsing import split_reasoning

_MOST, _LONGEST = 20_000, 1_000
"""Characters of a message, and of one of its sentences, that are read."""


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
        """Whether it says that what was asked cannot be done or is unknown, and does not answer all the same."""
        return (self.cannot or self.lacks) and self.kind is not Kind.ANSWERS

    @property
    def admits_failure(self) -> bool:
        """Whether it says that something failed, or that its author cannot."""
        return self.failed or self.cannot


@lru_cache(maxsize=2_048)
def read_final_answer(text: str) -> FinalAnswer:
    """Read what a final message says.

    What is declined, reported or lacking decides unless the message goes on to give a value or to say that something was done. A mere limit
    of what it says ("I can't say for sure") and a search without a result do not outweigh an answer beside them.

    Args:
        text: The message as the agent wrote it; thinking blocks are skipped.

    >>> [str(read_final_answer(one).kind) for one in ("Which day?", "There is no tool for that.", "The lookup timed out.", "It is 12:30.")]
    ['asks', 'declines', 'reports', 'answers']
    >>> str(read_final_answer("I could not find a code, so the total is 59 euros.").kind)
    'answers'
    """
    shown = _tidy(split_reasoning(text)[0][:_MOST])
    said = [
        (one.said[:_LONGEST], one.text[:_LONGEST])
        for one in read_sentences(shown) or read_sentences(words.QUOTE.sub("", shown))
        if not one.questions
    ]
    plain = [words.CONCESSION.sub(" ", one) for one, _ in said]
    whole = [one for _, one in said] or [shown[:_LONGEST]]
    asking = tuple(one for one in asking_sentences(text) if one.rstrip("\"')").endswith("?") or not words.NO_TOOL.search(one))
    lacks = any(map(words.LACKS.search, plain)) and not any(map(words.SETTLED.search, whole))
    cannot = any(says_cannot(one) or words.ELSEWHERE.search(one) for one in plain)
    failed, nothing = any(map(words.FAILED.search, whole)), any(map(words.NOTHING.search, whole))
    kind = Kind.ANSWERS
    if asking:
        kind = Kind.ASKS
    elif (cannot or lacks or failed or nothing) and not _answers(plain, lacks):
        reports = (failed or nothing or any(map(words.TRIED.search, plain))) and not any(map(words.NO_TOOL.search, plain))
        kind = Kind.REPORTS if reports else Kind.DECLINES
    return FinalAnswer(kind, asking, cannot, lacks, failed, nothing)


def names_failure(sentence: str) -> bool:
    """Return whether a sentence says that something failed, was not found, or is not there to do it with."""
    return reports_failure(sentence) or words.NO_TOOL.search(_tidy(sentence[:_LONGEST])) is not None


def reports_failure(sentence: str) -> bool:
    """Return whether a sentence says that something failed, was not found, or was not said."""
    return any(one.search(_tidy(sentence[:_LONGEST])) for one in (words.FAILED, words.NOTHING, words.LACKS))


def says_cannot(sentence: str) -> bool:
    """Return whether a sentence says that its author cannot, will not, or does not know."""
    return any(one.search(_tidy(sentence[:_LONGEST])) for one in (words.NO_TOOL, words.CANNOT))


def _tidy(text: str) -> str:
    """Leave out negations that decline nothing, and write all apostrophes alike."""
    return words.IDLE.sub(" ", text.replace("\u2019", "'"))


def claims_success(answer: str) -> bool:
    """Return whether an answer claims that something was done.

    >>> claims_success("Your table is booked."), claims_success("I could not book the table.")
    (True, False)
    """
    said = words.SENTENCE.split(_tidy(split_reasoning(answer)[0][:_MOST]))
    sentences = (one[:_LONGEST] for one in said if not words.CONDITION.search(one) and not one.endswith("?"))
    return any(
        words.DONE.search(clause) and not words.UNDONE.search(clause) and not names_failure(clause)
        for sentence in sentences
        for clause in words.CLAUSE_END.split(sentence)
    )


def _answers(sentences: list[str], lacks: bool) -> bool:
    """Return whether sentences answer, whatever they also decline or report."""
    parts: list[str] = []
    for sentence in sentences:
        own = [_part(clause, lacks) for clause in words.SO.split(sentence) if clause.strip()]
        if says_cannot(sentence) and not {"no", "weak"} & {*own}:
            own = ["no"]  # it is said in two clauses
        parts += own
    last = max((place for place, part in enumerate(parts) if part == "no"), default=0)
    return "value" in parts[last:] or not {"no", "weak"} & {*parts}


def _part(clause: str, lacks: bool) -> str:
    """Return what a clause does: `no` declines or fails, `weak` yields to a value beside it, `value` answers; empty for all else."""
    if words.NOTHING.search(clause) or words.ELSEWHERE.search(clause) or (words.HEDGE.search(clause) and not words.NO_TOOL.search(clause)):
        return "weak"
    if says_cannot(clause) or (lacks and words.LACKS.search(clause)):
        return "no"
    if words.FAILED.search(clause) and (words.OWN.search(clause) or not words.VALUE.search(clause)):
        return "weak"
    answers = words.VALUE.search(clause) or claims_success(clause)
    return "value" if answers and not words.FILLER.search(clause) else ""
