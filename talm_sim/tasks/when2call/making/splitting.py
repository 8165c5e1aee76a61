"""Split a query with two asks: each gold call gets the sentences that ask for it, if these can be told apart cleanly.

A question of task `when2call` calls for one tool; the packaged queries of task `talm` ask for two things each. A boundary between sentences (or
before an "and" that opens a request) is clean when both sides ask something, every argument value that can be found in the query stands on its
own call's side, the second side does not refer back to the first, and no other reading is as good.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from talm_sim.language.leaks import mentions
from talm_sim.language.question_words import content_stems
from talm_sim.language.sentences import last_sentence
from talm_sim.types import GoldCall, ToolSpec

_OPENER = (
    r"(?:how|what|what's|which|when|where|who|whose|(?:at|on|by|in|to) (?:how|what|which)|tell me|give me|show me|name|list|find|look up"
    r"|count|convert|please|could you|can you|is|are|does|do|did|i'd like|i want|i need)"
)
_BREAK = re.compile(rf"(?<=[.?!])\s+(?=\S)|(?<!\band),?\s+(?=(?:and|then)\s+(?:also\s+)?{_OPENER}\b)", re.IGNORECASE)
_ASKS = re.compile(rf"\?|(?:^|[.:,;]\s+|\band\s+){_OPENER}\b|\b(?:please|need|tell me|give me|i'd (?:also )?like|i want)\b", re.IGNORECASE)
_REFERS_BACK = re.compile(r"\b(?:there|it|its|that|this|those|these|them|they|their|both|the two|afterwards|the other|again)\b", re.IGNORECASE)
_ANNOUNCES = re.compile(r"\b(?:two|both|2)\s+(?:\w+\s+)?(?:things|numbers|dates|questions|facts|values)\b", re.IGNORECASE)
_LEADS_OVER = re.compile(
    r"^(?:(?:and|also|besides(?: that)?|besides|by the way|then|after that|while you're at it|oh|plus|further|second|next)\b[,:]?\s+)+",
    re.IGNORECASE,
)
_ALSO = re.compile(r"\balso\s+|(?:,|(?<!\s))\s++as well(?=[.?!,;]|$)", re.IGNORECASE)
_BARE_PLEASE = re.compile(r"^please (?=(?:the|a|an)\b)", re.IGNORECASE)
_INTERROGATIVE = re.compile(r"^\W*(?:how|what|which|when|where|who|(?:at|on|by|in) (?:how|what|which))\b", re.IGNORECASE)

_LEAD = re.compile(
    r"(?:(?:can|could|would) you (?:please )?|please )?(?:tell me|say|see|find out|look up|check)\b|can i ask\b|i(?:'d like| want) to know\b",
    re.IGNORECASE,
)
"""What "how it goes" hangs on: alone, such words are no question."""
_INVERTED = re.compile(r"\b(?:do|does|did)\b", re.IGNORECASE)

_MOST_READ, _MOST_BOUNDARIES = 2_000, 12
"""Characters of a query that is split, and places where it may be: both parts are read anew at each."""


@dataclass(frozen=True, slots=True)
class Split:
    """A query cut in two."""

    end: int
    start: int
    order: tuple[int, int]


def split_query(query: str, calls: Sequence[GoldCall], specs: Sequence[ToolSpec]) -> Split | str:
    """Find where the first of two asks ends.

    Returns:
        The split, or in a few words why there is no clean one; of a query of more than 2,000 characters or 12 boundaries none is
        looked for.
    """
    boundaries = list(_BREAK.finditer(query)) if len(query) <= _MOST_READ else []
    if len(query) > _MOST_READ or len(boundaries) > _MOST_BOUNDARIES:
        return f"it has more than {_MOST_READ:,} characters or {_MOST_BOUNDARIES} sentences"
    if len(calls) != 2:
        return f"it has {len(calls)} gold calls; two can be told apart"
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    reason = "no sentence boundary separates its two asks"
    for match in boundaries:
        first, second = query[: match.start()], query[match.end() :]
        for order in ((0, 1), (1, 0)):
            why = _explain_unclean((first, second), [calls[index] for index in order], [specs[index] for index in order])
            if not why:
                found.setdefault(order, []).append(match.span())
            elif order == (0, 1):
                reason = why
    if len(found) > 1:
        return "its sentences fit both calls either way round"
    for order, spans in found.items():
        # A sentence without values between two asks explains the one before it.
        return Split(*spans[-1], order)
    return reason


def _explain_unclean(parts: tuple[str, str], calls: Sequence[GoldCall], specs: Sequence[ToolSpec]) -> str:
    """Say why the two parts are not the requests of the two calls; empty if they are."""
    if not all(_ASKS.search(part) for part in parts):
        return "one part of the query asks for nothing"
    if _ANNOUNCES.search(parts[0]):
        return "its first part announces both asks"
    return _explain_astray(parts, calls, specs) or _explain_dependent(parts[1], calls[1])


def _explain_astray(parts: tuple[str, str], calls: Sequence[GoldCall], specs: Sequence[ToolSpec]) -> str:
    """Say why an argument's words do not show which part belongs to which call."""
    grounded = []
    for own, other, call in zip(parts, reversed(parts), calls, strict=True):
        values = call.arguments.values()
        if any(mentions_value(other, value) and not mentions_value(own, value) for value in values):
            return "an argument of one call stands in the other's sentence"
        grounded.append([value for value in values if mentions_value(own, value) and not mentions_value(other, value)])
    if not any(grounded):
        return "its sentences name no argument of the calls"
    for index, (own, call) in enumerate(zip(parts, calls, strict=True)):
        if not grounded[index] and _margin(own, parts[1 - index], specs[index]) <= 0:
            return f"no words of its sentences tell that one asks for '{call.name}'"
    return ""


