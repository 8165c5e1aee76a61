"""Spellings of months, units, currencies and countries in many languages: a table made from Unicode's CLDR by scripts/make_spellings.py."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

_MARK = r"[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u064b-\u065f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
MANY_MARKS = re.compile(f"({_MARK}{{8}}){_MARK}+")
"""More marks on one letter than any language writes: to order them takes Python quadratic time."""
_LATIN_MARKS = re.compile("[\u0300-\u036f\u200b-\u200f\u2060\ufeff]")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_SUPERSCRIPT_RUN = re.compile(r"[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_DASHES = str.maketrans({"\u2212": "-", "\u2010": "-", "\u2011": "-", "\u2013": "-", "\u2014": " - "})
_GROUP_SPACE = re.compile(r"(?<=\d)[\u00a0\u202f\u2009'\u2019_](?=\d{3}(?!\d))")
_MARKUP = re.compile(
    r"</?(?:b|i|em|strong|sup|sub|code|p|br|li|ul|ol|span)\b[^<>]{0,40}>|\*\*+|__+|`+|"
    r"\\[,;!()\[\] ]|\\(?=%)|(?<![\w*])\*(?=\w)|(?<=[\w.,:;)])\*(?![\w*])"
)
_TEX_TEXT = re.compile(r"\\(?:text|mathrm|mathbf|mathit|textbf|operatorname)\{([^{}]{0,60})\}")
_BETWEEN_SCRIPTS = re.compile(
    r"(?<=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f])(?=[\dA-Za-z])|(?<=[\dA-Za-z])(?=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f])"
)
_FRACTIONS = {"¼": ".25", "½": ".5", "¾": ".75"}
_FRACTION = re.compile(r"((?<!\d)\d+)? ?([¼½¾])")
_GLUED = re.compile(r"(?<![\w-])[A-Z]{3}(?=\d[\d.,]*(?![\w-]))")
_SPACES = re.compile(r"[^\S\n]+")
_LINES = re.compile(r" ?(?:\n ?)+")
_SYMBOLS = {
    "€": "EUR", "£": "GBP", "¥": "JPY CNY", "$": "USD CAD AUD NZD HKD SGD MXN", "us$": "USD", "c$": "CAD", "ca$": "CAD", "a$": "AUD",
    "hk$": "HKD", "r$": "BRL", "zł": "PLN", "₺": "TRY", "₹": "INR", "₩": "KRW", "₽": "RUB", "₫": "VND", "kr": "NOK SEK DKK ISK",
}  # fmt: skip


@cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = json.loads(files("talm_sim.language.facts").joinpath("spellings.json").read_text(encoding="utf-8"))
    return table


def fold_word(text: str) -> str:
    """Return a word in the form in which it is compared: without case and accents."""
    text = unicodedata.normalize("NFKC", text if text.isascii() else MANY_MARKS.sub(r"\1", text)).casefold()
    return text if text.isascii() else unicodedata.normalize("NFKC", _LATIN_MARKS.sub("", unicodedata.normalize("NFD", text)))


def normalize_answer(text: str) -> str:
    """Return an answer without markup, with plain dashes, digits and spaces; everything else reads this form, so that places in it agree.

    >>> normalize_answer("**7.18**\u00a0: 1,  10⁻⁸, 3256メートル")
    '7.18 : 1, 10^-8, 3256 メートル'
    """
    text = _FRACTION.sub(lambda match: f"{match[1] or 0}{_FRACTIONS[match[2]]}", MANY_MARKS.sub(r"\1", text))
    text = _SUPERSCRIPT_RUN.sub(lambda match: "^" + match[0].translate(_SUPERSCRIPTS), text)
    text = _GROUP_SPACE.sub("", text.translate(_DASHES))
    text = _LATIN_MARKS.sub("", unicodedata.normalize("NFKC", text))
    if not text.isascii():
        text = "".join(str(unicodedata.digit(char)) if char.isdecimal() and not char.isascii() else char for char in text)
    text = _MARKUP.sub("", _TEX_TEXT.sub(r"\1", text)).replace("\\times", "×").replace("\\cdot", "·").replace("^\\circ", "°")
    text = _GLUED.sub(lambda match: f"{match[0]} " if match[0].casefold() in _table()["currencies"] else match[0], text)
    return _LINES.sub("\n", _SPACES.sub(" ", _BETWEEN_SCRIPTS.sub(" ", text)))


def month_of(word: str) -> int | None:
    """Return the month a word names in any language of the table: `septiembre` is 9."""
    month = _table()["months"].get(fold_word(word).rstrip("."))
    return int(month) if month else None


def scale_of(word: str) -> int | None:
    """Return the power of ten of a word such as `Millionen`."""
    power = _table()["scales"].get(fold_word(word).rstrip("."))
    return int(power) if power else None


def spelled_unit(word: str) -> str:
    """Return the unit that a word names in any language of the table, or nothing."""
    unit: str = _table()["units"].get(fold_word(word), "")
    return unit


def currencies_of(word: str) -> str:
    """Return the currencies that a word may name, separated by spaces, or nothing: `kr` is `NOK SEK DKK ISK`."""
    table, word = _table(), fold_word(word)
    money: str = _SYMBOLS.get(word) or table["currencies"].get(word) or table["common_currencies"].get(word) or ""
    return money


def country_of(words: str) -> str:
    """Return the code of the country that words without case and accents name, or nothing."""
    code: str = _table()["countries"].get(words, "")
    return code


def words_for(value: str) -> frozenset[str]:
    """Return how all languages of the table write the country, currency or unit that a value names, without case and accents.

    >>> "ba lan" in words_for("Poland"), words_for("Lublin")
    (True, frozenset())
    """
    by_kind = (_words_by_meaning(kind).get(meaning, ()) for meaning, kind in _meanings(value))
    return frozenset(word for words in by_kind for word in words)


def meanings_of(value: str) -> tuple[str, ...]:
    """Return the code of the country or currency, or the name of the unit, that a value names; several if it names several.

    >>> meanings_of("metres"), meanings_of("Italy"), meanings_of("Lublin")
    (('meter',), ('IT',), ())
    """
    return tuple(dict.fromkeys(meaning for meaning, _ in _meanings(value)))


def _meanings(value: str) -> Iterator[tuple[str, str]]:
    """Yield what a value means, each with the kind."""
    for kind, key in (("countries", _without_marks(value)), ("currencies", fold_word(value)), ("units", fold_word(value))):
        words = _words_by_meaning(kind)
        yield from ((one, kind) for one in dict.fromkeys((value, _table()[kind].get(key, value))) if one in words)


def _without_marks(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", fold_word(text)))


@cache
def _words_by_meaning(kind: str) -> Mapping[str, Sequence[str]]:
    words: dict[str, list[str]] = {}
    for word, meaning in _table()[kind].items():
        words.setdefault(meaning, []).append(word)
    return words
