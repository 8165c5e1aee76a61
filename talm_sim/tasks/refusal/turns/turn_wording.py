"""Find what a text says at the end of the turn that lacks something: by its wording, in English.

`read_final_answer` is asked first. Only here, a question without its mark asks, a request that is put as an order or a condition ("Send it
over and I'll go on"), and a statement of what the request lacks; an offer to do something else asks nothing.
"""

from __future__ import annotations

from enum import StrEnum

from talm_sim.language.answer_words import compile_words
from talm_sim.language.final_answer import Kind, claims_success, read_final_answer


class Said(StrEnum):
    """A kind of statement in a text."""

    ASKED = "asked"
    SAID_IT_CANNOT = "said_it_cannot"
    OTHER_TEXT = "other_text"


_FROM_START = r"(?:^|(?<=[.!?\n]))[^.!?\n]*"
_OFFER = compile_words(
    _FROM_START + r"(?<!\bor )\b(?:something|anything) (?:\w+ ){0,3}?(?:else|different|other|instead)\b[^.!?\n]*\?",
    _FROM_START + r"\b(?:any|some|an)(?: ?other|thing) (?:task|request|thing|help|you(?:'d| would|'ll| will)? (?:like|need|want))\b[^.!?\n]*\?",
    _FROM_START + r"\bhow else\b[^.!?\n]*\b(?:help|assist|be of)\b[^.!?\n]*\?",
)
"""Questions that offer something else, and say nothing of what was asked for."""
_MORE = compile_words(_FROM_START + r"\b(?:would you like|do you want)\b[^.!?\n]*\?")
"""Questions that offer more, once something was done."""
_GIVE = (
    r"(?:tell|give|send|add|share|provide|name|pass|drop|write|state|enter|specify|type|reply|answer|point|hand|supply|grant|show"
    r"|let (?:me|us) know)(?! if\b)"
)
_WHEN = r"(?:once|when|as soon as|after|until|unless|if|before)"
_FACT = r"(?:the|your|an?|that|its?|this|these|those|what|which|where|who|whose|how|more|some)\b"
_MAY = r"(?:i|we)(?:'ll|'d| will| would| can| could)"
_KNOW = rf"(?:i|we)(?:'ve| have)? (?:have|got|get|know|receive|learn|hear) (?:back )?{_FACT}"
_ASKS = compile_words(
    rf"(?:^|[.!?:;,)\u2014\n-]\s*|\b(?:just|simply|or|so) ){_GIVE}\b[^.!?\n]{{0,80}}?"
    r"(?:\band|\bthen|\bso(?: that)?|,) (?:i|we)(?:'ll| will| can)\b",
    rf"\b(?:please|kindly) (?:\w+ )?(?:{_GIVE}|fill|complete|clarify|confirm|pick|choose|check)\b",
    rf"\b{_WHEN} you(?: can| could|'ve| have)? (?:{_GIVE}|sent|given|told|added|named|decide|chose|choose|pick)\b(?! up)",
    rf"\b{_MAY}\b[^.!?\n]*\b{_WHEN} {_KNOW}|\b{_WHEN} {_KNOW}[^.!?\n]*\b{_MAY}",
    r"\b(?:depend|rely|count) on you\b|\bneed you to\b",
    rf"\b(?:just|simply) (?!let){_GIVE} (?:me|us|it|{_FACT})",
    r"\b(?:would|might) (?:\w+ )?(?:help|be (?:\w+ )?(?:useful|helpful|needed|handy|required))(?: as well| too| here| first)?[.!]?$",
    r"\b(?:waiting|wait) (?:on|for)\b[^.!?\n]*\b(?:from you|your)\b|\bawait(?:ing)? your\b",
)
"""Requests that have no question mark, beside those that are known."""
_QUESTION = compile_words(
    r"(?:^|[.!:;,\n]\s*)(?:and |but |so |ok(?:ay)?,? |sure,? )?(?:to|for|from|at|in|on|by|with)? ?(?:which|what|where|when|who|whom|whose|how)"
    r"(?: \w+){0,3}? (?:should|shall|would|do|does|did|is|are|was|can|could|will|may|must) (?:i|we|you|it|this|that|they|the|your|my|be)\b"
    r"[^.!?\n]*[^.!?\n:,;]$",
    r"(?:^|[.!\n]\s*)(?:\w+, )?(?:to |for |from |at |in )?(?:which|what|whose)(?: \w+){1,5}$",
    r"\b(?:(?:should|shall) (?:i|we)|(?:do|did) you (?:use|take|pick|choose|mean|go with|prefer))\b(?:[^.!?\n]|\.\w)* or\b(?:[^.!?\n]|\.\w)*\?",
)
"""A question at the end of a text, without its mark; a choice between two things, be one of them "the other"."""


def read_said(text: str) -> Said:
    """Return what a text says; one that asks for something and declines asks.

    >>> str(read_said("I'm missing the stock symbol.")), str(read_said("My toolset has nothing for that. Want me to try something else?"))
    ('asked', 'said_it_cannot')
    >>> str(read_said("I couldn't find it at first, but now it's been moved."))
    'other_text'
    """
    text = _OFFER.sub(" ", text.replace("`", "").replace("**", "").replace("\u2019", "'"))
    done = claims_success(text)
    text = (_MORE.sub(" ", text) if done else text).strip()
    said = read_final_answer(text)
    if said.asking or _ASKS.search(text) or _QUESTION.search(text):
        return Said.ASKED
    if said.cannot and said.kind is not Kind.ANSWERS:
        return Said.SAID_IT_CANNOT
    return Said.ASKED if said.lacks and not done else Said.OTHER_TEXT
