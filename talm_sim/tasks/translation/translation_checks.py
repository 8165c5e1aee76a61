"""Check a translation by rule against the English text that it was made from: nothing is lost, nothing is added, and it is in the language."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from talm_sim.language.question_words import STOP, stem
from talm_sim.tasks.translation.added import contains, explain_added, names_in, said_as, says, ways_to_say
from talm_sim.tasks.translation.languages import LANGUAGES, read_english, read_numbers

RULES_VERSION = 2
"""Version of the checks; raise it whenever they judge a translation in another way."""
_ENGLISH_RUN = 5
"""English words of the request in a row that a translation does not have, apart from values."""
_SHORTEST = 0.4
"""A translation has so many times the characters of the English text."""
_FAR, _MORE = 4, 15
"""Of a text with more than so many times the characters, and some more, nothing else is checked."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_WORD = re.compile(r"[^\W\d_]+")
_SENTENCE_END = re.compile(r"""(?<![.?!])(?:[?!][.?!]*+|(?<!\b\w)(?<!\b[A-Z]\w)\.[.?!]*+)['")\]]*+(?:\s++|$)""")
"""A point after an initial or a short abbreviation, such as `St.`, ends nothing."""
_SHOWN, _MOST_LISTED, _MOST_NAMED = 80, 10, 3


class FailedCheck(NamedTuple):
    """A check that a translation fails: its name, and what is wrong, in words that a model can act on."""

    check: str
    words: str


@dataclass(frozen=True, slots=True)
class NeededValue:
    """A value that a call or an answer needs."""

    name: str
    value: str
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Translation:
    """A translation with all that it is checked against.

    Attributes:
        needed: Values that matter in it; those that the English text does not say must not be in the translation either.
        words: What a value is called in the language, where neither `others` nor the table of spellings says so.
    """

    before: str
    text: str
    language: str
    needed: Sequence[NeededValue] = ()
    words: Mapping[str, str] | None = None


def check_translation(found: Translation) -> list[FailedCheck]:
    """Return the checks that a translation fails, the most telling first; none if it passes."""
    text = unicodedata.normalize("NFC", found.text)
    if not text.strip():
        return [FailedCheck("empty", "has no text")]
    if len(text) > _FAR * len(found.before) + _MORE:
        return [FailedCheck("length", f"has {len(text)} characters, and the English text {len(found.before)}")]
    checks: tuple[tuple[str, _Check], ...] = (
        ("english", _check_english),
        ("script", _check_script),
        ("value", _check_values),
        ("given away", _check_given_away),
        ("number", _check_numbers),
        ("length", _check_length),
    )
    found = Translation(unicodedata.normalize("NFC", found.before), text, found.language, found.needed, found.words)
    failed = [FailedCheck(name, words) for name, check in checks for words in check(found)]
    if not {one.check for one in failed} & {"english", "value", "number"}:  # what follows the last value is known if none is lost
        failed += [FailedCheck("added", words) for words in _check_added(found)]
    return failed


_Check = Callable[[Translation], Iterator[str]]


def _check_english(found: Translation) -> Iterator[str]:
    values = [one for needed in found.needed for one in (needed.value, *needed.others)]
    if same := _runs(found.before, values) & _runs(found.text, values):
        yield f"keeps English words: {min(same)}"


def _check_script(found: Translation) -> Iterator[str]:
    language = LANGUAGES[found.language]
    kept = [one for needed in found.needed for one in (needed.value, *needed.others) if len(one) > 2 and contains(found.text, one)]
    rest = _without(found.text, kept)
    if not language.letters.search(found.text):
        yield f"has no {language.name} letters"
    elif language.share(rest) < language.least:
        yield f"is mostly not in {language.name}"
    other = _scripts(found.text) - _scripts(found.before) - {"LATIN", "THAI" if language.name == "Thai" else ""}
    if other:
        yield f"has letters of another script: {', '.join(sorted(other)).capitalize()}"


def _check_values(found: Translation) -> Iterator[str]:
    for one in found.needed:
        values = (one.value, *one.others)
        word = (found.words or {}).get(one.value, "")
        if _is_ambiguous(one.value) or not (word or says(found.before, values)):
            continue
        if not (says(found.text, values) or any(contains(found.text, name) for name in (word, *names_in(values, found.language)))):
            ways = ways_to_say(found.before, values, found.language)[:_MOST_NAMED]
            hint = f" (write {' or '.join(ways)})" if ways and ways != [one.value] else ""
            yield f"does not say {one.name} {_shorten(one.value)}{hint}"


