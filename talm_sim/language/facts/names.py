"""Find a text value in an answer: names, codes, colors, chords and countries, in the spellings that follow from the value."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise

from talm_sim.language.facts.cldr_spellings import MANY_MARKS, country_of, fold_word

Place = tuple[int, int]
"""Where something begins and ends in a cleaned text."""

_LATIN_MARKS = re.compile("[\u0300-\u036f]")
_VERSION_MARK = re.compile(r"\bv(?=\d+\.\d)")
_GROUPS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_TOKEN = re.compile(
    r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])(?:\.\d+)*|\d+(?:\.\d+)+|\d+(?=[^\W\d_])|[#\u266f]?[^\W_]+(?:[#+\u266f\u266d]+[^\W_]*)*"
)
_CODE = re.compile(r"#?(?=[A-Za-z0-9]*\d)[A-Za-z0-9]{3,40}")
_ADDRESS = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}")
_HEX = re.compile(r"#?([0-9a-fA-F]{6})")
_SAID_HEX = re.compile(r"(?<![\w#])#?([0-9a-fA-F]{6})(?!\w)")
_SAID_RGB = re.compile(
    r"(?<![\w#])(?:rgba?\(? ?|r ?[:=]? ?)?(\d{1,3})(?: ?, ?| )(?:g ?[:=]? ?)?(\d{1,3})(?: ?, ?| )(?:b ?[:=]? ?)?(\d{1,3})(?![\d.]|,\d)",
    re.IGNORECASE,
)
_ORBITALS = re.compile(r"(?:\[[A-Z][a-z]?\] ?)?(?:\d[spdf]\d{1,2} ?)+")
_CHORDS = re.compile(r"[A-G][#b]?[\w()#+-]*(?: [A-G][#b]?[\w()#+-]*)*")
_SYMBOL = re.compile(
    r"(?<![\w#\u266f\u266d])(?P<root>[A-G])(?P<sign>[#b\u266f\u266d]|[ -](?:sharp|flat)\b)?(?P<kind>(?:maj|min|dim|aug|sus|add|m|M"
    r"|[\u00f8\u00d8\u00b0\u0394+]|-(?=\d)|\d|[b#\u266d\u266f]\d|[()])*(?:[ -](?:half[ -]diminished|diminished|augmented|minor|major|dominant"
    r"|(?:flat|sharp)[ -](?:five|nine|5|9|fifth)|(?:m?7)?[\u266db]5|seventh|seven|ninth|7th|7(?!\.?\d))\b){0,4})(?![\w#\u266f\u266d])"
)
_KINDS = (
    (r"[()]", ""), ("\u266d", "b"), ("\u266f", "#"), (r"half[ -]diminished(?:[ -]?(?:seventh|seven|7th|7))?|[\u00f8\u00d8]7?", "m7b5"),
    (r"(?:major|maj|M|\u0394)[ -]?(?:seventh|seven|7th|7)|\u0394", "maj7"), (r"minor|min|-(?=7)", "m"), ("major|maj(?!7)|M", ""),
    ("diminished|\u00b0", "dim"), ("augmented", "aug"), ("dominant", ""), ("seventh|seven|7th", "7"), ("ninth", "9"),
    (r"flat[ -](?:five|fifth|5)", "b5"), (r"m7-5", "m7b5"),
    (r"[ -]", ""),
)  # fmt: skip
_LISTED = re.compile(r"(?:[ ,;|/>\u2192\n\u3001\uff0c-]|and|und|then|y|et|e|\u3068|&)*")
ONES = [
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
]
TENS = ["zero", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_PERSON = re.compile(
    r"[^\W\da-z_][^\W\d_]+(?:-[^\W\d_]+)*(?: (?:(?:de|del|della|di|da|dos|van|von|der|den|la|le|bin|al|el) ){0,2}"
    r"[^\W\da-z_][^\W\d_]+(?:-[^\W\d_]+)*){1,3}"
)
"""Two to four words with capitals: perhaps a person's name."""
_TITLES = frozenset({"Dr", "Mr", "Mrs", "Ms", "Prof", "Professor", "Doctor", "Miss", "Sir", "Frau", "Herr"})
_NUMERALS = frozenset([*ONES, *TENS, "hundred", "thousand", "million", "and", "a"]) | {
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth", "thirteenth",
    "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth", "twentieth", "hundredth", "thousandth",
}  # fmt: skip
_LONGEST_COUNTRY, _LONGEST_NAME = 6, 14
"""Words of a country's name, and characters of one in a script without spaces."""
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]")


