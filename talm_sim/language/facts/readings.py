"""Read what an answer says of a fact, and whether that is sure: judge `reference` decides nothing where it is not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from talm_sim.language.facts.names import alike
from talm_sim.language.facts.reservations import CODE, Reservation, is_rivalled, reservation, stems, tables, words_of
from talm_sim.language.facts.statements import SPAN, AnswerText, Value, kind_of, split_fact
from talm_sim.language.facts.topics import is_about_opposite, topics_of
from talm_sim.language.facts.units import unit_of
from talm_sim.language.facts.whole_lists import NAMED
from talm_sim.language.question_words import GENERIC, content_stems
from talm_sim.types import Fact

Place = tuple[int, int]
_AT_END = re.compile(
    r"\b(?:ends?|ending|until|till|clos\w+|finish\w*|last|over|arriv\w+|lands?|landing|latest|back|to|through|shuts?|deadline|due)\b",
    re.IGNORECASE,
)
_AT_START = re.compile(r"\b(?:starts?|starting|begin\w*|opens?|opening|from|first|depart\w*|leaves?|takes? off|earliest)\b", re.IGNORECASE)
_BETWEEN = re.compile(r"\bbetween \S{0,4}$", re.IGNORECASE)
_PERHAPS = re.compile(r"\b(?:(?:could|might|may)(?: also| well)? be|maybe|perhaps|possibly) \S{0,3}$", re.IGNORECASE)
_REFUSED = re.compile(
    r"\b(?:can['’]?t|cannot|couldn['’]t|could not|unable|not able|don['’]t (?:have|know)|no (?:tool|way|access|data|information)|sorry)\b",
    re.IGNORECASE,
)
_IS_CODE = re.compile(r"(?=.*[\d@])(?:\S+|[\W\d]+)")
"""A value that is one word with digits, an address, or digits alone."""
_LABEL = r"(?:^|[\n,;({\[|]|[.!?] )[\s\"'`*_•-]{0,8}([^\W\d_][\w /'’-]{0,30}?)[\"'`*_]{0,4}\s{0,4}[:=|][\s\"'`*_]{0,8}"
_KEYS, _KEY_BEFORE = re.compile(_LABEL), re.compile(rf"{_LABEL}$")
_LONGEST_KEY, _MOST_KEYS = 60, 200
_MOST_RIVALS = 60
"""Other values that are looked at, the nearest ones: each is read in its sentence."""


class Reading(NamedTuple):
    """What an answer says of a fact, as `AnswerText.find_claim` has it, and why nobody can be sure of it; empty if it is sure."""

    claim: bool | None
    unsure: str = ""


def read_fact(text: AnswerText, fact: Fact) -> Reading:
    """Return what an answer says of a fact.

    >>> read_fact(AnswerText("It was B44 until yesterday.", "Which gate?"), Fact(name="gate", value="B44"))
    Reading(claim=True, unsure="'until yesterday'")
    """
    if isinstance(fact.value, bool):
        claim = text.find_claim(fact)
        open_ = claim is None and text.language == "en" and not text.sentences.cues.doubts.search(text.text) and not _REFUSED.search(text.text)
        return Reading(claim, "no word says whether it is so" if open_ and stems(text.request) & stems(text.text) else "")
    read = [_read_part(text, part) for part in split_fact(fact)]
    said = [one.claim for one in read]
    return Reading(False if False in said else None if None in said else True, next((one.unsure for one in read if one.unsure), ""))


def _read_part(text: AnswerText, fact: Fact) -> Reading:
    """Return what is left of values that are stated, when their sentences take back, doubt or date them, or speak of somebody else."""
    claim, stated, values = text.weigh(fact)
    sure = [value for value in stated if not value.unsure]
    if not claim or not sure or text.language != "en":
        return Reading(claim, stated[0].unsure if claim and not sure else "")
    others = [(value.start, value.end) for value in values if not value.right] or list(_other_names(text, fact))
    against = [
        _span_says(text, fact, value, values)
        or _of_opposite(text, fact, value)
        or reservation(text.sentences, text.request, (value.start, value.end), others, topics_of(fact))
        for value in sure
    ]
    if None not in against:
        return Reading(False) if all(one and one.sure for one in against) else Reading(True, next(one.why for one in against if one))
    kept = sure[against.index(None)]
    slip = next((cue for cue in text.sentences.cues.corrects.finditer(text.text) if any(start > cue.end() for start, _ in others)), None)
    if slip and kind_of(fact) == "number" and any(one.right and one.start < slip.start() for one in values) and kept.start < others[-1][0]:
        return Reading(True, f"'{slip[0]}'")
    rivals = [(one.start, one.end) for one in values if not one.right]
    like = all(_is_measured(text, one) == _is_measured(text, kept) for one in values)
    mine = [(one.start, one.end) for one in sure]
    nearest = sorted(rivals or _rivals_of(text, fact, kept, others), key=lambda place: abs(place[0] - kept.start))[:_MOST_RIVALS]
    theirs = [place for place in sorted(nearest) if not _is_set_aside(text, fact, place, (kept.start, kept.end))]
    if _is_under_other_key(text, fact, sure):
        return Reading(True, "it is under another key")
    rivalled = len(text.facts) < 2 and is_rivalled(text.sentences, text.request, topics_of(fact), mine, theirs, beside=bool(rivals) and like)
    return Reading(True, "another value is as near to what was asked" if rivalled else "")


def _rivals_of(text: AnswerText, fact: Fact, kept: Value, others: Sequence[Place]) -> Iterator[Place]:
    """Yield the names and codes that may be meant instead of a text: none without digits for a code, and none that another key names."""
    is_code, keyed = bool(_IS_CODE.fullmatch(str(fact.value))), _is_key_of(fact, _key(text.text, kept.start))
    for start, end in others:
        like = not is_code or re.search(r"[\d@]" if "@" in str(fact.value) else r"\d", text.text[start:end])
        if keyed is False or (like and _is_key_of(fact, _key(text.text, start)) is not False):
            yield start, end


def _is_under_other_key(text: AnswerText, fact: Fact, sure: Sequence[Value]) -> bool:
    """Return whether all values are under other keys than the fact's, which is there, too."""
    if not all(_is_key_of(fact, _key(text.text, value.start)) is False for value in sure):
        return False
    return any(_is_key_of(fact, match[1]) for match in islice(_KEYS.finditer(text.text), _MOST_KEYS))


