"""Find what a person takes back of the request: "not at the Alpina", "without breakfast"."""

from __future__ import annotations

import re

from talm_sim.agent.person.values import names_in
from talm_sim.facts.names import normalize
from talm_sim.facts.statements import AnswerText
from talm_sim.scenarios.question_words import GENERIC, STOP, stem

__all__ = ["denied_of_request"]

_NOT_NAME = re.compile(
    r"\b(?:not|never|no longer|instead of|rather than)((?: (?:at|in|for|from|to|on|with|by|the|an?|mrs?|ms|of|really|any ?more))*)"
    r" ((?-i:[^\W\da-z_])[\w'\u2019-]*)",
    re.IGNORECASE,
)
_WITHOUT = re.compile(
    r"(?:\b(?:without|skip|leave out|cancel|drop|forget)|(?:^|[,.;!:]|\b(?:and|with|but|please)) ?\bno) (?:(?:any|the|my|our) )?([^\W\d_]+)",
    re.IGNORECASE,
)
_DENIED_BEFORE = re.compile(r"\b(?:without|no|not|any|don['\u2019]?t)\b[^.,;!?]{0,30}$", re.IGNORECASE)


def denied_of_request(text: AnswerText, request: str, question: str, *, at_odds: bool) -> bool:
    """Return whether an answer says No to something that the request asks for and that the question does not name.

    Args:
        text: The answer.
        request: What the person asked the agent.
        question: What the agent asked.
        at_odds: Whether a name of the request may only be denied: no name was asked for that it could be told apart from.
    """
    asked, names = normalize(question).split(), names_in(request)
    for match in _NOT_NAME.finditer(text.text):
        name = normalize(match[2]).strip()
        preposition = match[1].split()[:1]
        same = preposition and re.search(rf"\b{re.escape(preposition[0])} (?:the )?{re.escape(match[2])}\b", request, re.IGNORECASE)
        if name in names and name not in asked and (at_odds or same):
            return True
    return any(_is_wanted(match[1], request) for match in _WITHOUT.finditer(text.text))


def _is_wanted(word: str, request: str) -> bool:
    """Return whether a request asks for something, rather than to do without it."""
    if stem(word.lower()) in STOP | GENERIC:
        return False
    places = [match.start() for match in re.finditer(r"[^\W\d_]+", request) if stem(match[0].lower()) == stem(word.lower())]
    return bool(places) and not any(_DENIED_BEFORE.search(request[:place]) for place in places)
