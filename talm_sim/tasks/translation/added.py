"""Find what a translation says in addition: a courtesy, or a clause after the last value that both texts have.

Thai has no mark at the end of a sentence, and in any language a sentence can be added behind a comma, so it is not enough to count
sentences. Most requests say a number, a code or a name near their end. What follows the last one in the translation is compared with what
follows the last one in the English text, from where a new clause begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from talm_sim.tasks.translation.names import places_of

__all__ = ["LONGEST", "explain_added"]

_MARKS = r"[,;:.?!–—(](?=\W|$)"
_ENGLISH_CLAUSE = re.compile(
    rf"{_MARKS}|\b(?:and|then|also|plus|besides|too|if|because|since|so|but|for|please|when|while|who|which|what|where|how|that|thanks|thx)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_\u0e00-\u0e7f]+(?:[.,]\d+)*")
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class _Limits:
    """How a language adds something, and how far right translations differ: limits are somewhat above what 72 written ones have.

    Attributes:
        clause: Where a clause begins.
        courtesies: What is said in it for each of `_ENGLISH_COURTESIES`.
        times: A last clause has so many times the letters and digits of the English one; at most, and `more`.
        more: See `times`.
        longest: The whole text has so many times the characters of the English text; at most, and `LONGEST`.
    """

    clause: re.Pattern[str]
    courtesies: Mapping[str, re.Pattern[str]]
    times: float
    more: int
    longest: float


_ENGLISH_COURTESIES = {
    "thanks": re.compile(r"\bthank|\bth?n?x\b|\bty\b|\bta\b|\bcheers\b|appreciat|grateful", re.IGNORECASE),
    "greeting": re.compile(r"\bhi\b|\bhey\b|hello|greetings|\bdear\b|\bgood (?:morning|day|afternoon|evening)|welcome|\byo\b", re.IGNORECASE),
    "remark": re.compile(r"\bnote|translat|remark|\bp\.?s\b|important|attention|caution|careful|mind", re.IGNORECASE),
}
LONGEST = 15
"""Characters that a translation may have beyond its share, because short texts differ most."""
_THAI_PREPOSITION = "ตาม|จาก|ใน|ที่|ของ|โดย|เป็น|สำหรับ|กับ|ตั้งแต่|ถึง|หลัง|ก่อน"
_LIMITS = {
    "th": _Limits(
        re.compile(rf"(?<=[\u0e00-\u0e7f]) +(?=[\u0e01-\u0e4f])(?!{_THAI_PREPOSITION})|{_MARKS}|และ|แล้ว|(?:นะคะ|ค่ะ|ครับ)(?=[\u0e01-\u0e4f])"),
        {"thanks": re.compile("ขอบคุณ|ขอบใจ|ขอบพระคุณ"), "greeting": re.compile("สวัสดี"), "remark": re.compile("หมายเหตุ|คำแปล")},
        1.1,
        12,
        1.25,
    ),
    "vi": _Limits(
        re.compile(rf"{_MARKS}|(?<!\w)(?:và|rồi|nhưng|còn|đồng thời|ngoài ra)(?!\w)", re.IGNORECASE),
        {
            "thanks": re.compile("cảm ơn|cám ơn|cảm tạ", re.IGNORECASE),
            "greeting": re.compile(r"(?<!\w)(?:xin chào|chào (?:bạn|anh|chị|em|mọi người))(?!\w)", re.IGNORECASE),
            "remark": re.compile("ghi chú|chú thích|bản dịch|lưu ý", re.IGNORECASE),
        },
        1.2,
        20,
        1.3,
    ),
}


def explain_added(before: str, text: str, language: str, same: Sequence[tuple[Sequence[str], Sequence[str]]] = ()) -> Iterator[str]:
    """Yield what a translation says in addition, in words that a model can act on.

    Args:
        before: The English text.
        text: The translation.
        language: Code of its language.
        same: What values are called in the English text, and in the translation.
    """
    limits = _LIMITS[language]
    for name, pattern in limits.courtesies.items():
        added = pattern.search(text)
        if added and len(pattern.findall(text)) > len(_ENGLISH_COURTESIES[name].findall(before)):
            article = "" if name == "thanks" else "a "
            yield f"adds {article}{name} ({added[0]}), which the English text does not have"
            return
    there, here = _last(before, text, same)
    last, english = _clause_after(text[here:], limits.clause), _clause_after(before[there:], _ENGLISH_CLAUSE)
    if _size(last) > limits.times * _size(english) + limits.more:
        shown = last if len(last) <= _SHOWN else f"{last[:_SHOWN]}..."
        yield f"adds words at the end that the English text does not have: {shown}"
    elif len(text.strip()) > limits.longest * len(before.strip()) + LONGEST:
        yield f"has {len(text.strip())} characters, and the English text {len(before.strip())}: say no more than it does"


def _last(before: str, text: str, same: Sequence[tuple[Sequence[str], Sequence[str]]]) -> tuple[int, int]:
    """Return where the last value that both texts have ends in each of them."""
    english, own = [[one for one in _WORD.finditer(found) if _is_value(one[0])] for found in (before, text)]
    both = {one[0].casefold() for one in english} & {one[0].casefold() for one in own}
    ends = [[one.end() for one in found if one[0].casefold() in both] for found in (english, own)]
    for words, translated in same:
        pair = [_ends_of(found, forms) for found, forms in ((before, words), (text, translated))]
        if all(pair):
            ends = [[*known, *found] for known, found in zip(ends, pair, strict=True)]
    return max(ends[0], default=0), max(ends[1], default=0)


def _ends_of(text: str, words: Sequence[str]) -> list[int]:
    return [one.end() for word in words for one in places_of(text, word)]


def _is_value(word: str) -> bool:
    return any(sign.isdigit() or sign.isupper() for sign in word)


def _clause_after(rest: str, begin: re.Pattern[str]) -> str:
    """Return what follows the first place at which a clause begins; empty if none does."""
    found = begin.search(rest)
    return rest[found.end() :].strip() if found else ""


def _size(text: str) -> int:
    return len(re.sub(r"\W+", "", text))