def _key(text: str, place: int) -> str:
    """Return the key or label directly before a value; empty where there is none."""
    found = _KEY_BEFORE.search(text, max(0, place - _LONGEST_KEY), place)
    return found[1] if found else ""


def _is_key_of(fact: Fact, key: str) -> bool | None:
    """Return whether a key is the fact's, or another one's; None where nobody can tell."""
    named, own = content_stems(key.replace("_", " ")) - GENERIC, content_stems(" ".join(topics_of(fact))) - GENERIC
    return bool(named & own) if named and own else None


def _of_opposite(text: AnswerText, fact: Fact, value: Value) -> Reservation | None:
    """Return whether a value is said of the opposite of what the request asks for, where the fact itself does not say what that is."""
    if len(text.facts) > 1 or fact.asks or _AT_END.search(text.request) or _AT_START.search(text.request):
        return None
    asked = fact.model_copy(update={"asks": (text.request,)})
    opposite = text.request and is_about_opposite(text.sentences, (value.start, value.end), asked)
    return Reservation("it is said of the opposite", sure=True) if opposite else None


def _is_set_aside(text: AnswerText, fact: Fact, other: Place, mine: Place) -> bool:
    """Return whether another value is no rival: of the opposite, of the same span, corrected or taken back."""
    first, last = sorted((other, mine))
    between = text.text[first[1] : last[0]]
    denied = not text.sentences.affirms(*other) and not _PERHAPS.search(text.text[max(0, other[0] - 24) : other[0]])
    if denied or SPAN.fullmatch(between) or is_about_opposite(text.sentences, other, fact):
        return True
    slip = other is first and text.sentences.cues.corrects.search(between) is not None
    return slip or reservation(text.sentences, text.request, other, [mine], topics_of(fact)) is not None


def _is_measured(text: AnswerText, value: Value) -> bool:
    return any(one.start == value.start and one.unit for one in text.numbers)


def _other_names(text: AnswerText, fact: Fact) -> Iterator[Place]:
    """Yield the places of names and codes that may be meant instead of a text."""
    if kind_of(fact) == "text":
        often = tables()["small"]["often"]
        known = f"{' '.join(f'{one.value} {one.accepted}' for one in text.facts)} {text.request}".casefold()
        # `0221 5580` and `rose-12` have the shape of `0221 5567` and `tulip-88`.
        found = (*NAMED.finditer(text.text), *CODE.finditer(text.text), *alike(str(fact.value)).finditer(text.text))
        yield from dict.fromkeys(match.span() for match in found if match[0].casefold() not in known and match[0] not in often)


def _span_says(text: AnswerText, fact: Fact, value: Value, values: Sequence[Value]) -> Reservation | None:
    """Return what is against a value that is one end of a span, when the fact is the other end, or nobody can tell which."""
    for other in values:
        if other.right:
            continue
        first, last = sorted((value, other), key=lambda one: one.start)
        between = text.text[first.end : last.start]
        bare = " ".join(word for word in between.split() if not unit_of(word)).strip("$€£ ")
        lead = bare == "and" and _BETWEEN.search(text.text[max(0, first.start - 14) : first.start])
        if not (SPAN.fullmatch(between) or bare in {"-", "to", "until", "till"} or lead):
            continue
        if words_of("moves", "words").search(text.text, max(0, first.start - 50), first.start):
            return None if value is last else Reservation("it has been changed", sure=True)
        asked = " ".join(topics_of(fact))
        named = _AT_END.search(asked) or _AT_START.search(asked)
        asked = asked if named else text.request
        ends, starts = _AT_END.search(asked) is not None, _AT_START.search(asked) is not None
        if ends == starts or (kind_of(fact) == "number" and not named):
            return Reservation("it is one end of a span", sure=False)
        return None if ends is (value is last) else Reservation("it is the other end of the span", sure=True)
    return None
