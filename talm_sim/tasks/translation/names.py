"""How a text says a value: as it is, as another value that counts, or by a name that a language has for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from talm_sim.common.toml_files import packaged_toml
from talm_sim.facts.spellings import fold_word, meanings_of, words_for
from talm_sim.tasks.translation.languages import LANGUAGES

__all__ = ["contains", "names_in", "places_of", "said_as", "says", "ways_to_say"]


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
    said = said_as(text, values)
    if not said:
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
