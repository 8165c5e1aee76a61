"""Find what a translation adds: a courtesy, or a clause after the last value that both texts have; and what values are called.

Thai has no mark at the end of a sentence, and in any language a sentence can be added behind a comma, so it is not enough to count
sentences. Most requests say a number, a code or a name near their end. What follows the last one in the translation is compared with what
follows the last one in the English text, from where a new clause begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from talm_sim.common.toml_files import packaged_toml
from talm_sim.language.facts.cldr_spellings import fold_word, meanings_of, words_for
from talm_sim.tasks.translation.languages import LANGUAGES


def names_in(values: Sequence[str], language: str) -> tuple[str, ...]:
    """Return what values are called in a language, as far as `words.toml` has it: it has what the table of spellings lacks.

    >>> names_in(["metre"], "vi"), names_in(["full_moon", "IT"], "vi"), names_in(["Lublin"], "th")
    (('mét',), ('trăng tròn', 'trăng rằm', 'Ý'), ())
    """
    known = _words()[language]
    keys = dict.fromkeys(key for value in values for key in (value, *meanings_of(value)))
    return tuple(dict.fromkeys(name for key in keys for name in known.get(key, ())))


@cache
def _words() -> Mapping[str, Mapping[str, Sequence[str]]]:
    return packaged_toml("talm_sim.tasks.translation", "words.toml")


def says(text: str, values: Sequence[str]) -> bool:
    """Return whether one of the values is in a text, or a word for it that the table of spellings has."""
    return bool(said_as(text, values))


def said_as(text: str, values: Sequence[str]) -> str:
    """Return how a text says one of the values; empty if it does not.

    >>> said_as("The first full moon in Italy?", ["full_moon"]), said_as("The first full moon in Italy?", ["IT"])
    ('full moon', 'Italy')
    """
    for form in (form for value in values for form in (value, value.replace("_", " "))):
        if contains(text, form):
            return form
    folded = fold_word(text)
    plain = " ".join(re.findall(r"[^\W_]+", folded))
    words = sorted({word for value in values for word in words_for(value) if len(word) > 2}, key=lambda word: (-len(word), word))
    word = next((word for word in words for form in (folded, plain) if word in form and contains(form, word)), "")
    as_written = re.search(re.escape(word), text, re.IGNORECASE)
    return as_written[0] if word and as_written else word


def ways_to_say(text: str, values: Sequence[str], language: str) -> list[str]:
    """Return how a translation may say a value that a text says, the way of the text first; none if the text does not say it.

    >>> ways_to_say("Is Italy or Greece larger?", ["IT"], "vi"), ways_to_say("Is Italy or Greece larger?", ["GR"], "vi")
    (['Italy', 'Ý'], ['Greece', 'its Vietnamese name'])
    """
    if not (said := said_as(text, values)):
        return []
    known = any(words_for(value) for value in values)
    return [said, *(names_in(values, language) or [f"its {LANGUAGES[language].name} name"] * known)]


def contains(text: str, value: str) -> bool:
    """Return whether a value is in a text as its own word or words."""
    return any(True for _ in places_of(text, value))


def places_of(text: str, value: str) -> Iterator[re.Match[str]]:
    """Yield where a value is in a text as its own word or words (F is not in F#); Thai puts nothing between words."""
    letter = r"[^\W\u0e00-\u0e7f]"
    pattern = rf"(?<!{letter}){re.escape(value)}(?!{letter}|[#\u266f])"
    return re.finditer(pattern, text, re.IGNORECASE if len(value) > 2 else 0) if value else iter(())


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
    """Yield what a translation says in addition, in words that a model can act on."""
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
    english, own = [
        [one for one in _WORD.finditer(found) if any(sign.isdigit() or sign.isupper() for sign in one[0])] for found in (before, text)
    ]
    both = {one[0].casefold() for one in english} & {one[0].casefold() for one in own}
    ends = [[one.end() for one in found if one[0].casefold() in both] for found in (english, own)]
    for words, translated in same:
        pair = [[one.end() for form in forms for one in places_of(found, form)] for found, forms in ((before, words), (text, translated))]
        if all(pair):
            ends = [[*known, *found] for known, found in zip(ends, pair, strict=True)]
    return max(ends[0], default=0), max(ends[1], default=0)


def _clause_after(rest: str, begin: re.Pattern[str]) -> str:
    """Return what follows the first place at which a clause begins; empty if none does."""
    found = begin.search(rest)
    return rest[found.end() :].strip() if found else ""


def _size(text: str) -> int:
    return len(re.sub(r"\W+", "", text))
