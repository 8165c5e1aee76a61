"""The languages that can be translated to: how each is recognized, and how it writes numbers and months."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from talm_sim.language.calendar_words import MONTHS, SHORT_MONTHS

ENGLISH = "en"

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")

_MONTH_OF = {name: number for number, name in enumerate(MONTHS, 1)} | SHORT_MONTHS
_MONTH = re.compile(rf"\b({'|'.join(sorted(_MONTH_OF, key=len, reverse=True))})\b\.?", re.IGNORECASE)
_DAY_BEFORE = re.compile(r"\d(?:st|nd|rd|th)?(?:\s+of)?[\s-]*$", re.IGNORECASE)
_NEAR = 20
"""Characters between a day and its month, at most."""
_DAY_AFTER = re.compile(r"[\s,-]*\d")
_IN_WORDS: Mapping[str, int] = {
    word: number
    for number, words in {
        0: "zero none",
        1: "one first once",
        2: "two second twice half halves pair",
        3: "three third thrice",
        4: "four fourth quarter",
        5: "five fifth",
        6: "six sixth",
        7: "seven seventh",
        8: "eight eighth",
        9: "nine ninth",
        10: "ten tenth",
        11: "eleven eleventh",
        12: "twelve twelfth dozen",
        15: "fifteen fifteenth",
        20: "twenty twentieth",
        30: "thirty thirtieth",
        100: "hundred hundredth",
        1000: "thousand thousandth",
    }.items()
    for word in words.split()
}
_THAI_MONTHS = {
    "มกราคม": 1, "กุมภาพันธ์": 2, "มีนาคม": 3, "เมษายน": 4, "พฤษภาคม": 5, "มิถุนายน": 6,
    "กรกฎาคม": 7, "สิงหาคม": 8, "กันยายน": 9, "ตุลาคม": 10, "พฤศจิกายน": 11, "ธันวาคม": 12,
    "ม.ค.": 1, "ก.พ.": 2, "มี.ค.": 3, "เม.ย.": 4, "พ.ค.": 5, "มิ.ย.": 6, "ก.ค.": 7, "ส.ค.": 8, "ก.ย.": 9, "ต.ค.": 10, "พ.ย.": 11, "ธ.ค.": 12,
}  # fmt: skip
_VIETNAMESE_MONTHS = {
    "tháng mười một": 11, "tháng mười hai": 12, "tháng giêng": 1, "tháng một": 1, "tháng hai": 2, "tháng ba": 3, "tháng tư": 4,
    "tháng bốn": 4, "tháng năm": 5, "tháng sáu": 6, "tháng bảy": 7, "tháng tám": 8, "tháng chín": 9, "tháng mười": 10, "tháng chạp": 12,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Language:
    """A language that can be translated to.

    Attributes:
        name: Its English name.
        letters: Its own letters; of Vietnamese, those with diacritics.
        least: The smallest share of own letters (of Vietnamese, of words with them) in a text: more than other such languages have.
        share: That share in a text.
        months: How its months are written.
        thousands: The mark between its thousands, a comma or a point; the other one is its decimal mark.
    """

    name: str
    letters: re.Pattern[str]
    least: float
    share: Callable[[str], float]
    months: Mapping[str, int]
    thousands: str


def _share_of_letters(text: str) -> float:
    """Return the share of Thai letters: Thai puts no space between words."""
    letters = [sign for sign in text if sign.isalpha()]
    return sum(bool(_THAI.match(sign)) for sign in letters) / max(1, len(letters))


def _share_of_words(text: str) -> float:
    words = re.findall(r"[^\W\d_]+", text)
    return sum(bool(_VIETNAMESE.search(word)) for word in words) / max(1, len(words))


_THAI = re.compile("[\u0e01-\u0e2e]")
_VIETNAMESE = re.compile("[ăâđêôơưàảãáạằẳẵắặầẩẫấậèẻẽéẹềểễếệìỉĩíịòỏõóọồổỗốộờởỡớợùủũúụừửữứựỳỷỹýỵ]", re.IGNORECASE)
LANGUAGES: Mapping[str, Language] = {
    "vi": Language("Vietnamese", _VIETNAMESE, 0.35, _share_of_words, _VIETNAMESE_MONTHS, "."),
    "th": Language("Thai", _THAI, 0.25, _share_of_letters, _THAI_MONTHS, ","),
}
"""The code of each language that can be translated to."""


@dataclass(frozen=True, slots=True)
class WrittenNumbers:
    """The numbers of an English text.

    Attributes:
        required: Those in digits, and the months of dates: a translation has each of them as often.
        months: Of each of them, the name of the month that it is; empty if it is in digits.
        allowed: Those in words, and months without a date: a translation may write them in digits, or leave them in words.
    """

    required: tuple[str, ...]
    months: tuple[str, ...]
    allowed: frozenset[str]


def read_english(text: str) -> WrittenNumbers:
    """Return the numbers of an English text.

    >>> found = read_english("Two seats on 4 March 2025 for 1,250.50 euros; may I pay in June?")
    >>> found.required, found.months, sorted(found.allowed)
    (('4', '3', '2025', '1250.5'), ('', 'March', '', ''), ['2', '6'])
    """
    required = [(match.start(), _english_value(_as_ascii(match[0])), "") for match in _NUMBER.finditer(text)]
    allowed = {str(_IN_WORDS[word]) for word in re.findall(r"[a-z]+", text.casefold()) if word in _IN_WORDS}
    for match in _MONTH.finditer(text):
        number = str(_MONTH_OF[match[1].casefold()])
        dated = _DAY_BEFORE.search(text[max(0, match.start() - _NEAR) : match.start()]) or _DAY_AFTER.match(text[match.end() :])
        named = match[1][0].isupper() or match[1].casefold() not in {"may", "march", "mar", "sept", "dec"}
        if dated and named:
            required.append((match.start(), number, match[1]))
        elif match[1] != "may":
            allowed.add(number)
    required.sort()
    return WrittenNumbers(tuple(value for _, value, _ in required), tuple(month for _, _, month in required), frozenset(allowed))


def read_numbers(text: str, language: str) -> list[frozenset[str]]:
    """Return the numbers of a translation, each with its readings: 1.204 is 1204 in Vietnamese, and may be left as in English.

    >>> [sorted(one) for one in read_numbers("ngày 4 tháng Ba, 1.204 km và 3,5 kg", "vi")]
    [['4'], ['3'], ['1.204', '1204'], ['3,5', '3.5']]
    """
    known = LANGUAGES[language].months
    either = "|".join(re.escape(name) for name in sorted(known, key=len, reverse=True))
    found: list[frozenset[str]] = []
    for match in re.finditer(rf"(?P<month>{either})|{_NUMBER.pattern}", text, re.IGNORECASE):
        found.append(
            frozenset({str(known[match[0].casefold()])})
            if match["month"]
            else frozenset(_readings(_as_ascii(match[0]), LANGUAGES[language].thousands))
        )
    return found


def _as_ascii(digits: str) -> str:
    return "".join(sign if sign in ".," else str(int(sign)) for sign in digits)


def _english_value(run: str) -> str:
    return _plain(run.replace(",", "")) if _is_grouped(run, ",", ".") or "," not in run else run


def _readings(run: str, thousands: str) -> Iterator[str]:
    """Yield what a number may be: read as the language writes it, or left as in English unless the language reads that as another number."""
    point = "." if thousands == "," else ","
    if _is_grouped(run, thousands, point):
        yield _plain(run.replace(thousands, "").replace(point, "."))
    elif thousands not in run and run.count(point) < 2:
        yield _plain(run.replace(point, "."))
    if thousands == "," or not _is_grouped(run, ",", "."):
        yield _english_value(run)


def _is_grouped(run: str, mark: str, point: str) -> bool:
    return bool(re.fullmatch(rf"\d{{1,3}}(?:{re.escape(mark)}\d{{3}})+(?:{re.escape(point)}\d+)?", run))


def _plain(run: str) -> str:
    """Return a number without zeros that say nothing: 03 is 3, and 0.50 is 0.5."""
    whole, _, part = run.partition(".")
    if "." in part:
        return run
    part = part.rstrip("0")
    return (whole.lstrip("0") or "0") + (f".{part}" if part else "")
