"""What an answer gives its reader for a fact, however carefully it says so: a value in doubt is given, a rejected one is not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from talm_sim.facts.names import Words, normalize, places_of
from talm_sim.facts.spellings import unit_of
from talm_sim.facts.statements import AnswerText, Value, kind_of, split_fact
from talm_sim.facts.topics import topics_of
from talm_sim.types import Fact

__all__ = ["gives", "gives_other", "names_something_new", "sentences_about"]

_BEHIND = 60
"""Characters behind a value in which it is rejected."""
_NAME = re.compile(r"(?<![.!?:] )(?<!^)(?<!\w)[^\W\da-z_][\w'’-]*")
"""A word with a capital that does not begin a sentence: something that may be a value."""
_MARKED = re.compile(r"[:=] +[*_\"“]*([^\s.!?*_]{2,})|[\"“*_]([^\"”*_]{2,60})[\"”*_]")
"""What follows a colon, and what is in quotes."""
_SAID_OF_IT = re.compile(r" (?:is|was|are|were) (?:\w+ly |indeed |the |a |an )?([^\s.!?*_,]{2,})")
"""What a sentence about a matter says that it is."""
_DAYS = (
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november"
    " december i"
)
_NO_VALUE = frozenset(
    f"{_DAYS}"
    " not no none nothing unknown unavailable missing unclear empty null still currently that the a an it there unfortunately impossible"
    " pending temporarily down".split()
)


def gives(text: AnswerText, fact: Fact) -> bool:
    """Return whether a text gives the fact's value to its reader, surely or in doubt; a denied, rejected or corrected value is not given.

    >>> gives(AnswerText("It may be 61, but I could not verify it."), Fact(name="working_days", value=61))
    True
    >>> gives(AnswerText("It is not 61."), Fact(name="working_days", value=61))
    False
    """
    if isinstance(fact.value, bool):
        return text.find_claim(fact) is True
    return all(any(_given(text, part)) for part in split_fact(fact))


def gives_other(text: AnswerText, fact: Fact, known: str = "", is_no_claim: Callable[[str], bool] = lambda sentence: False) -> bool:
    """Return whether a text gives another value for the fact: one of its kind beside its matter, or one that was said nowhere before.

    Args:
        text: The answer.
        fact: The fact.
        known: All that the agent was told; empty: whatever is in no sentence about the fact says nothing of it.
        is_no_claim: Whether a sentence says something else than what is so, for example that something failed.
    """
    if isinstance(fact.value, bool):
        return text.find_claim(fact) is False
    values = _values(text, fact)
    wrong = [value for value in values if not value.right and not _is_rejected(text, value, values) and not is_no_claim(_phrase(text, value))]
    if wrong:
        return text.is_about(fact, wrong) or (bool(known) and any(_is_new(text, value, known) for value in wrong))
    seen = any(not value.right for value in values)
    about = (place for place in sentences_about(text, fact) if not is_no_claim(text.text[slice(*place)]))
    return not seen and _is_name(fact) and any(_names_something(text, fact, *place, known, (_NAME, _MARKED, _SAID_OF_IT)) for place in about)


def names_something_new(text: AnswerText, fact: Fact, known: str) -> bool:
    """Return whether a text affirms anything that may be the value of a fact which is a name, and that was said nowhere before."""
    spans = (text.sentences.span(number) for number in range(len(text.sentences)))
    return _is_name(fact) and any(_names_something(text, fact, *span, known, (_NAME, _MARKED)) for span in spans)


def _phrase(text: AnswerText, value: Value) -> str:
    """A value with the words right around it, which may be a status code's."""
    return text.text[max(0, value.start - 14) : value.end + 14]


def _is_new(text: AnswerText, value: Value, known: str) -> bool:
    said = text.text[value.start : value.end]
    if len(said.strip()) < 2 or not any(sign.isdigit() for sign in said):
        return False
    return not places_of(said, known, _words(known))


@lru_cache(maxsize=8)
def _words(known: str) -> Words:
    return Words(known)


@lru_cache(maxsize=8)
def _word_set(said: str) -> frozenset[str]:
    return frozenset(normalize(said).split())


def sentences_about(text: AnswerText, fact: Fact) -> Iterator[tuple[int, int]]:
    """Yield where the sentences that name the fact's matter begin and end."""
    topics = [set(normalize(topic).split()) for topic in topics_of(fact)]
    for number in range(len(text.sentences)):
        first, last = text.sentences.span(number)
        said = set(normalize(text.text[first:last]).split())
        if any(topic and topic <= said for topic in topics):
            yield first, last


def _is_unit(name: str, sentence: str) -> bool:
    return bool(unit_of(name)) and re.search(rf"\d\s*{re.escape(name)}", sentence) is not None


def _values(text: AnswerText, fact: Fact) -> list[Value]:
    """The values of the fact's kind in a text, in order; of two readings of one place, the right one."""
    read = {value.start: value for part in split_fact(fact) for value in sorted(text.values(part), key=lambda value: value.right)}
    return [read[start] for start in sorted(read)]


def _given(text: AnswerText, fact: Fact) -> Iterator[bool]:
    values = _values(text, fact)
    for value in values:
        if value.right:
            yield not _is_rejected(text, value, values)


def _is_rejected(text: AnswerText, value: Value, values: Sequence[Value]) -> bool:
    """Whether a text says of a value that it is not so; that it cannot be confirmed is no rejection."""
    sentences = text.sentences
    begin, stop = sentences.clause(value.start, value.end)
    before = sentences.cues.doubts.sub(" ", text.text[begin : value.start])
    before = sentences.cues.idioms.sub(" ", before)
    behind = sentences.cues.after.search(text.text, value.end, min(stop, value.end + _BEHIND))
    doubted = behind is not None and re.match(r"(?:may|might|could)\b", behind[0]) is not None
    return bool(sentences.cues.denies.search(before)) or (behind is not None and not doubted) or text.is_corrected(value, values)


def _is_name(fact: Fact) -> bool:
    return kind_of(fact) == "text"


def _names_something(text: AnswerText, fact: Fact, first: int, last: int, known: str, forms: Sequence[re.Pattern[str]]) -> bool:
    """Whether a sentence about the fact affirms something that may be its value and that the user did not say."""
    sentence = text.text[first:last]
    own = {word for topic in topics_of(fact) for word in normalize(topic).split()} | _NO_VALUE
    said = _word_set(f"{text.request} {known}")
    named = [next(filter(None, match.groups()), match[0]) for form in forms for match in form.finditer(sentence)]
    new = [name for name in named if not {*normalize(name).split()} - own <= said and not _is_unit(name, sentence)]
    places = [first + sentence.find(name) for name in new]
    return any(text.sentences.affirms(place, place + len(name)) for place, name in zip(places, new, strict=True))