def normalize(text: str) -> str:
    """Bring a text to one form: case, accents, width, markdown and punctuation do not matter.

    The result is words separated by single spaces, with a space at both ends. A decimal point inside a number stays, thousands separators
    go, and a sharp or plus that belongs to a name stays ("C#" is not "C").

    >>> normalize("**São Paulo** has 1,234 shops.")
    ' sao paulo has 1234 shops '
    """
    text = unicodedata.normalize("NFKC", MANY_MARKS.sub(r"\1", text)).casefold()
    text = unicodedata.normalize("NFKC", _LATIN_MARKS.sub("", unicodedata.normalize("NFD", text)))
    text = _GROUPS.sub(lambda match: match[0].replace(",", ""), _VERSION_MARK.sub("", text))
    return f" {' '.join(_TOKEN.findall(text))} "


class Words:
    """The words of a cleaned text, in normal form, with the place of each."""

    def __init__(self, text: str) -> None:
        text = _VERSION_MARK.sub(" ", text)
        found = [(fold_word(match[0]).replace(",", ""), match.span()) for match in _TOKEN.finditer(text)]
        self.words = [word for word, _ in found]
        self.spans = [span for _, span in found]
        self._joined = f" {' '.join(self.words)} "
        self._starts: list[int] = []
        at = 0
        for word in self.words:
            self._starts.append(at)
            at += len(word) + 1

    def places(self, words: str) -> list[Place]:
        """Return where some words, in normal form with a space at both ends, occur."""
        found = []
        at = self._joined.find(words) if words.strip() else -1
        while at >= 0:
            first = bisect_right(self._starts, at) - 1
            last = bisect_right(self._starts, at + len(words) - 2) - 1
            found.append((self.spans[first][0], self.spans[last][1]))
            at = self._joined.find(words, at + 1)
        return found


def places_of(value: str, text: str, words: Words) -> list[Place]:
    """Return where a text value occurs in a cleaned text, in any spelling that follows from it."""
    normal = normalize(value)
    if code := country_of(normal.strip()):
        return [place for found, place in countries(words) if found == code]
    if not normal.strip():
        # A value of only symbols has no words to find.
        value = value.strip()
        return [match.span() for match in re.finditer(re.escape(value), text)] if value else []
    if not (found := set(words.places(normal))):
        found = {place for place in places_in_other_order(value, words) if "," in text[slice(*place)]}
    if _HEX.fullmatch(value):
        found |= {place for color, place in colors(text) if color == value.lower().removeprefix("#")}
    if _CHORDS.fullmatch(value) and all(map(_SYMBOL.fullmatch, value.split())):  # not "Good Friday"
        found |= set(_chords(value.split(), text)) if " " in value or not found else set()
        if " " in value:
            found = set(_chords(value.split(), text))
    if _ORBITALS.fullmatch(value):
        found |= set(_configuration(value, text))
    if set(normal.split()) <= _NUMERALS:
        found |= set(_numeral(normal.split(), words))
    if _CODE.fullmatch(value) or (value.isalpha() and len(value) >= 8):
        found |= _find_spaced(value, text)
    return sorted(found)


def places_in_other_order(value: str, words: Words) -> list[Place]:
    """Return where a name of several words stands with its last ones first: `Szabó Gábor`, `Nowak, Katarzyna`."""
    parts = value.split() if _PERSON.fullmatch(value) else []
    return [place for at in range(1, len(parts)) for place in words.places(normalize(" ".join(parts[at:] + parts[:at])))]


