"""Does a fact stand in an answer? The deterministic half of the `reference` judge."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from talm_sim.judges.dates import ClockTime, iso_parts, time_is_stated, written_dates, written_times
from talm_sim.judges.numbers import WrittenNumber, number_is_stated, written_numbers
from talm_sim.types import Fact

__all__ = ["AnswerText", "normalize"]

_LATIN_MARKS = re.compile("[\u0300-\u036f]")
_VERSION_MARK = re.compile(r"\bv(?=\d+\.\d)")
_GROUPS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_TOKEN = re.compile(r"\d+(?:\.\d+)+|\d+(?=[^\W\d_])|[#\u266f]?[^\W_]+(?:[#+\u266f\u266d]+[^\W_]*)*")
_WHOLE_NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d*)(?:\.\d+)?")
_SENTENCE_END = re.compile(r"[.!?;](?=\s|$)|\n")
_YES, _NO = frozenset({"yes", "true"}), frozenset({"no", "false"})
_NEGATION = frozenset({"not", "no", "never", "neither", "nor", "without", "false", "cannot"})
_CONTRACTION = re.compile(r"n['\u2019]t\b", re.IGNORECASE)
_FILLER = frozenset({"is", "has", "the", "a", "an", "of", "in", "was", "are", "be"})


def normalize(text: str) -> str:
    """Bring a text to one form: case, accents, width, markdown and punctuation do not matter.

    What is left are words parted by single spaces, with a space at both ends. A decimal point inside a number stays, thousands separators
    go, and a sharp or plus that belongs to a name stays ("C#" is not "C").

    >>> normalize("**São Paulo** has 1,234 shops.")
    ' sao paulo has 1234 shops '
    """
    text = unicodedata.normalize("NFKC", text).casefold()
    text = unicodedata.normalize("NFKC", _LATIN_MARKS.sub("", unicodedata.normalize("NFD", text)))
    text = _GROUPS.sub(lambda match: match[0].replace(",", ""), _VERSION_MARK.sub("", text))
    return f" {' '.join(_TOKEN.findall(text))} "


@dataclass(frozen=True, slots=True)
class AnswerText:
    """A final answer, read once and then asked for any number of facts."""

    text: str
    words: str
    numbers: tuple[WrittenNumber, ...]
    dates: frozenset[date]
    times: list[ClockTime]

    @classmethod
    def of(cls, answer: str) -> AnswerText:
        """Read an answer."""
        return cls(answer, normalize(answer), tuple(written_numbers(answer)), written_dates(answer), written_times(answer))

    def states(self, fact: Fact) -> bool:
        """Tell whether the fact stands in the answer: its value, or one of its accepted spellings.

        >>> answer = AnswerText.of("Noi Bai lies 39 ft above the sea; the flight is on February 10, 2024.")
        >>> answer.states(Fact(name="elevation", value=39)), answer.states(Fact(name="day", value="2024-02-10"))
        (True, True)
        """
        return self._states_value(fact) or any(self._states_text(spelling) for spelling in fact.accepted)

    def _states_value(self, fact: Fact) -> bool:
        value = fact.value
        if isinstance(value, bool):
            return self._states_truth(fact.name, value)
        if isinstance(value, str):
            return self._states_text(value)
        return number_is_stated(value, self.numbers)

    def _states_text(self, value: str) -> bool:
        if _WHOLE_NUMBER.fullmatch(value.strip()):
            return number_is_stated(Decimal(value.strip()), self.numbers)
        parts = iso_parts(value)
        if parts is not None:
            day, time = parts
            return (day is None or day in self.dates) and (time is None or time_is_stated(time, self.times))
        words = normalize(value)
        # A value of symbols alone has no words to find.
        return words in self.words if words.strip() else bool(value.strip()) and value.strip() in self.text

    def _states_truth(self, name: str, value: bool) -> bool:
        """A sentence about the named thing decides by whether it denies; without one, a bare yes or no does, unless both stand."""
        topic = set(normalize(name.replace("_", " ")).split()) - _FILLER
        for sentence in _SENTENCE_END.split(self.text):
            words = set(normalize(_CONTRACTION.sub(" not", sentence)).split())
            if topic and topic <= words:
                return value is not bool(words & _NEGATION)
        words = set(self.words.split())
        said, denied = (_YES, _NO) if value else (_NO, _YES)
        return bool(words & said) and not words & denied
