"""Numbers as people write them in an answer, and whether one of them states a value."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal, InvalidOperation

__all__ = ["WrittenNumber", "number_is_stated", "written_numbers"]

_SCALES = {"thousand": 3, "million": 6, "billion": 9, "bn": 9, "trillion": 12}
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_SUPERSCRIPT_RUN = re.compile(r"[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_DASHES = str.maketrans({"\u2212": "-", "\u2010": "-", "\u2011": "-", "\u2013": "-", "\u2014": " - "})
_GROUP_SPACE = re.compile(r"(?<=\d)[\u00a0\u202f\u2009'\u2019_](?=\d{3}(?!\d))")
_DATE_OR_TIME = re.compile(r"(?<!\d)(?:\d{1,4}([-/.])\d{1,2}\1\d{1,4}|\d{1,2}:\d{2}(?::\d{2})?)(?!\d)")
_NUMBER = re.compile(
    r"""
    (?<![\w#^])(?<!\d[.:])(?<![^\W\d_]-)              # not the tail of a word, a version, a time, "B-52"
    (?P<sign>[-+](?=[\d.]))?
    (?P<digits>\d{1,3}(?:,\d{3})+(?!\d)|\d{1,2}(?:,\d{2})+,\d{3}(?!\d)|\d+|(?<!\w)(?=\.\d))
    (?P<fraction>\.\d+)?
    (?!\d)(?!\.\d)(?!:\d)(?![A-DF-Za-df-z]+\d)
    (?:e(?P<exponent>[-+]?\d{1,3})(?!\w)|\s*[x*\u00d7\u00b7]\s*10\s*(?:\^|\*\*)\s*[{(]?(?P<power>[-+]?\d{1,3}))?
    (?:\s*(?P<scale>thousand|million|billion|bn|trillion)\b)?
    (?P<south>\s*(?:\u00b0|deg(?:rees?)?)?\s*(?:[SW]|[Ss]outh|[Ww]est)\b)?
    """,
    re.VERBOSE,
)
_CONTEXT = Context(prec=60)


@dataclass(frozen=True, slots=True)
class WrittenNumber:
    """A number found in a text."""

    value: Decimal
    step: int
    """Power of ten of its last digit: -2 for 17.46, 6 for "3 million"."""
    significant: int
    """Digits it was written with, leading zeros not counted."""


def written_numbers(text: str) -> list[WrittenNumber]:
    """Find the numbers in a text: signs, thousands separators, exponents, "1.2 million", "21.2° S" (also as its negative).

    Digits inside words, versions, clock times and numeric dates are no numbers of their own.

    >>> [str(number.value) for number in written_numbers("17.5 km in 1,234 steps, A7, 14:30, v1.2.3")]
    ['17.5', '1234']
    """
    text = _SUPERSCRIPT_RUN.sub(lambda match: "^" + match[0].translate(_SUPERSCRIPTS), text)
    text = _GROUP_SPACE.sub("", text.translate(_DASHES))
    text = _DATE_OR_TIME.sub(" ", unicodedata.normalize("NFKC", text))
    found: list[WrittenNumber] = []
    for match in _NUMBER.finditer(text):
        digits = match["digits"].replace(",", "") + (match["fraction"] or "")
        scale = int(match["exponent"] or match["power"] or 0) + _SCALES.get(match["scale"] or "", 0)
        value = Decimal(digits).scaleb(scale, _CONTEXT)
        step = scale - max(0, len(match["fraction"] or "") - 1)
        significant = len(digits.replace(".", "").lstrip("0"))
        found.append(WrittenNumber(-value if match["sign"] == "-" else value, step, significant))
        if match["south"]:
            found.append(WrittenNumber(-value, step, significant))
    return found


def number_is_stated(value: int | float | Decimal, numbers: Iterable[WrittenNumber]) -> bool:
    """Tell whether one of `numbers` states `value`: exactly, or rounded to its own last digit with at least three significant digits.

    >>> number_is_stated(17.4567, written_numbers("about 17.46")), number_is_stated(17.4567, written_numbers("about 17"))
    (True, False)
    """
    # A float that is the result of arithmetic carries noise in its last digits.
    forms = {Decimal(repr(value)), Decimal(f"{value:.12g}")} if isinstance(value, float) else {Decimal(value)}
    return any(_states(number, form) for number in numbers for form in forms if form.is_finite())


def _states(number: WrittenNumber, value: Decimal) -> bool:
    if number.value == value:
        return True
    if number.significant < 3:
        return False
    try:
        quantum = Decimal(1).scaleb(number.step, _CONTEXT)
        rounded = {value.quantize(quantum, rounding, _CONTEXT) for rounding in (ROUND_HALF_EVEN, ROUND_HALF_UP)}
    except InvalidOperation:
        return False
    return number.value in rounded
