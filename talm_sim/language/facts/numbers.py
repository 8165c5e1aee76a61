"""Read numbers as people write them in an answer, and decide whether one of them states a value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal, InvalidOperation

from talm_sim.language.facts.cldr_spellings import currencies_of, normalize_answer, scale_of
from talm_sim.language.facts.names import ONES, TENS, Words
from talm_sim.language.facts.units import convert, is_ordinary, unit_of

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
_SIGN = r"(?:[^\s\d,;:()\[\]=<>|\"!?]|(?<=\^)[-\d]|(?<=[a-z])[23](?![\d.]))"
_AFTER = re.compile(rf"(?: ?-)? ?({_SIGN}{{1,24}}(?: {_SIGN}{{1,24}}){{0,3}})")
_BEFORE = re.compile(r"(?:^|[\s(|~\[/-])((?:[A-Za-z]{0,3}[$€£¥₺₹₩₽₫]|[A-Z]{3})) ?-?$")
_SIGNED = re.compile(r"(?<![\w%)])- ?(?:[A-Za-z]{0,3}[$€£¥₺₹₩₽₫]|[A-Z]{3}) ?$")
_IN_BRACKETS = re.compile(r"\((?:[A-Za-z]{0,3}[$€£¥₺₹₩₽₫]|[A-Z]{3})? ?$")
_PER = re.compile(r" ?(?:/|\bper\b|\ban?\b|\beach\b|\bthe\b) ?(?P<count>10{1,3}(?!\d))? ?(?P<of>[^\W\d_]{1,12}(?:\^?\d)?)(?![^\W\d_])")
_IN = re.compile(r" ?-?in\b(?! ?(?:[.,;:)|x×\n]|$|by\b|wide|high|long|tall|deep|thick|across|diameter|of rain|of snow))")
"""The word `in` behind a number, where it is hardly an inch."""
_SOUTH = re.compile(
    r" ?(?:(?:°|deg(?:rees?)?) ?(?:(?-i:[SWO])|south|west|süd\w{0,12}|sud|sur|sul|ouest|oeste|ovest|westlich\w{0,9})|(?-i:[SW])|south|west)\b",
    re.IGNORECASE,
)
_DEGREES_SOUTH = re.compile(r"(?:南緯|西経|南纬|西经) ?$")
_LONGEST = 60
"""Digits of a number that may still be a value."""
_TOGETHER = re.compile(r" ?[^\W\d_]{1,8}\.?(?: |, | and | und | et | y | e )?")
_CONTEXT = Context(prec=60)


_MONEY = re.compile(r" ?(?:[€£$]|euros?\b|EUR\b|CHF\b)", re.IGNORECASE)
_MINUS = re.compile(
    r"(?<![\d)%])(?<![\d)%] )\b(?:minus|negative|overdrawn by|in the red by|in debt (?:by|of)|(?:deficit|loss|debt|overdraft) of)"
    r" (?:about |around |a )?(?:[A-Za-z]{0,3}[$€£¥₺₹₩₽₫] ?|[A-Z]{3} )?\Z",
    re.IGNORECASE,
)
_FELL = re.compile(
    r"\b(?:(?:fell|fallen|dropped|decreased|declined|shrank|down|reduced|lost|lower)(?: by)?) (?:about |around )?[$€£]? ?\Z", re.IGNORECASE
)
_BELOW = re.compile(r" ?(?:\S{1,12} ){0,3}?(?:below (?:zero|freezing|0|sea level)|under zero|overdrawn|in the red|in debt)\b", re.IGNORECASE)


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
    unknown: str = ""
    """The word behind it, if that is no word of English and no unit that is known."""


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


_DIGITS = {word: number for number, word in enumerate(ONES)} | {word: 10 * number for number, word in enumerate(TENS) if number > 1}
_LARGE = {"thousand": 1000, "million": 1_000_000, "billion": 1_000_000_000}
_PARTS = {"half": Decimal("0.5"), "quarter": Decimal("0.25"), "quarters": Decimal("0.75")}


def find_spelled_numbers(text: str, words: Words) -> list[WrittenNumber]:
    """Find the numbers that an English text writes in words, with their units: "two and a quarter hours", "half an hour".

    >>> text = "It took three hours and thirty-five minutes, or two and a half days less."
    >>> [(str(one.value), one.unit) for one in find_spelled_numbers(text, Words(text))]
    [('215', 'minute'), ('2.5', 'day')]
    """
    found, at, said = [], 0, words.words
    while at < len(said):
        value, last = _spelled_at(said, at)
        if value is None:
            at += 1
            continue
        start, end = words.spans[at][0], words.spans[last - 1][1]
        unit, _, unknown = _unit(text, start, end, foreign=False)
        if unit and said[last + 1 : last + 3] == ["and", "a"] and said[last + 3 : last + 4] and said[last + 3] in _PARTS:
            value, last = value + _PARTS[said[last + 3]], last + 4
        value = -value if is_negated(text, start) or _BELOW.match(text, end, end + 40) else value
        exponent = value.normalize().as_tuple().exponent
        found.append(WrittenNumber(value, min(0, int(exponent)), 1, start, end, unit, unknown))
        at = last
    return _join_compound(found, text)


_RATIO = re.compile(
    rf"\b(\d+|{'|'.join(ONES[1:11])}) (?:out of|in|of)(?: every)? (\d+|{'|'.join(ONES[1:11])})\b"
    r"|\b(?:(a|one|two|three) )?(half|thirds?|quarters?|fifths?|tenths?)\b",
    re.IGNORECASE,
)
_PARTS_OF = {"half": 2, "third": 3, "quarter": 4, "fifth": 5, "tenth": 10}


def find_ratios(text: str) -> Iterator[WrittenNumber]:
    """Find shares in words: "3 out of 4", "three quarters", "one in five"."""
    for match in _RATIO.finditer(text):
        above, below = ((match[3] or "a").lower(), match[4].lower()) if match[4] else (match[1].lower(), match[2].lower())
        part = 1 if above == "a" else int(above) if above.isdigit() else _DIGITS.get(above)
        whole = _PARTS_OF.get(below.rstrip("s")) if match[4] else int(below) if below.isdigit() else _DIGITS.get(below)
        if part is not None and whole and part < whole:
            share = (Decimal(part) / whole).quantize(Decimal("0.001")).normalize()
            yield WrittenNumber(share, int(share.as_tuple().exponent), 3 if whole % 3 == 0 else 1, *match.span())


def _spelled_at(said: Sequence[str], at: int) -> tuple[Decimal | None, int]:
    """Return the number that the words from a place on spell, and where it ends; None if they spell none."""
    if said[at] in {"a", "an"} and said[at + 2 : at + 4] == ["and", "a"] and unit_of(said[at + 1]):
        return Decimal(1), at + 1
    total, current, first, small = Decimal(0), Decimal(0), at, 100
    while at < len(said):
        word = said[at]
        if word in _DIGITS and _DIGITS[word] < small and (small == 100 or _DIGITS[word] < 10 or small > 100):
            current += _DIGITS[word]
            small = 10 if _DIGITS[word] >= 20 else 0
        elif word == "hundred" and (0 < current < 100 or (at > first and said[at - 1] == "a")):
            current, small = (current or Decimal(1)) * 100, 100
        elif word == "dozen":
            return (current or Decimal(1)) * 12, at + 1
        elif word in _LARGE and (current or (at > first and said[at - 1] == "a")):
            total, current, small = total + (current or Decimal(1)) * _LARGE[word], Decimal(0), 100
        elif not (
            word == "a"
            and at == first
            and said[at + 1 : at + 2]
            and said[at + 1] in {"hundred", "thousand", "million", "dozen", "half", "quarter"}
        ) and not (word == "and" and at > first and small == 100 and said[at + 1 : at + 2] and said[at + 1] in _DIGITS):
            break
        at += 1
    if at > first and said[at : at + 2] in (["and", "a"], ["and", "three"]) and said[at + 2 : at + 3] and said[at + 2] in _PARTS:
        return total + current + _PARTS[said[at + 2]], at + 3
    if at == first and said[at] == "half" and said[at + 1 : at + 2] in (["a"], ["an"]):
        return Decimal("0.5"), at + 2
    if at == first + 1 and said[first] == "a":
        return (_PARTS[said[at]], at + 1) if said[at : at + 1] and said[at] in _PARTS else (None, first + 1)
    return (total + current, at) if at > first else (None, first + 1)


def is_negated(text: str, start: int) -> bool:
    """Return whether a written minus precedes a number; after another number it means subtraction.

    >>> is_negated("minus 3", 6), is_negated("10 minus 3", 9)
    (True, False)
    """
    return _MINUS.search(text, max(0, start - 40), start) is not None


def _join_compound(numbers: list[WrittenNumber], text: str) -> list[WrittenNumber]:
    """Combine what is written in two units: "7 h 35 min", "5 ft 10 in". The parts do not count as numbers."""
    kept: list[WrittenNumber] = []
    for number in numbers:
        last = kept[-1] if kept else None
        if last and last.unit and number.unit and last.unit != number.unit and 0 < number.start - last.end <= 14:
            small, whole = convert(1.0, last.unit, number.unit), convert(float(last.value), last.unit, number.unit)
            between = _TOGETHER.fullmatch(text, last.end, number.start)
            if between and small and whole is not None and 1 < small <= 1000 and 0 <= number.value < Decimal(repr(small)):
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
    money = _BEFORE.search(text[max(0, match.start() - 6) : match.start()]) or _MONEY.match(text, match.end(), match.end() + 6)
    if not foreign and money and re.fullmatch(r"\.\d{3}", match["fraction"] or "") and whole != "0":
        forms.append((whole + fraction, ""))  # as others than Americans and Britons write a thousand
    end, power = match.end(), int(match["exponent"] or match["power"] or 0)
    scaled = []
    letter = text[end : end + 1].upper() if money and text[end : end + 1] in {"m", "b"} else text[end : end + 1]
    if letter in _LETTER_SCALES and not text[end + 1 : end + 2].isalnum():
        scaled.append((power + _LETTER_SCALES[letter], end + 1))
        if letter == "K":
            scaled.append((power, end))
    else:
        word = _SCALE.match(text, end, end + 24)
        more = scale_of(word[1]) if word and len(word[1]) > 1 else None
        scaled.append((power + (more or 0), word.end(1) if word and more else end))
    for scale, stop in scaled:
        unit, tenths, unknown = _unit(text, match.start(), stop, foreign=foreign)
        before_it = text[max(0, match.start() - 8) : match.start()]
        negative = match["sign"] == "-" or bool(_SOUTH.match(text, stop) or _DEGREES_SOUTH.search(before_it) or _SIGNED.search(before_it))
        negative = negative or is_negated(text, match.start()) or _BELOW.match(text, stop, stop + 40) is not None
        booked = _IN_BRACKETS.search(before_it) and re.match(r" ?(?:[$€£]|[A-Z]{3})?\)", text[stop : stop + 6])
        booked = booked or _FELL.search(text, max(0, match.start() - 24), match.start())
        for before, behind in forms:
            value = Decimal((before or "0") + ("." + behind if behind else "")).scaleb(scale - tenths, _CONTEXT)
            digits, step = (before + behind).lstrip("0"), scale - tenths - len(behind)
            for one in {-value if negative else value, *([-value] if booked else [])}:
                yield WrittenNumber(one, step, len(digits), match.start(), stop, unit, unknown)


def _unit(text: str, start: int, end: int, *, foreign: bool) -> tuple[str, int, str]:
    """Return the unit after a number, or the currency before it; by which power of ten it is of more than one; a word that may be a unit."""
    before = _BEFORE.search(text[max(0, start - 6) : start])
    money = currencies_of(before[1]) if before else ""
    unit, stop, unknown = ("", end, "") if _IN.match(text, end, end + 20) else _unit_behind(text, end, foreign=foreign)
    if money and not (unit.isupper() or unit in {"cent", "penny"}):
        unit, stop, unknown = money, end, ""
    per = _PER.match(text, stop, stop + 30) if unit and "/" not in unit else None
    of = unit_of(per["of"]) if per else ""
    return (f"{unit}/{of}", len(per["count"] or "1") - 1, unknown) if per and of and " " not in of else (unit, 0, unknown)


def _unit_behind(text: str, end: int, *, foreign: bool) -> tuple[str, int, str]:
    if not (behind := _AFTER.match(re.sub(r"° (?=[CFK]\b)", "°", text[end : end + 90]))):
        return "", end, ""
    words = re.sub(r"/c\^?\{?2?\}?", "", behind[1]).split(" ")
    for count in range(len(words), 0, -1):
        said = " ".join(words[:count])
        unit = unit_of(said.rstrip(".'’*_").removesuffix("'s").removesuffix("-old")) or unit_of(said.strip(".*_/"))
        if unit:
            return unit, end + behind.start(1) + len(said.rstrip(".'’*_")), ""
    word = words[0].strip(".'’*_/-")
    return "", end, "" if foreign or not word or is_ordinary(word) or not word[0].isalpha() else word


def states_number(number: WrittenNumber, value: int | float | Decimal, unit: str = "", least: int = 3) -> bool:
    """Return whether a number states a value that is in `unit`; one without a unit is assumed to be in it.

    Args:
        number: The number found.
        value: The value.
        unit: The value's unit as people write it; for a number in another unit the value is converted.
        least: Digits from which on a rounded number states the value.
    """
    wanted = unit_of(unit)
    if not wanted and number.unit.partition("/")[0] == "percent" and isinstance(value, float) and 0 < abs(value) < 1:
        value, unit = float(f"{value * 100:.12g}"), ""
    elif (
        wanted == "percent"
        and not number.unit
        and _states_value(number, Decimal(repr(value)) / 100 if isinstance(value, float) else Decimal(value) / 100, least)
    ):
        return True
    # A float from arithmetic has noise in its last digits.
    forms = {Decimal(repr(value)), Decimal(f"{value:.12g}")} if isinstance(value, float) else {Decimal(value)}
    if not all(form.is_finite() for form in forms):
        return False
    if wanted and number.unit and (wanted == "degree" or number.unit != "degree") and not _is_same_measure(number.unit, wanted):
        if set(wanted.partition("/")[0].split()) & set(number.unit.partition("/")[0].split()) and not ("/" in wanted and "/" in number.unit):
            return any(_states_value(number, form, least) for form in forms)
        if (converted := convert(float(value), wanted, number.unit)) is None:
            return False
        # The value itself may be rounded, so that the last digit of another unit is uncertain.
        off = abs(number.value - Decimal(repr(converted)))
        near = number.significant >= 3 and off <= Decimal(1).scaleb(number.step, _CONTEXT)
        near = near or (number.significant == 2 and 200 * off <= abs(number.value) and 2 * off <= Decimal(1).scaleb(number.step, _CONTEXT))
        return near or _states_value(number, Decimal(repr(converted)), least)
    return any(_states_value(number, form, least) for form in forms)


_COUNTED_BY = frozenset(["day", "week", "month", "year", "night", "hour", "minute"])


def _is_same_measure(unit: str, wanted: str) -> bool:
    """Return whether a quantity needs no other unit: `mg per day` gives milligrams, and `€ per night` gives euros."""
    above, _, below = unit.partition("/")
    goes = unit == wanted or (wanted == "degree" and unit in {"watt", "newton", "ohm"})  # of a coordinate: `21.2 W`
    return (
        goes
        or ("/" not in wanted and below != "" and above == wanted and (below in _COUNTED_BY or above[:3].isupper()))
        or ("/" in wanted and "/" not in unit and unit == wanted.partition("/")[0])
    )


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
