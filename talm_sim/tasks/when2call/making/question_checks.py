"""Check questions that are made from a source question, by appendix A's quality list."""

from __future__ import annotations

import re

from talm_sim.language.leaks import find_leak, tokens
from talm_sim.language.question_words import GENERIC, content_stems
from talm_sim.tasks.when2call.making.faulty_wording import asks, find_placeholder, find_vague_words, names_new_things, words
from talm_sim.tasks.when2call.making.item_checks import Check, is_in_english, is_the_text_alone, says_something, speaks_of_no_tool
from talm_sim.tasks.when2call.making.items import Item
from talm_sim.tasks.when2call.making.splitting import mentions_value
from talm_sim.types import Behaviour

_EXTRA_WORDS = 20
"""Words a rewritten question may have beyond its source."""
_SAME = 0.75
"""Share of common words from which on two questions are one."""
_POINTS = re.compile(
    r"\b(?:these|those|this|that)\s+(?!is\b|are\b|was\b|were\b|has\b|have\b|had\b|will\b|would\b|can\b|could\b|i\b|you\b|he\b|she\b|we\b|they\b|it\b|the\b|a\b|an\b"
    r"|my\b|our\b|your\b|day\b|year\b|time\b|week\b|month\b|morning\b|evening\b|afternoon\b|date\b"
    r"|term\b|moment\b|season\b|spring\b|summer\b|autumn\b|winter\b|weekend\b|hour\b|century\b)([a-z]+)",
    re.IGNORECASE,
)
_OPENS_WITH = re.compile(
    r"^\W*+(?:what|how|when|where|who|why|which)?\s*+(?:about|is|are|was|were|does|do|did)?\s*+(it|its|they|them|their|this|that|these|those)\b"
    r"(?!\s+\w+\s)",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
_PRONOUN = re.compile(r"\b(its|they|them|their|it(?=\W*$|[,.?!;]))(?!\w)", re.IGNORECASE)


def asks_something(text: str, item: Item) -> str:
    """Require a question to ask or request something."""
    return "" if asks(text) else "it asks for nothing"


def is_changed(text: str, item: Item) -> str:
    """Reject a new question that is the old one."""
    return "it is the source question unchanged" if tokens(text) == tokens(item.source.question) else ""


def is_not_long(text: str, item: Item) -> str:
    """Limit the length: a few words more than the source question."""
    most = len(words(item.source.question)) + _EXTRA_WORDS
    long = len(words(text))
    return f"it has {long} words, more than {most}" if long > most else ""


def leaks_nothing(text: str, item: Item) -> str:
    """Reject a question that still tells what was taken out."""
    missing = item.missing
    if missing is None:
        return ""
    common = [item.source.spec.description, missing.name.replace("_", " "), item.argument_description(missing.name)]
    # The words of a list (the notes of a chord) may each stand elsewhere for another reason; the list must not.
    leak = find_leak(text, missing.value, missing.removed_text, common)
    return f"it still gives away '{missing.name}' ('{leak}')" if leak else ""


def hides_the_gap(text: str, item: Item) -> str:
    """Reject a question that points to its gap: a person who forgets something does not say so."""
    found = find_placeholder(text)
    return f"it says that something is missing ('{found}')" if found else ""


def keeps_the_rest(text: str, item: Item) -> str:
    """Require all values of the source question but the one that was taken out."""
    for name, value in item.given.items():
        if mentions_value(item.source.question, value) and not mentions_value(text, value):
            return f"it has lost '{name}', too"
    return ""


def puts_nothing_in_its_place(text: str, item: Item) -> str:
    """Reject another value in the place of the one that was taken out."""
    found = names_new_things(text, [item.source.question])
    return f"it names '{found}', which the source question does not" if found else ""


def stays_on_topic(text: str, item: Item) -> str:
    """Require at least one word of the tool, or of the source question."""
    spec = item.source.spec
    topic = content_stems(f"{spec.name.replace('_', ' ')} {spec.category} {spec.description} {item.source.question}") - GENERIC
    shared = {word for word in topic if not word.isdigit()} & content_stems(text)
    return "" if shared else "it has nothing to do with the tool's topic"


def is_out_of_reach(text: str, item: Item) -> str:
    """Reject a question that the tool might answer: a near copy of the source question is still its business."""
    old, new = content_stems(item.source.question), content_stems(text)
    if not old or not new:
        return ""
    share = len(old & new) / len(old | new)
    return "it is nearly the source question, which the tool can answer" if share >= _SAME else ""


def is_not_vague(text: str, item: Item) -> str:
    """Reject a vague question: a person wants something in particular."""
    found = find_vague_words(text)
    return f"it is vague ('{found}')" if found else ""


def refers_to_nothing_unsaid(text: str, item: Item) -> str:
    """Require the question to stand alone: no "that flight" of which nobody spoke."""
    opening = _OPENS_WITH.search(text)
    if opening:
        return f"it refers to what was not said ('{opening[1]}')"
    early = _PRONOUN.search(text)
    if early and len(content_stems(text[: early.start()])) < 2:
        return f"it refers to what was not said ('{early[1]}')"
    said: set[str] = set()
    read, last = 0, ""
    for match in _POINTS.finditer(text):
        passed = text[read : match.start()]
        said |= content_stems(passed)
        last = [last, *_WORD.findall(passed)][-1]
        read = match.start()
        if not said & content_stems(match[1]) and not _is_conjunction(last, match):
            return f"it refers to what was not said ('{match[0]}')"
    return ""


def _is_conjunction(before: str, match: re.Match[str]) -> bool:
    """Return whether "that" joins clauses: after a noun or a verb, not after a preposition or a question word."""
    if not match[0].lower().startswith("that"):
        return False
    return bool(before) and re.fullmatch("of|on|in|at|for|to|from|by|with|about|is|does|did|was|are|and", before.lower()) is None


_ALWAYS: tuple[Check, ...] = (says_something, is_the_text_alone, is_in_english, speaks_of_no_tool, is_changed, is_not_long)
QUESTION_CHECKS: dict[Behaviour, tuple[Check, ...]] = {
    Behaviour.TOOL_CALL: (says_something, is_in_english),
    Behaviour.REQUEST_FOR_INFO: (*_ALWAYS, leaks_nothing, hides_the_gap, keeps_the_rest, puts_nothing_in_its_place),
    Behaviour.CANNOT_ANSWER: (*_ALWAYS, asks_something, stays_on_topic, is_out_of_reach, is_not_vague, refers_to_nothing_unsaid),
}
"""The checks of each kind of item's question, in the order in which they are made."""


def question_checks(item: Item) -> tuple[Check, ...]:
    """Return the checks of an item's question; one whose tool is removed is the source question as it is."""
    return QUESTION_CHECKS[Behaviour.TOOL_CALL if item.removed else item.gold]
