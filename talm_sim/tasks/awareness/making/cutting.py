"""Cut words out of what somebody said so that a sentence is left, and check whether it is one."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from talm_sim.language.question_words import stem
from talm_sim.language.sentences import last_sentence

_PREPOSITIONS = (
    "at|on|in|for|from|to|of|with|by|about|under|until|till|near|around|during|via|as|into|using|against|through|starting|ending|named|called"
    "|titled|entitled|regarding|before|after|since|where|having"
)
_ARTICLE = r"(?:(?:the|my|his|her|its|our|their|your|a|an|this|that)\s+)?"
_WORD = r"(?!(?:and|or)\b)[A-Za-z'’-]+"
_BE = r"(?:is|are|was|were|will be|should be|would be|as|to be|being|:|=)"
_NOUNS = (
    "id code number name title date time symbol user account keyword value address word city country email username password topic subject"
    " content location doctor dr patient device stock phrase text url link query hotel company symptom appointment meeting agenda reminder"
    " alarm scene formula expression string hour clock"
)
"""Nouns that may stand between a preposition and a value: "with the title ...", "for user ID ..."."""
_STEMS = frozenset(map(stem, _NOUNS.split()))
_CLAUSE = re.compile(
    rf"(?P<lead>^|(?<=[.!?;])\s+|,?\s*\band\s+|,\s*|\s+with\s+|:\s+)(?P<clause>(?P<article>{_ARTICLE})(?:{_WORD}\s+){{0,4}}?{_WORD}\s*{_BE}\s*)$",
    re.IGNORECASE,
)
_PHRASE = re.compile(
    rf",?\s*\b(?P<preposition>{_PREPOSITIONS})\s+{_ARTICLE}(?P<nouns>(?:(?!(?:{_PREPOSITIONS})\b)[\w'’-]+\s+){{0,3}})$", re.IGNORECASE
)
_GOES_ON = re.compile(
    r"\s*(?:$|[.,;:!?)]|\b(?:and|or|but|to|at|on|in|for|from|with|by|of|about|as|so|then|please|which|that|where|when|if|because|until|using"
    r"|thanks|thank|today|tomorrow|via|into|starting|ending|instead|too|also)\b)",
    re.IGNORECASE,
)
_NEXT_WORD = re.compile(r"\s+([A-Za-z'’-]+)")
_ONLY_YES = re.compile(
    r"(?:^|[.!?]\s+)(?:yes|sure|ok|okay|of course|certainly|no|well|great|thanks|thank you|hi|hello|alright)$", re.IGNORECASE
)
_BARE_CLAUSE = re.compile(
    rf"(?!(?:my|the|his|her|its|our|their|your|a|an|this|that|i|it|we|he|she|they|you)\b)(?:{_WORD}\s+){{1,3}}{_BE}\s", re.IGNORECASE
)
_OWNED = re.compile(r"(?:\w+\s+)?(?:name|username|password|email|address|number|id|account|age)\b", re.IGNORECASE)
_HAS_BE = re.compile(rf"\b{_BE}|^\W*(?:yes|sure|ok|okay|no|well|great|hi|hello)\W*$", re.IGNORECASE)
_LAST_COMMA = re.compile(rf",\s+(?P<clause>{_ARTICLE}(?:{_WORD}\s+){{1,4}}{_BE}\s(?:[^,.!?]|\.(?=\S))*)$", re.IGNORECASE)
_JOINS_NOUN = re.compile(
    r"\s*,?\s*(?:and|or)\s+(?!(?:i|i'd|i'm|you|we|please|can|could|tell|give|also|let|then|what|how|find|show|check|help|the new|my)\b)",
    re.IGNORECASE,
)
_PRONOUN_CLAUSE = re.compile(r"\b(?:what|which|who|how|where|when|why|there|it|this|that|he|she|they|i|you|we|and)\b", re.IGNORECASE)
_MOST_PLACES = 50
"""Places that may be cut out of one text."""
_MOST_LEADING = 400
"""Characters before a place in which its leading words are searched for."""
_FAULTS = (
    (re.compile(r"[\"“]\s*[\"”]|(?<!\w)'\s*'(?!\w)|\(\s*\)"), "empty quotation marks or brackets"),
    (re.compile(r"[,;:]\s*[,;:.?!]|\s[,.;?!](?!\w)|\.\s*\.(?!\.)|^\s*[,.;:]"), "punctuation without words"),
    (re.compile(r"\b(?:and|or)\s*[,.;?!]|\b(?:and|or)\s+(?:and|or)\b|[,;]\s*(?:and|or)\s*$", re.IGNORECASE), "an 'and' that joins nothing"),
    (
        re.compile(r"\b(?:of|at|from|into|between|during|by)\s+(?:of|at|on|in|for|from|to|with|by|and|or)\b", re.IGNORECASE),
        "a preposition without words",
    ),
    (
        re.compile(
            r"\b(?:a|an|the|my|your|our|their|between)\s*(?:[,.;:?!]|\b(?:and|or|at|on|in|for|from|to|of|with|by|is|are)\b|$)", re.IGNORECASE
        ),
        "an article without a noun",
    ),
    (
        re.compile(r"\b(?:of|at|on|in|for|from|to|with|by|and|or|named|called|titled|about|is|are|was|as)\s*(?:[.,;:?!]|$)", re.IGNORECASE),
        "a word without what it leads to",
    ),
    (
        re.compile(
            r"\b(?:is|are|was)\s+and\b|(?:^|[.!?,]\s+)(?:it|that|this|they|i|he|she)\s?(?:['’]s|['’]m| is| am| are| was)\s*(?:[.,;!?]|$)"
            r"|\b(?:find out|look|born)\s*[.,?!]",
            re.IGNORECASE,
        ),
        "a verb without what it says",
    ),
    (re.compile(r"(?:^|[.!?]\s+)(?:yes|sure|ok|okay|of course|no)\s+and\b", re.IGNORECASE), "an 'and' that joins nothing"),
)


@dataclass(frozen=True, slots=True)
class _Cut:
    """Words to cut out.

    Attributes:
        begin: Where they begin.
        stop: Where they end.
        joint: What replaces them.
        comma: A comma before them that becomes an "and".
    """

    begin: int
    stop: int
    joint: str = ""
    comma: int | None = None


def cut(text: str, spans: Collection[tuple[int, int]], about: Collection[str]) -> tuple[str, list[str]] | None:
    """Cut some places out of a text, each with the words that lead to it.

    Returns:
        What is left, and the words cut out, in order; None if a place has no words that could go with it, nothing would be left, or there
        are more than 50 places.
    """
    if len(spans) > _MOST_PLACES:
        return None
    gone: list[str] = []
    for start, end in sorted(spans, reverse=True):
        place = _clause(text, start, end) or _phrase(text, start, end, about)
        if place is None:
            return None
        gone.insert(0, text[place.begin : place.stop].strip(" ,;"))
        left = text[: place.begin]
        if place.comma is not None:
            left = f"{left[: place.comma]} and{left[place.comma + 1 :]}"
        text = _join_around_cut(left, place.joint, text[place.stop :])
    return (text, gone) if re.search(r"\w", text) else None


def _join_around_cut(left: str, joint: str, right: str) -> str:
    """Join both sides of a cut, with the blanks, punctuation and capitals of a sentence."""
    opens = re.search(r"(?:^|[.?!]\s*)$", left.strip()) is not None
    right = re.sub(r"^[\s,;]*(?:and\s+)?", "", joint + right, flags=re.IGNORECASE) if opens else joint + right
    if opens:
        left, right = left.rstrip(), right[:1].upper() + right[1:]
        return f"{left} {right}".strip()
    if re.match(r"\s*[.,;:?!]", right):
        left, right = left.rstrip(" ,;:"), right.lstrip()
    if re.search(r"\s$", left) and re.match(r"\s", right):
        left = left.rstrip()
    return (left + right).rstrip()


def _clause(text: str, start: int, end: int) -> _Cut | None:
    """Find a clause like "my password is ..."."""
    before = _CLAUSE.search(text, max(0, start - _MOST_LEADING), start)
    after = re.match(r"\s*(?:[.!?;]|$|(?P<joint>,\s*(?:and\s+)?|\s+and\s+))", text[end:], re.IGNORECASE)
    if before is None or after is None or _PRONOUN_CLAUSE.match(before["clause"]) or not _is_clause(before, text):
        return None
    lead, earlier, stop = before["lead"].strip(), text[: before.start()], end + after.end()
    near = max(0, len(earlier) - _MOST_LEADING)
    after_yes = lead == "," and _ONLY_YES.search(earlier, near) is not None
    if after["joint"] is not None:
        if lead not in {"", ":", "with"} and not after_yes:
            return _Cut(before.start(), end)
        return _Cut(before.start("clause"), stop, _article(before["article"], text[stop:]))
    if after_yes or (lead == ":" and earlier):
        return None  # nothing would be left of the sentence
    if lead in {"", ":"}:
        return _Cut(before.start(), stop, " ")  # a whole sentence goes with its full stop
    # "A is 1, B is 2, and C is 3": the clause that is last now is joined by the "and".
    comma = _LAST_COMMA.search(earlier, near) if "and" in lead else None
    return _Cut(before.start(), end, comma=comma.start() if comma else None)


def _is_clause(before: re.Match[str], text: str) -> bool:
    """Return whether what leads to a value is a separate clause; in "which month and year was ..." it is not."""
    sentence = last_sentence(text[: before.start()])
    alone = before["lead"].strip() in {"", ":", "with"} or before["article"] or not sentence.strip()
    return bool(alone or _HAS_BE.search(sentence))


def _article(article: str, rest: str) -> str:
    """Return the beginning of the next clause if it relied on the removed one: "My name is A and password is B"."""
    leaning = _BARE_CLAUSE.match(rest)
    if not article or leaning is None:
        return ""
    return article if _OWNED.match(rest) else "the "


def _phrase(text: str, start: int, end: int, about: Collection[str]) -> _Cut | None:
    """Find a phrase like "at ..." or "with the title ..."."""
    if (before := _PHRASE.search(text, max(0, start - _MOST_LEADING), start)) is None:
        return None
    named = {stem(word.casefold().rstrip(".")) for word in before["nouns"].split()}
    if not all(word in about or word in _STEMS for word in named):
        return None
    if re.search(r"\bbetween\b", last_sentence(text[: before.start()]), re.IGNORECASE):
        return None
    follows = None if _GOES_ON.match(text[end:]) else _NEXT_WORD.match(text[end:])
    stop = end + (follows.end() if follows and stem(follows[1].casefold()) in {*about, *_STEMS} else 0)
    rest, preposition = text[stop:], before["preposition"].casefold()
    half_of_pair = (
        # "for two and three", "from one to three", "change the title to A, the time to B", "in Paris, France"
        _JOINS_NOUN.match(rest)
        or (preposition == "from" and re.match(r"\s*(?:to|until|till)\b", rest))
        or (preposition == "to" and rest.lstrip()[:1] == ",")
        or re.match(r",\s*[A-Z]\w", rest)
    )
    if half_of_pair or not _GOES_ON.match(rest):
        return None
    return _Cut(before.start(), stop, "." if text[stop - 1] == "." and re.match(r"\s+[A-Z]|\s*$", rest) else "")


def find_unnatural(text: str, before: str) -> str:
    """Return what in a changed text no person would write; empty if nothing is found."""
    if not re.search(r"\w\W+\w", text):
        return "fewer than two words"
    for pattern, fault in _FAULTS:
        if len(pattern.findall(text)) > len(pattern.findall(before)):
            return fault
    for mark in '"()':
        if text.count(mark) % 2 > before.count(mark) % 2:
            return "a quotation mark or bracket without its other half"
    if text.rstrip()[-1:] in ",;:-" and before.rstrip()[-1:] not in ",;:-":
        return "an end without a full stop"
    if before[:1].isupper() and text[:1].islower():
        return "a beginning without a capital"
    return ""
