"""Find English wording that gives a fault away, for the checks of a text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from talm_sim.language.leaks import tokens
from talm_sim.language.sentences import split_sentences

_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_FUNCTION = re.compile(
    r"\b(?:the|an?|of|in|on|at|to|for|from|with|by|and|or|is|are|was|were|be|do|does|did|can|could|will|would|what|which|who|how|when|where|why"
    r"|i|you|my|me|your|it|that|this|please|not|have|has|there|if|as|about|no|any)\b",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"\?|\b(?:could|can|would|will) you\b|\b(?:please|kindly) (?:provide|specify|tell|give|share|clarify|confirm|let|state|enter)\b"
    r"|\blet me know\b|\b(?:i|we)(?: would| will|'ll|'d|\u2019ll)?(?: still| also)? (?:need|require)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\?|^\W*(?:\w+[:,]\s*)?(?:please|tell|give|show|find|list|name|count|convert|compute|calculate|look|write|get|check|explain|book|send|call"
    r"|need|translate|decode|transpose|describe|compare|identify|spell|build|add|set|make|order)\b"
    r"|\b(?:please|i need|i(?:'d| would) (?:also )?(?:like|love|need)|i want|tell me|give me|show me|find me|need)\b",
    re.IGNORECASE,
)
_CONFIRMS = re.compile(
    r"\b(?:confirm|is (?:that|this|it) (?:correct|right)|correct\?|right\?|do you mean|did you mean|are you (?:sure|asking|looking|referring)"
    r"|just to be sure|you (?:said|mentioned)|would you like me to (?:use|take))\b",
    re.IGNORECASE,
)
_DECLINES = re.compile(
    r"\b(?:can(?:not|'t|\u2019t)|could(?:n't|n\u2019t| not)|unable|not able|am not in a position|do(?:n't|n\u2019t| not) have|have no|lack"
    r"|no way|beyond|not (?:possible|available)|unavailable|won't be able|outside)\b",
    re.IGNORECASE,
)
_DISCLAIMS = re.compile(
    r"\b(?:as an ai|language model|i(?:'m| am) (?:not sure|unable|not able) |i (?:do not|don't) (?:have|know)\b"
    r"|check (?:the|an?) (?:official|latest|current)|hypothetical|made-up|fictional"
    r"|may not be (?:accurate|exact|up to date)|estimate only"
    r"|(?:it is|it's) (?:not possible|impossible) to|there (?:is|'s) no way to|(?:cannot|can't) be (?:determined|known|found|said))\b",
    re.IGNORECASE,
)
"""What takes an answer back whatever it says besides; a regret or a hint at what may vary does not."""
_DETAILS = re.compile(
    r"\b(?:could|can|would|will) you (?:please |kindly |also )*(?:provide|specify|tell|give|share|clarify|confirm|let|state|enter)\b"
    r"|\b(?:please|kindly) (?:provide|specify|tell me|give me|share|clarify|confirm|state|enter|let me know)\b"
    r"|\b(?:i|we)(?: would|'ll|'d| will| still| also)* (?:need|require) (?:to know|your|the|more)\b"
    r"|\blet me know (?:which|what|when|where|how|your)\b"
    r"|(?:^|[.!?,:]\s+)(?:but |and |so |for )*(?:what|which|where|when|who|how (?:many|much|old|long)|do you (?:mean|want|prefer|have))\b"
    r"[^.!?]*\?\s*$",
    re.IGNORECASE,
)
_TOOLS = re.compile(
    r"\b(?:apis?|the functions?|this function|function calls?|(?:the|this|these|my|any|available|provided|given) tools?"
    r"|tools? (?:available|provided|given)"
    r"|tool calls?|endpoints?|plug-?ins?|parameters?|arguments?|schema)\b",
    re.IGNORECASE,
)
_GAP = re.compile(
    r"\b(?:not (?:provided|given|specified|mentioned|stated|known|included)|un(?:specified|known|stated|provided)|missing|left out"
    r"|omitted|removed|redacted"
    r"|without (?:specifying|mentioning|stating|giving)|placeholder|n/a|to be determined|tbd)\b|\[[^\[\]]*\]|<[^<>]*>|_{2,}|\bX{2,}\b",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"\b(?:something|anything|somewhere|someone|things? like that|stuff|(?:some|any|more|further|additional) (?:information|info|details|data)"
    r"|information (?:about|on) (?:it|this|that|them))\b",
    re.IGNORECASE,
)
_SUFFIX = re.compile(r"(?:['\u2019]s|(?<=[A-Z])s)$")


def words(text: str) -> list[str]:
    """Return the words of a text, as a limit counts them."""
    return text.split()


def is_english(text: str) -> bool:
    """Return whether a text reads as English: Latin letters outside quotations, and, if it is long enough, one of the small words."""
    letters = [char for char in text if char.isalpha()]
    if letters and sum(char < "\u0250" for char in letters) < 0.6 * len(letters):
        return False
    return len(_WORD.findall(text)) < 8 or _FUNCTION.search(text) is not None


def asks(text: str, *, request: bool = False) -> str:
    """Return the words with which a text asks for something; `request` looks for what only a question back to the user says."""
    match = (_REQUEST if request else _ASKS).search(text)
    return match[0].strip() if match else ""


def find_request_for_details(text: str) -> str:
    """Return the words with which a text asks the user for information; an offer ("Would you like to see them?") asks for none."""
    return _first_match(_DETAILS, text)


def find_confirmation(text: str) -> str:
    """Return the words with which a text asks whether something said is right."""
    return _first_match(_CONFIRMS, text)


def declines(text: str) -> bool:
    """Return whether a text says that something cannot be done."""
    return _DECLINES.search(text) is not None


def find_disclaimer(text: str) -> str:
    """Return the words with which a text takes back its answer."""
    return _first_match(_DISCLAIMS, text)


def find_tool_talk(text: str, name: str, allowed: str) -> str:
    """Return the words with which a text speaks of the machinery; `allowed` is a text whose words a user may use."""
    # A tool may be called by a plain word ("segment"), which anyone may say.
    if not name.isalpha() and name and name.lower() in text.lower():
        return name
    known = set(tokens(allowed))
    found: list[str] = _TOOLS.findall(text)
    return next((word for word in found if not set(tokens(word)) <= known), "")


def find_placeholder(text: str) -> str:
    """Return the words with which a rewritten request shows where something was taken out."""
    return _first_match(_GAP, text)


def find_vague_words(text: str) -> str:
    """Return the words that leave open what is asked for."""
    return _first_match(_VAGUE, text)


def names_new_things(text: str, known: Sequence[str]) -> str:
    """Return the first name or number of `text` that no `known` text holds. A sentence's first word may be capitalized for its place."""
    there = {token for one in known for token in tokens(one)}
    run = "".join(tokens(" ".join(known)))
    for sentence in split_sentences(text, also=":"):
        for index, word in enumerate(_WORD.findall(sentence)):
            named = word[0].isupper() and index > 0 and word != "I" and not word.startswith(("I'", "I\u2019"))
            plain = _SUFFIX.sub("", word)
            if named and plain not in ("AI", "ID") and not set(tokens(plain)) <= there and "".join(tokens(plain)) not in run:
                return str(word)
    numbers = (token for token in tokens(text) if token[0].isdigit())
    return next((number for number in numbers if number not in there), "")


def _first_match(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match[0] if match else ""
