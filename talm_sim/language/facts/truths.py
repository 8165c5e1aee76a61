"""Decide what an answer in words says of a truth, or of a number that is zero: `It has expired`, `no open incidents`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from talm_sim.language.facts.asserted import Sentences
from talm_sim.language.facts.names import Words, normalize, places_of
from talm_sim.language.facts.reservations import tables, words_of
from talm_sim.types import Fact

Place = tuple[int, int]
_FILLER = frozenset(["is", "has", "the", "a", "an", "of", "in", "was", "are", "be"])
_FIRST = re.compile(
    r"\W*(yes|no|true|false|correct|indeed|nope|yep|yeah)\b(?=\s*(?:[-,.!;:)]|$)| (?:it|there|you|they|he|she|we|i|that|this|the|your|my)\b)"
    r"(?! (?:\w+ )?(?:problem|data|information|results?|one|longer)|(?:,? and|/| or) ?no)",
    re.IGNORECASE,
)
_ENDS = re.compile(r"(?:s|es|ed|d|ing)$")


def find_truth(sentences: Sentences, words: Words, fact: Fact) -> bool | None:
    """Return whether the named thing is so; None where nothing says it.

    Words for the opposite decide, then whether a clause about the thing denies it, then a sentence's own yes or no.
    """
    text, cues = sentences.text, sentences.cues
    said = {sentences.affirms(*place) for spelling in fact.accepted for place in places_of(spelling, text, words)[:200]}
    if said:
        return said == {True}
    topic = set(normalize(fact.name.replace("_", " ")).split()) - _FILLER
    if found := _opposites(sentences, topic):
        return not found.pop() if len(found) == 1 else None
    spans = [sentences.span(number) for number in range(len(sentences))]
    opened = [(first, _FIRST.match(text[first:last])) for first, last in spans]
    for matter in dict.fromkeys((frozenset(topic), frozenset(topic) - {*tables()["small"]["predicates"]})):
        for (first, last), (_, yes_or_no) in zip(spans, opened, strict=True):
            rest = cues.idioms.sub("", text[first + (yes_or_no.end() if yes_or_no else 0) : last])
            if matter and matter <= set(normalize(rest).split()):
                near = " ".join(part for part in re.split(r"[,;:()]| - ", rest) if matter & set(normalize(part).split()))
                return not (cues.denies.search(near) or cues.after.search(near) or words_of("antonyms", "anything").search(near))
    for first, found_ in opened:
        if found_ and sentences.affirms(first + found_.start(1), first + found_.end(1)):
            return found_[1].lower() not in {"no", "false", "nope"}
    yes, no = cues.yes.search(text), cues.no.search(text)
    return None if bool(yes) == bool(no) else bool(yes)


def _opposites(sentences: Sentences, topic: set[str]) -> set[bool]:
    """Return whether words for the opposite of a matter are affirmed or denied."""
    found: set[bool] = set()
    for word in topic & {*tables()["antonyms"]}:
        for match in words_of("antonyms", word).finditer(sentences.text):
            found.add(sentences.affirms(*match.span()))
    return found


def find_nothing(sentences: Sentences, topics: set[str]) -> Iterator[tuple[Place, str]]:
    """Yield where an answer says that there is nothing of what was asked, each with why that cannot be told; empty if it is sure."""
    text = sentences.text
    things = words_of("zero", "things")
    for match in words_of("zero", "sure").finditer(text):
        if not things.match(text, match.end() + 1):
            yield match.span(), ""
    for match in words_of("zero", "counts").finditer(text):
        behind = text[match.end() : match.end() + 60]
        near = set(normalize(" ".join(re.split(r"[.,;:!?\n]", behind)[0].split()[:4])).split())
        if (
            not things.match(behind.lstrip())
            and behind[:1] == " "
            and {_ENDS.sub("", word) for word in near} & {_ENDS.sub("", word) for word in topics}
        ):
            yield match.span(), ""
    for match in words_of("zero", "unsure").finditer(text):
        yield match.span(), f"'{match[0]}'"
