"""Decide what a sentence says of a value in it: that it is so, or that it is not, may be, or cannot be confirmed."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from talm_sim.language.facts.cldr_spellings import month_of

_END = re.compile(r"[.!?](?=[\"'\u201d\u2019)\]]*(?: [^a-z]|$|\n))|[;\u3002\uff01\uff1f](?: |$)?|\n")
_NO_END = re.compile(
    r"(?:^|[\s(])(?:approx|ca|e\.g|i\.e|a\.m|p\.m|no|nr|vs|st|mt|dr|mr|mrs|z\.b|bzw|etwa)$|(?:^|[^\d\u00b0 ] |\.)(?-i:[A-Z])$|\n ?\d{1,2}$",
    re.IGNORECASE,
)
_DAY_BEFORE = re.compile(r"(?<!\d)\d{1,2}$")
_NEXT_WORD = re.compile(r"\. ([^\W\d_]+)")
_BREAK = r",(?= )|:(?= )|[()\u3001\uff0c\uff1a]| - "
_BEFORE, _BEHIND = 300, 200
"""Characters of a sentence that are read around a value; so an answer of any length is read in linear time."""
_QUOTATION = re.compile(
    '(?<!\\w)"(?=\\S)[^"\n]{1,300}"|\u201c[^\u201c\u201d\n]{1,300}\u201d|\u201e[^\u201e\u201c\n]{1,300}\u201c|\u00ab[^\u00ab\u00bb\n]{1,300}\u00bb'
)
"""A whole quotation; the marks in `5" by 6"` are inches."""
_OPENED = re.compile('\\S.*["\u201c\u201e\u00ab][^"\u201c\u201d\u201e\u00ab\u00bb]*\\Z')
"""A quotation that begins within a sentence and has not ended."""
_WORD = re.compile(r"[^\W\d_]+")
_KANA, _HAN = re.compile("[\u3040-\u30ff]"), re.compile("[\u4e00-\u9fff]")
_SAMPLE = 4000
_CLOSING = frozenset({'"', "\u201d", "\u201c", "\u00bb"})


@dataclass(frozen=True, slots=True)
class Cues:
    """The cues of one language, each one pattern."""

    denies: re.Pattern[str]
    idioms: re.Pattern[str]
    after: re.Pattern[str]
    doubts: re.Pattern[str]
    bounds: re.Pattern[str]
    doubts_behind: re.Pattern[str]
    contrast: re.Pattern[str]
    breaks: re.Pattern[str]
    either: re.Pattern[str]
    corrects: re.Pattern[str]
    others: re.Pattern[str]
    yes: re.Pattern[str]
    no: re.Pattern[str]
    afternoon: re.Pattern[str]
    morning: re.Pattern[str]
    numbers: tuple[str, ...]


@cache
def _tables() -> Mapping[str, Mapping[str, list[str]]]:
    return tomllib.loads(files("talm_sim.language.facts").joinpath("cues.toml").read_text(encoding="utf-8"))


@cache
def cues_of(language: str) -> Cues:
    """Return the cues of a language; none for one without a table."""
    table = _tables().get(language, {})
    edge = "" if language in {"ja", "zh"} else r"\b"

    def one(name: str) -> re.Pattern[str]:
        words = table.get(name, [])
        return re.compile("|".join(f"{edge}(?:{word}){edge}" for word in sorted(words, key=len, reverse=True)) or "(?!)", re.IGNORECASE)

    breaks = "|".join([_BREAK, *(f"{edge}(?:{word}){edge}" for word in [*table.get("contrast", []), *table.get("turns", [])])])
    either = "|".join(sorted(table.get("or", []), key=len, reverse=True)) or "(?!)"
    names = [
        *("denies", "idioms", "after", "doubts", "bounds", "doubts_behind", "contrast"),
        *("corrects", "others", "yes", "no", "afternoon", "morning"),
    ]
    found = {name: one(name) for name in names}
    return Cues(
        breaks=re.compile(breaks, re.IGNORECASE),
        either=re.compile(rf"{edge}(?:{either}){edge}|/", re.IGNORECASE),
        numbers=tuple(table.get("numbers", [])),
        **found,
    )


def language_of(text: str, request: str = "") -> str:
    """Return the language whose small words a text uses most, or else that of the request; `en` if none is seen, `other` for another script.

    >>> language_of("Die Sonne geht um 5 Uhr auf."), language_of("39 ft"), language_of("標高は39メートルです。")
    ('de', 'en', 'ja')
    """
    text = text[:_SAMPLE]
    # A capital letter by itself is a note, a unit or a name.
    words = [word.casefold() for word in _WORD.findall(text) if len(word) > 1 or word.islower()]
    if len(_KANA.findall(text)) * 4 > sum(len(word) for word in words if word.isascii()):
        return "ja"
    if sum(map(len, _HAN.findall(text))) * 4 > sum(map(len, words)):
        return "zh"
    scores = {language: sum(word in known for word in words) for language, known in _small_words().items()}
    best = max(scores, key=lambda language: scores[language])
    if scores[best]:
        return best
    if request:
        return language_of(request)
    return "other" if any(not word.isascii() for word in words) and not any(word.isascii() for word in words) else "en"


@cache
def _small_words() -> Mapping[str, frozenset[str]]:
    return {language: frozenset(table["words"]) for language, table in _tables().items() if "words" in table}


class Sentences:
    """The sentences of one cleaned answer."""

    def __init__(self, text: str, language: str) -> None:
        self.text = text
        self.cues = cues_of(language)
        ends = [match for match in _END.finditer(text) if match[0] != "." or self._is_end(match.start())]
        self._starts = [0, *(match.end() for match in ends)]
        self._ends = [*(match.start() for match in ends), len(text)]
        self._marks = [*(self._own_mark(*span) for span in zip(self._starts, self._ends, strict=True))]

    def _is_end(self, place: int) -> bool:
        """Return whether a point ends a sentence: not one of "approx.", "H. W." and "26. September"."""
        before = self.text[max(0, place - 8) : place]
        following = _NEXT_WORD.match(self.text, place, place + 24)
        if _DAY_BEFORE.search(before) and following and month_of(following[1]):
            return False
        if before.endswith("No") and not self.text[place + 1 : place + 3].strip()[:1].isdigit():
            return True
        return not _NO_END.search(before)

    def _own_mark(self, start: int, end: int) -> str:
        """Return the mark that ends a sentence; none where it is the mark of a title or another quotation within it."""
        mark, behind = self.text[end : end + 1], self.text[end + 1 : end + 2]
        quoted = behind in _CLOSING and _OPENED.match(self.text[max(start, end - _BEFORE) : end].strip())
        return "" if quoted else mark

    def number_at(self, place: int) -> int:
        """Return the index of the sentence at a place."""
        return bisect_right(self._starts, place) - 1

    def span(self, number: int) -> tuple[int, int]:
        """Return where a sentence begins and ends."""
        return self._starts[number], self._ends[number]

    def __len__(self) -> int:
        return len(self._starts)

    def clause(self, start: int, end: int) -> tuple[int, int]:
        """Return the part of its sentence, between commas and words that open another, that contains a value."""
        first, last = self.span(self.number_at(start))
        before, behind = max(first, start - _BEFORE), min(last, end + _BEHIND)
        breaks = [before + match.end() for match in self.cues.breaks.finditer(self._without_quotations(before, start))]
        after = self.cues.breaks.search(self._without_quotations(end, behind))
        return breaks[-1] if breaks else before, end + after.start() if after else behind

    def _without_quotations(self, start: int, end: int) -> str:
        """Return a part of the text in which whole quotations are blank: their words are not the speaker's."""
        return _QUOTATION.sub(lambda match: " " * len(match[0]), self.text[start:end])

    def asks(self, place: int) -> bool:
        """Return whether the sentence at a place is a question."""
        return self._marks[self.number_at(place)] in {"?", "\uff1f"}

    def affirms(self, start: int, end: int) -> bool:
        """Return whether the sentence says that the text from `start` to `end` is so."""
        first, last = self.span(number := self.number_at(start))
        begin, stop = self.clause(start, end)
        before, behind = max(first, start - _BEFORE), min(last, end + _BEHIND)
        if self._is_denied(begin, start) or self.cues.after.search(self._without_quotations(end, min(stop, end + 60))):
            return False
        if any(not self.text[bound.end() : start].strip() for bound in self.cues.bounds.finditer(self.text, max(first, start - 24), start)):
            return False
        if self._is_doubted(before, start) or self.cues.doubts_behind.search(self._without_quotations(end, behind)):
            return False
        return not (self._marks[number] in {"?", "\uff1f"} and stop >= last)

    def _is_denied(self, begin: int, start: int) -> bool:
        return bool(self.cues.denies.search(self.cues.idioms.sub("", self._without_quotations(begin, start))))

    def _is_doubted(self, before: int, start: int) -> bool:
        """Return whether a doubt applies to the value: it does unless another part of the sentence begins between them."""
        said = self._without_quotations(before, start)
        for match in self.cues.doubts.finditer(said):
            between = said[match.end() :]
            lead = self.cues.contrast.search(said, 0, match.start())
            ended = re.search(r", (?:and|so|et|und|y|e|i|the|it|die|der|das)\b", between) or (lead and "," in between)
            # "You asked whether it is more than three: it is 6."
            ended = ended or (match[0].lower().endswith("whether") and ": " in between)
            if not ended and not self.cues.contrast.search(between):
                return True
        return False