def _explain_dependent(second: str, call: GoldCall) -> str:
    """Say why the second part needs the first: it points back before it has named anything of its own."""
    first_value = min((_position(second, value) for value in call.arguments.values()), default=len(second))
    opening = _LEADS_OVER.match(second)
    back = _REFERS_BACK.search(second, opening.end() if opening else 0)
    return f"its second part refers back ('{back[0]}')" if back and back.start() < first_value else ""


def _margin(own: str, other: str, spec: ToolSpec) -> int:
    words = content_stems(f"{spec.name.replace('_', ' ')} {spec.description}")
    return len(words & content_stems(own)) - len(words & content_stems(other))


def mentions_value(text: str, value: Any) -> bool:
    """Return whether a text names an argument value; of a list all its items."""
    if isinstance(value, list | tuple):
        return bool(value) and all(mentions_value(text, item) for item in value)
    return any(mentions(text, form) for form in _spoken_forms(value))


def _spoken_forms(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, str) and "_" in value:
        yield value.replace("_", " ")


def _position(text: str, value: Any) -> int:
    """Return the place in a text at which a value is first complete."""
    if not mentions_value(text, value):
        return len(text)
    ends = [match.end() for match in re.finditer(r"\S+", text)]
    return next((end for end in ends if mentions_value(text[:end], value)), len(text))


def find_lead(first: str) -> str:
    """Return the words of a first part on which an indirect question in the second hangs as well; empty if a new sentence begins.

    >>> find_lead("Hello! Can you say how long it is")
    'Can you say'
    """
    found = _LEAD.match(last_sentence(first, also=":").strip()) if first[-1:] not in ".?!" else None
    return found[0] if found else ""


def tidy_request(part: str, *, capital: bool, lead: str = "") -> str:
    """Make a part of a query a request of its own: drop words that led over from the first ask, add its lead, and end the sentence.

    >>> tidy_request("And how long is it as well", capital=True)
    'How long is it?'
    >>> tidy_request("and how long it is?", capital=True, lead="Can you say")
    'Can you say how long it is?'
    """
    text = _ALSO.sub("", _LEADS_OVER.sub("", part.strip())).strip().rstrip(",;")
    text = _BARE_PLEASE.sub("please give me ", text)
    if lead and _INTERROGATIVE.search(text) and not _INVERTED.search(text):
        text = f"{lead} {text[0].lower()}{text[1:]}"
    if capital and text:
        text = text[0].upper() + text[1:]
    if text and text[-1] not in ".?!":
        text += "?" if _INTERROGATIVE.search(last_sentence(text, also=":").strip()) else "."
    return text