def _check_given_away(found: Translation) -> Iterator[str]:
    for one in found.needed:
        if len(one.value) > 2 and contains(found.text, one.value) and not contains(found.before, one.value):
            yield f"gives away {one.name} {_shorten(one.value)}, which the English text does not say"


def _check_numbers(found: Translation) -> Iterator[str]:
    """Compare the numbers: each in digits must be there as often, and only those in words may be there in addition.

    A value that is kept as it was, such as `March 11`, is not looked into.
    """
    forms = (form for one in found.needed for form in (one.value, *one.others) if len(form) > 2 and not form.isdecimal())
    kept = [form for form in forms if form in found.before and form in found.text]
    english, written = read_english(_without(found.before, kept, " ")), read_numbers(_without(found.text, kept, " "), found.language)
    places: dict[str, list[int]] = {}
    for place, readings in reversed([*enumerate(written)]):
        for number in readings:
            places.setdefault(number, []).append(place)
    lacking, used = [], set[int]()
    for number, month in zip(english.required, english.months, strict=True):
        free = places.get(number, [])
        while free and free[-1] in used:
            free.pop()
        if free:
            used.add(free.pop())
        else:
            lacking.append(_describe_month(number, month, found.language) if month else number)
    added = [min(readings, key=len) for place, readings in enumerate(written) if place not in used and not readings & english.allowed]
    if said := [f"lacks {_list(lacking)}"] * bool(lacking) + [f"has {_list(added)} in addition"] * bool(added):
        yield f"changes the numbers: {' and '.join(said)}"


def _check_length(found: Translation) -> Iterator[str]:
    size, before = len(found.text.strip()), len(found.before.strip())
    if size < _SHORTEST * before:
        yield f"has {size} characters, and the English text {before}"
    for name, count in (("line", _count_lines), ("sentence", _count_sentences)):
        here, there = count(found.text), count(found.before)
        if here > there:
            yield f"has {here} {name}s, and the English text {there}"
            return


def _check_added(found: Translation) -> Iterator[str]:
    same = []
    for one in found.needed:
        values = (one.value, *one.others)
        english, own = (said_as(text, values) for text in (found.before, found.text))
        same.append(((english,), (own, *names_in(values, found.language))))
    yield from explain_added(found.before, found.text, found.language, same)


def _describe_month(number: str, name: str, language: str) -> str:
    """Name a month that is lacking as the English text does, and say how the language writes it."""
    written = next(word for word, month in LANGUAGES[language].months.items() if str(month) == number)
    return f"the month {name} (write {written})"


def _is_ambiguous(value: str) -> bool:
    """Return whether nobody can tell if a text means a value: a date, whose numbers are compared, or a small English word such as `in`."""
    return bool(_DATE.match(value)) or (value.isalpha() and value.islower() and stem(value) in STOP)


def _runs(text: str, values: Sequence[str]) -> set[str]:
    words = [word.casefold() for word in _WORD.findall(_without(text, values))]
    return {" ".join(words[place : place + _ENGLISH_RUN]) for place in range(len(words) - _ENGLISH_RUN + 1)}


def _without(text: str, values: Sequence[str], instead: str = " 0 ") -> str:
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, instead) if value else text
    return text


def _scripts(text: str) -> set[str]:
    return {name for sign in text if sign.isalpha() and (name := _script_of(sign)) in _SCRIPTS}


@cache
def _script_of(sign: str) -> str:
    return unicodedata.name(sign, "").partition(" ")[0]


_KNOWN_SCRIPTS = "LATIN THAI LAO KHMER MYANMAR CJK HIRAGANA KATAKANA HANGUL CYRILLIC GREEK ARABIC HEBREW DEVANAGARI BENGALI TAMIL"
_SCRIPTS = frozenset(_KNOWN_SCRIPTS.split())


def _count_lines(text: str) -> int:
    return sum(bool(line.strip()) for line in text.splitlines())


def _count_sentences(text: str) -> int:
    return sum(bool(part.strip()) for part in _SENTENCE_END.split(text.strip()))


def _list(numbers: Sequence[str]) -> str:
    return ", ".join(numbers[:_MOST_LISTED]) + (", ..." if len(numbers) > _MOST_LISTED else "")


def _shorten(value: str) -> str:
    return value if len(value) <= _SHOWN else f"{value[:_SHOWN]}..."