def places_of_surname(value: str, text: str) -> list[Place]:
    """Return where the last of a person's names stands without another one before it, except a title or an initial."""
    found = []
    first, *_rest, last = value.split() if _PERSON.fullmatch(value) else ("", "")
    for match in re.finditer(rf"(?<![\w-]){re.escape(last)}(?![\w-])(?!,? [^\W\da-z_])", text) if first else ():
        before = re.search(r"([^\W\d_][\w'’-]*)\.? $", text[: match.start()][-30:])
        if before is None or before[1].islower() or before[1] in _TITLES or before[1] == first[0]:
            found.append(match.span())
    return found


def _find_spaced(value: str, text: str) -> set[Place]:
    """Find a code or a long word that may be written in groups: `DE38 1203`, `F-362`, `medium slate blue`."""
    pattern = "[ -]?".join(re.escape(char) for char in value.removeprefix("#"))
    return {match.span() for match in re.finditer(rf"(?<![^\W_]){pattern}(?![^\W_])", text, re.IGNORECASE)}


def colors(text: str) -> list[tuple[str, Place]]:
    """Return the colors in a text by their six digits: `#fc8a3f`, `FC8A3F`, `rgb(252, 138, 63)`."""
    found = [(match[1].lower(), match.span()) for match in _SAID_HEX.finditer(text)]
    for match in _SAID_RGB.finditer(text):
        parts = [int(part) for part in match.groups()]
        if max(parts) < 256:
            found.append(("".join(f"{part:02x}" for part in parts), match.span()))
    return found


def countries(words: Words) -> Iterator[tuple[str, Place]]:
    """Return the countries in a text, by code: of several names that overlap, the longest."""
    at = 0
    while at < len(words.words):
        if _UNSPACED.search(words.words[at]):
            yield from _split_unspaced(words.words[at], words.spans[at][0])
            at += 1
            continue
        for count in range(min(_LONGEST_COUNTRY, len(words.words) - at), 0, -1):
            code = country_of(" ".join(words.words[at : at + count]))
            if code and (count > 1 or len(words.words[at]) > 3 or not words.words[at].isascii()):
                yield code, (words.spans[at][0], words.spans[at + count - 1][1])
                at += count
                break
        else:
            at += 1


def _split_unspaced(word: str, start: int) -> Iterator[tuple[str, Place]]:
    """Return the countries in a run of a script that puts no spaces between words."""
    at = 0
    while at < len(word):
        for size in range(_LONGEST_NAME, 1, -1):
            if (code := country_of(word[at : at + size])) and at + size <= len(word):
                yield code, (start + at, start + at + size)
                at += size
                break
        else:
            at += 1


def _symbol(match: re.Match[str]) -> str:
    sign, kind = match["sign"] or "", match["kind"] or ""
    sign = "#" if "sharp" in sign or sign in {"#", "\u266f"} else "b" if sign else ""
    for pattern, short in _KINDS:
        kind = re.sub(pattern, short, kind)
    return match["root"] + sign + kind


@cache
def _symbols_of(value: tuple[str, ...]) -> tuple[str, ...]:
    found = [_SYMBOL.fullmatch(part) for part in value]
    return tuple(_symbol(match) if match else part for match, part in zip(found, value, strict=True))


def _chords(value: Sequence[str], text: str) -> Iterator[Place]:
    """Return chords or notes in order, with no other beside them in the same list but the first one again."""
    wanted = _symbols_of(tuple(value))
    said = [(_symbol(match), match.span()) for match in _SYMBOL.finditer(text)]
    size = len(wanted)
    for at in range(len(said) - size + 1):
        if tuple(symbol for symbol, _ in said[at : at + size]) != wanted:
            continue
        spans = [span for _, span in said[at : at + size]]
        if any(later[0] - earlier[1] > 45 for earlier, later in pairwise(spans)):
            continue
        before = said[at - 1] if at else None
        behind = said[at + size] if at + size < len(said) else None
        more = size > 1 and (
            (before and _is_list_gap(text, before[1][1], spans[0][0]))
            or (behind and behind[0] != wanted[0] and _is_list_gap(text, spans[-1][1], behind[1][0]))
        )
        if not more:
            yield spans[0][0], spans[-1][1]


