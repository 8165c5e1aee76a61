"""Read numbers as people write them in an answer, and decide whether one of them states a value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal, InvalidOperation

from talm_sim.language.facts.cldr_spellings import convert, normalize_answer, scale_of, unit_of

_POINT = frozenset({"en", "ja", "zh", "other"})
"""Languages that write a decimal point; `other`, for scripts that are not read, because most of them do."""
_COMMA_FOR_SURE = re.compile(r"(?<![\d.,])\d{1,3}(?:[. ]\d{3}){1,6},\d+(?![\d.,]\d)|(?<![\d.,])\d+,(?:\d{1,2}|\d{4,})(?![\d]|[.,]\d)")
_POINT_FOR_SURE = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?:\.\d+)(?![\d.,]\d)|(?<![\d.,])\d{1,3}(?:,\d{3}){2,}(?![\d.,]\d)")
_DATE_OR_TIME = re.compile(r"(?<!\d)(?:\d{1,4}([-/.])\d{1,2}\1\d{1,4}|\d{1,2}:\d{2}(?::\d{2})?)(?!\d)")
_LIST_MARK = re.compile(r"^ ?\d{1,2}[.)](?= [^\d\s])", re.MULTILINE)
_FORM = r"""
    (?<![0-9A-Za-z_\#^\u00c0-\u024f])(?<!\d[.:])(?<![^\W\d_]-)   # not the tail of a word, a version, a time, "B-52"
    (?P<sign>[-+](?=[\d.]))?
    (?P<digits>%s)
    (?P<fraction>%s\d+)?
    (?!\d)(?!\.\d)(?!:\d\d)(?![A-DF-Za-df-z]+\d)
    (?:e(?P<exponent>[-+]?\d{1,3})(?!\w)|\ ?[x*\u00d7\u00b7]\ ?10(?:\ ?(?:\^|\*\*)\ ?[{(]?(?P<power>[-+]?\d{1,3})[})]?))?
"""
_NUMBER = {
    ".": re.compile(
        _FORM % (r"\d{1,3}(?:,\d{3})+(?!\d)|\d{1,2}(?:,\d{2}){1,6},\d{3}(?!\d)|[1-9]\d{0,2}(?:\ \d{3})+(?![\d:])|\d+|(?<!\w)(?=\.\d)", r"\."),
        re.VERBOSE,
    ),
    ",": re.compile(_FORM % (r"\d{1,3}(?:\.\d{3})+(?!\d)|[1-9]\d{0,2}(?:\ \d{3})+(?![\d:])|\d+|(?<!\w)(?=,\d)", "[.,]"), re.VERBOSE),
}
_SCALE = re.compile(r" ?([^\W\d_]+)\b\.?")
_LETTER_SCALES = {"k": 3, "K": 3, "M": 6, "B": 9}
_AFTER = re.compile(r"(?: ?-)? ?([^\s\d,;:()\[\]=<>|\"!?]{1,24}(?: [^\s\d,;:()\[\]=<>|\"!?]{1,24}){0,3})")
_BEFORE = re.compile(r"(?:^|[\s(])((?:[A-Za-z]{0,3}[$€£¥₺₹₩₽₫]|[A-Z]{3})) ?$")
_SOUTH = re.compile(
    r" ?(?:°|deg(?:rees?)?)? ?(?:(?-i:[SWO])|south|west|süd\w*|sud|sur|sul|ouest|oeste|ovest|westlich\w*|südlich\w*)\b", re.IGNORECASE
)
_DEGREES_SOUTH = re.compile(r"(?:南緯|西経|南纬|西经) ?$")
_LONGEST = 60
"""Digits of a number that may still be a value."""
_TOGETHER = re.compile(r" ?[^\W\d_]{1,8}\.?(?: |, | and | und | et | y | e )?")
_CONTEXT = Context(prec=60)


_MINUS = re.compile(r"(?<![\d)%])(?<![\d)%] )\b(?:minus|negative) \Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class WrittenNumber:
    """A number found in a text."""

    value: Decimal
    step: int
    """Power of ten of its last digit: -2 for 17.46, 6 for "3 million"."""
    significant: int
    """Digits it was written with, leading zeros not counted."""
    start: int = 0
    end: int = 0
    """Its place in the cleaned text, without its unit."""
    unit: str = ""
    """Its unit, or the currencies it may be in; empty if none is written or it is not known."""


def find_numbers(text: str, language: str = "en") -> list[WrittenNumber]:
    """Find the numbers in a text: signs, separators of thousands, exponents, "1.2 million", "21.2° S" (negative), and their units.

    The text, or else its language, decides whether a comma or a point is the decimal sign. If a number can be read in two ways, both are
    listed. Digits inside words, versions, clock times and numeric dates do not count as numbers.

    >>> [str(number.value) for number in find_numbers("17.5 km in 1,234 steps, A7, 14:30, v1.2.3")]
    ['17.5', '1234']
    >>> [str(number.value) for number in find_numbers("12.640,62 Kronen und 12,005", "de")]
    ['12640.62', '12.005', '12005']
    """
    text = normalize_answer(text)
    text = _DATE_OR_TIME.sub(lambda match: " " * len(match[0]), text)
    text = _LIST_MARK.sub(lambda match: " " * len(match[0]), text)
    mark = "," if language not in _POINT else "."
    if _COMMA_FOR_SURE.search(text) and not _POINT_FOR_SURE.search(text):
        mark = ","
    elif _POINT_FOR_SURE.search(text) and not _COMMA_FOR_SURE.search(text):
        mark = "."
    numbers = [number for match in _NUMBER[mark].finditer(text) for number in _readings(match, mark, language not in _POINT)]
    return _join_compound(numbers, text)


def is_negated(text: str, start: int) -> bool:
    """Return whether a written minus precedes a number; after another number it means subtraction.

    >>> is_negated("minus 3", 6), is_negated("10 minus 3", 9)
    (True, False)
    """
    return _MINUS.search(text, max(0, start - 24), start) is not None


def _join_compound(numbers: list[WrittenNumber], text: str) -> list[WrittenNumber]:
    """Combine what is written in two units: "7 h 35 min", "5 ft 10 in". The parts do not count as numbers."""
    kept: list[WrittenNumber] = []
    for number in numbers:
        last = kept[-1] if kept else None
        if last and last.unit and number.unit and last.unit != number.unit and 0 < number.start - last.end <= 14:
            small, whole = convert(1.0, last.unit, number.unit), convert(float(last.value), last.unit, number.unit)
            between = _TOGETHER.fullmatch(text, last.end, number.start)
            if between and small and whole is not None and 1 < small <= 100 and 0 <= number.value < Decimal(repr(small)):
                value = Decimal(f"{whole:.12g}") + number.value
                kept[-1] = WrittenNumber(value, number.step, max(3, len(str(value))), last.start, number.end, number.unit)
                continue
        kept.append(number)
    return kept


def _readings(match: re.Match[str], mark: str, foreign: bool) -> Iterator[WrittenNumber]:
    text = match.string
    whole, fraction = re.sub("[., ]", "", match["digits"]), (match["fraction"] or "")[1:]
    if len(whole) + len(fraction) > _LONGEST:
        return
    forms = [(whole, fraction)]
    if foreign and re.fullmatch(r"\d{1,3}[.,]\d{3}", match["digits"] + (match["fraction"] or "")):
        # In a language with a decimal comma models write both signs, and three digits may be either.
        both = [(whole[:-3], whole[-3:])] if not fraction else [(whole + fraction, "")]
        forms += both if whole + fraction != "0" else []
    end, power = match.end(), int(match["exponent"] or match["power"] or 0)
    scaled = []
    letter = text[end : end + 1]
    if letter in _LETTER_SCALES and not text[end + 1 : end + 2].isalnum():
        scaled.append((power + _LETTER_SCALES[letter], end + 1))
        if letter == "K":
            scaled.append((power, end))
    else:
        word = _SCALE.match(text, end, end + 24)
        more = scale_of(word[1]) if word and len(word[1]) > 1 else None
        scaled.append((power + (more or 0), word.end(1) if word and more else end))
    for scale, stop in scaled:
        unit = _unit(text, match.start(), stop)
        south = _SOUTH.match(text, stop, stop + 24) if "°" in text[stop : stop + 3] or text[stop : stop + 2].strip() in {"S", "W"} else None
        south = south or _SOUTH.match(text, stop, stop + 16) if re.match(r" ?(?:deg|south|west)", text[stop : stop + 6]) else south
        degrees_south = _DEGREES_SOUTH.search(text[max(0, match.start() - 4) : match.start()])
        negative = match["sign"] == "-" or bool(south) or bool(degrees_south) or is_negated(text, match.start())
        for before, behind in forms:
            value = Decimal((before or "0") + ("." + behind if behind else "")).scaleb(scale, _CONTEXT)
            digits = (before + behind).lstrip("0")
            yield WrittenNumber(-value if negative else value, scale - len(behind), len(digits), match.start(), stop, unit)


def _unit(text: str, start: int, end: int) -> str:
    """Return the unit after a number, or the currency before it."""
    behind = _AFTER.match(re.sub(r"° (?=[CFK]\b)", "°", text[end : end + 90]))
    if behind:
        words = re.sub(r"/c\^?\{?2?\}?", "", behind[1]).split(" ")
        for count in range(len(words), 0, -1):
            unit = unit_of(" ".join(words[:count]).rstrip(".'’*_").removesuffix("'s")) or unit_of(" ".join(words[:count]).strip(".*_/"))
            if unit:
                return unit
    before = _BEFORE.search(text[max(0, start - 6) : start])
    return unit_of(before[1]) if before else ""


def states_number(number: WrittenNumber, value: int | float | Decimal, unit: str = "", least: int = 3) -> bool:
    """Return whether a number states a value that is in `unit`; one without a unit is assumed to be in it.

    Args:
        number: The number found.
        value: The value.
        unit: The value's unit as people write it; for a number in another unit the value is converted.
        least: Digits from which on a rounded number states the value.
    """
    wanted = unit_of(unit)
    if (
        wanted == "percent"
        and not number.unit
        and _states_value(number, Decimal(repr(value)) / 100 if isinstance(value, float) else Decimal(value) / 100, least)
    ):
        return True
    # A float from arithmetic has noise in its last digits.
    forms = {Decimal(repr(value)), Decimal(f"{value:.12g}")} if isinstance(value, float) else {Decimal(value)}
    if not all(form.is_finite() for form in forms):
        return False
    if wanted and number.unit and number.unit not in {wanted, "degree"}:
        if set(wanted.split()) & set(number.unit.split()):
            return any(_states_value(number, form, least) for form in forms)
        converted = convert(float(value), wanted, number.unit)
        if converted is None:
            return False
        # The value itself may be rounded, so that the last digit of another unit is uncertain.
        near = number.significant >= 3 and abs(number.value - Decimal(repr(converted))) <= Decimal(1).scaleb(number.step, _CONTEXT)
        return near or _states_value(number, Decimal(repr(converted)), least)
    return any(_states_value(number, form, least) for form in forms)


def is_more_exact(number: WrittenNumber, value: int | float | Decimal, unit: str = "") -> bool:
    """Return whether a number gives more decimals than a value, and gives the value when it is rounded to the value's own.

    The value must have decimals and three digits: a tool rounds 17.4567 to 17.46, but nothing tells that 17 was rounded. An amount of money
    is exact to the hundredth.

    >>> is_more_exact(find_numbers("17.4567")[0], 17.46), is_more_exact(find_numbers("17.4567")[0], 17)
    (True, False)
    """
    wanted = unit_of(unit)
    given = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    same_unit = not wanted or not number.unit or bool(set(wanted.split()) & set(number.unit.split()))
    if not given.is_finite() or given == given.to_integral_value() or not same_unit:
        return False
    digits, exponent = given.normalize(_CONTEXT).as_tuple()[1:]
    if len(digits) < 3 or not isinstance(exponent, int):
        return False
    step = min(exponent, -2) if wanted.isupper() else exponent  # codes of currencies alone are capitals
    if number.step >= step:
        return False
    try:
        return number.value.quantize(Decimal(1).scaleb(step, _CONTEXT), ROUND_HALF_UP, _CONTEXT) == given
    except InvalidOperation:
        return False


def _states_value(number: WrittenNumber, value: Decimal, least: int) -> bool:
    if number.value == value:
        return True
    if number.significant < least:
        return False
    try:
        quantum = Decimal(1).scaleb(number.step, _CONTEXT)
        rounded = {value.quantize(quantum, rounding, _CONTEXT) for rounding in (ROUND_HALF_EVEN, ROUND_HALF_UP)}
    except InvalidOperation:
        return False
    return number.value in rounded
