"""Tell what a text does not give as a value: greetings and exclamations, waiting times, telephone numbers, status codes and examples."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice

from talm_sim.language.facts.names import normalize
from talm_sim.language.facts.statements import AnswerText, Value, kind_of
from talm_sim.language.facts.topics import topics_of
from talm_sim.language.facts.units import unit_of
from talm_sim.types import Fact

_LOOKS, _BEFORE = 300, 60
"""Characters behind an exclamation in which a failure follows, and before a number in which it is named."""
_CLAUSE_END = re.compile(
    r"[,;()\n]|\s[-–—]+\s|[.!?](?=\s|$)|\b(?:but|so|although|though|however|because|since|after|despite|while|meaning|which means)\b",
    re.IGNORECASE,
)
CALLS = (
    r"\W*(?:hello|hi|hey|dear|good (?:morning|afternoon|evening|day)|greetings|sorry|so sorry|my apolog\w+|apolog\w+|pardon|excuse me|thanks?"
    r"|thank you|wh?oops\w*|oops\w*|uh[- ]?oh|oh|ah|a?h+m+|u[hm]+|ugh|argh|yikes|ouch|wow|alas|well|damn|darn|gosh|yes|no|ok(?:ay)?|sure"
    r"|(?:un|re)[a-z]+ly|sadly|honestly|frankly)\b"
)
"""Greetings and exclamations, with which no answer names anything."""
_CALL = re.compile(CALLS, re.IGNORECASE)
_SENTENCE_BEGINS = re.compile(r"[.!?\n]\W*$")
_CALL_END = re.compile(r"[,!]\s+(?!(?:but|though|although|however)\b)", re.IGNORECASE)
WAIT = re.compile(
    r" ?-?(seconds?|secs?|s|ms|minutes?|mins?|hours?|hrs?|h|days?|weeks?|times?|attempts?|tries|retries|requests?)\b", re.IGNORECASE
)
_STATUS = re.compile(r"(?:HTTP(?:/[\d.]*)?|errors?|status|codes?|answered|returned)(?: status| code)*[ :#(]*$", re.IGNORECASE)
NAMED_NUMBER = re.compile(
    r"\b(?:(?:call|phone|ring|text|fax|reach|contact)\b(?:[^.!?;,\d]{0,40} (?:on|at|under))?|dial|tel\.?|telephone|hotline|ext(?:ension|\.)?"
    r"|room|ticket|reference|no\.)[ :#]*(?:[(+\d][\d ()/-]{0,20})?$",
    re.IGNORECASE,
)
_PHONE = re.compile(r"(?:\d{2,}[ -]){2,}\d{2,}")
EXAMPLE = re.compile(r"(?:\b(?:like|such as|for example|for instance|say)|\be\.g\.|\bi\.e\.)[,:]?\W{1,3}$", re.IGNORECASE)


def clauses(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the clauses of a text begin and end."""
    at = 0
    for match in _CLAUSE_END.finditer(text):
        if text[at : match.start()].strip():
            yield at, match.start()
        at = match.end()
    if text[at:].strip():
        yield at, len(text)


def is_aside(text: AnswerText, fact: Fact, value: Value) -> bool:
    """Return whether a number is a waiting time, a date, a telephone number or a status, while the fact is none of these."""
    if kind_of(fact) != "number":
        return False
    before, behind = text.text[max(0, value.start - 24) : value.start], text.text[value.end : value.end + 24]
    wait = WAIT.match(behind)
    topics = set(normalize(" ".join(topics_of(fact))).split())
    if (
        wait
        and wait[1].lower() not in topics
        and wait[1].lower().rstrip("s") not in topics
        and not (fact.unit and unit_of(fact.unit) == unit_of(wait[1]))
    ):
        return True
    if any(date.start <= value.start < date.end for date in text.dates) or _STATUS.search(before):
        return True
    if NAMED_NUMBER.search(text.text, max(0, value.start - _BEFORE), value.start):
        return True
    return bool(_PHONE.search(before[-14:] + text.text[value.start : value.end] + behind[:14]))


def only_opens(text: str, first: int, last: int, is_no_claim: Callable[[str], bool]) -> bool:
    """Return whether a clause opens a sentence and says nothing by itself: "Sorry Ben, ..." or, before a failure, any one word."""
    clause, begins = text[first:last], not first or _SENTENCE_BEGINS.search(text, max(0, first - 4), first)
    if not begins or _CALL.match(clause):
        return bool(begins)
    follows = text[last : last + _LOOKS]
    return (
        len(clause.split()) == 1
        and _CALL_END.match(follows) is not None
        and any(is_no_claim(follows[slice(*one)]) for one in islice(clauses(follows), 1))
    )