def _is_list_gap(text: str, start: int, end: int) -> bool:
    return end - start <= 8 and _LISTED.fullmatch(text[start:end]) is not None


def _configuration(value: str, text: str) -> Iterator[Place]:
    """Return electrons by orbital, in any order, also `3d^10`."""
    wanted = sorted(re.findall(r"\[\w+\]|\d[spdf]\d+", value))
    plain_text = re.sub(r"[\^{}$]", " ", text)
    for match in re.finditer(r"(?:\[ ?[A-Z][a-z]? ?\] ?)?(?:\d[spdf] {0,2}\d{1,2}[ ,]{0,4}){1,20}", plain_text):
        if sorted(re.findall(r"\[\w+\]|\d[spdf]\d+", re.sub(r"[ ,]+(?=\d+(?:[ ,]|$))(?<![spdf]\d)", "", _close_gaps(match[0])))) == wanted:
            yield match.span()


def _close_gaps(text: str) -> str:
    return re.sub(r"(?<=[spdf]) +(?=\d)", "", re.sub(r"\[ ?(\w+) ?\]", r"[\1]", text))


def _numeral(wanted: Sequence[str], words: Words) -> Iterator[Place]:
    """Return a number in words, with or without its "and"."""
    wanted = [word for word in wanted if word != "and"]
    kept = [(word, span) for word, span in zip(words.words, words.spans, strict=True) if word != "and"]
    joined = f" {' '.join(word for word, _ in kept)} "
    at, size = joined.find(f" {' '.join(wanted)} "), len(wanted)
    while at >= 0:
        first = joined.count(" ", 0, at + 1) - 1
        around = [kept[place][0] for place in (first - 1, first + size) if 0 <= place < len(kept)]
        goes_on = wanted[-1] in TENS and [word for word, _ in kept[first + size : first + size + 1]] in _AFTER_TENS
        if not goes_on and not any(word in _NUMERALS - {"and", "a", "one", "second", "first"} for word in around):
            yield kept[first][1][0], kept[first + size - 1][1][1]
            return
        at = joined.find(f" {' '.join(wanted)} ", at + 1)


_AFTER_TENS = (["one"], ["first"], ["second"])
"""Words that belong to a number behind a ten, as in forty-one, and that may mean something else elsewhere."""


def find_spelled_number(value: int, words: Words, small: Sequence[str]) -> list[Place]:
    """Return where a whole number occurs in words, as far as the language's own list goes."""
    if 0 <= value < len(small):
        spelled = normalize(small[value])
        numerals = {fold_word(word) for word in small} | _NUMERALS
        found = [(place, words.spans.index(place)) for place in words.places(spelled)[:50]]
        return [
            place for place, at in found if not numerals - {"and", "a"} & set(words.words[max(0, at - 1) : at] + words.words[at + 1 : at + 2])
        ]
    return []


def alike(value: str) -> re.Pattern[str]:
    """Return what has the form of a value with digits, as `S-11` has that of `S-14`, or of an address; nothing for a value of words alone."""
    if "@" in value:
        return _ADDRESS
    form = re.sub(r"(\d+)|([^\W\d_]{3,})|[^\W\d_]+", _form_of, re.escape(value))
    return re.compile(rf"(?<![\w-]){form}(?![\w-])" if re.search(r"\d", value) else "(?!)")


def _form_of(run: re.Match[str]) -> str:
    return r"\d+" if run[1] else rf"[^\W\d_]{{{'3,' if run[2] else '1,2'}}}"
