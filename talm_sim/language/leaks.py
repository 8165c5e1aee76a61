"""Find what a text gives away: whether it mentions a value, and whether a query still lets a removed value be guessed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from typing import Any

from talm_sim.language.calendar_words import MONTHS
from talm_sim.language.question_words import STOP, stem

_TOKEN = re.compile(r"\d[\d,]*(?:\.\d+)?|[^\W\d_]+")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_SHORTEST_PART = 3
_MOST_DATES = 20
"""Dates of one value that are looked for in other spellings."""
_NUMERALS = (
    (0, "zero", ""),
    (1, "one", "first"),
    (2, "two", "second"),
    (3, "three", "third"),
    (4, "four", "fourth"),
    (5, "five", "fifth"),
    (6, "six", "sixth"),
    (7, "seven", "seventh"),
    (8, "eight", "eighth"),
    (9, "nine", "ninth"),
    (10, "ten", "tenth"),
    (11, "eleven", "eleventh"),
    (12, "twelve", "twelfth"),
    (20, "twenty", "twentieth"),
)
_ISO_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_ORDINAL = re.compile(r"^(st|nd|rd|th)$")


def tokens(text: str) -> list[str]:
    """Split a text into words and numbers, without case, diacritics and thousands separators.

    >>> tokens("São Paulo's 1,250 cafés")
    ['sao', 'paulo', 's', '1250', 'cafes']
    """
    return [*_tokens(text)]


@lru_cache(4096)  # the same texts are searched for many values, and the same values looked for in many texts
def _tokens(text: str) -> tuple[str, ...]:
    plain = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char)).casefold()
    return tuple(_normalize_number(token) if token[0].isdigit() else token for token in _TOKEN.findall(plain))


def _normalize_number(token: str) -> str:
    token = token.rstrip(",")
    if "," in token and not _THOUSANDS.fullmatch(token):
        return token
    token = token.replace(",", "")
    return token.rstrip("0").rstrip(".") if "." in token else token.lstrip("0") or "0"


def mentions(text: str, value: Any, spellings: Iterable[str] = ()) -> bool:
    """Tell whether `text` holds the value, or one of its other spellings, as whole words.

    >>> mentions("It lies 13,355 feet up.", 13355), mentions("It lies 13,355 feet up.", 355)
    (True, False)
    """
    within = tokens(text)
    ordinals = [_ORDINAL.sub("", token) for token in within]
    said = [_join_words(words) for words in (within, [token for token in ordinals if token])]
    return any(_join_words(form) in words for form in _forms(value, spellings) for words in said)


def _forms(value: Any, spellings: Iterable[str]) -> Iterable[list[str]]:
    """Return the ways to write a value: as it stands, in words for a small number, with the month's name for a date."""
    if isinstance(value, bool):
        texts = [*spellings]
    else:
        texts = [f"{abs(Decimal(repr(value))):f}" if isinstance(value, float) else str(value).lstrip("-"), *spellings]
    for number, *words in _NUMERALS:
        if value == number and not isinstance(value, bool):
            texts += words
    for year, month, day in islice((date.groups() for date in _ISO_DATE.finditer(str(value))), _MOST_DATES):
        name = MONTHS[(int(month) - 1) % 12]
        texts += [f"{int(day)} {name} {year}", f"{name} {int(day)} {year}", f"{name} {int(day)}", f"{int(day)} {name}"]
    return [form for form in map(tokens, texts) if form]


def _join_words(words: list[str]) -> str:
    """Join words into a text in which no word is a part of another one, so that a search takes time in step with both texts."""
    return f" {' '.join(words)} "


def find_leak(query: str, value: Any, removed_text: str, common: Iterable[str] = ()) -> str:
    """Find what in `query` still gives a removed value away.

    The value, its parts of three letters or digits and more, the removed text and its words must be gone. Words that say what kind of thing
    is asked for ("the airport") may stay: they are the ones the tool's own description uses, given as `common`, and never a name or number.

    Returns:
        The revealing words, or an empty string.
    """
    if mentions(query, value, [removed_text] if removed_text.strip() else []):
        return removed_text if removed_text and mentions(query, removed_text) else str(value)
    left = set(tokens(query))
    described = {stem(word) for text in common for word in tokens(text)}
    parts = {part for text in _texts(value) for part in tokens(text)}
    for part in sorted(parts):
        if len(part) >= _SHORTEST_PART and part in left and stem(part) not in STOP:
            return part
    words: list[str] = _TOKEN.findall(removed_text)
    for word in words:
        (plain,) = tokens(word) or [""]
        named = word[0].isdigit() or word[0].isupper()
        if len(plain) >= _SHORTEST_PART and plain in left and stem(plain) not in STOP and (named or stem(plain) not in described):
            return word
    return ""


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [text for item in value for text in _texts(item)]
    return [] if value is None or isinstance(value, bool) else [str(value)]
