"""Find an argument's value in a text, in the spellings people use for it."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator
from typing import Any

from talm_sim.language.calendar_words import MONTHS
from talm_sim.language.leaks import find_leak, mentions

_DATE = re.compile(r"(?:(?P<year>\d{4})-)?(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12]\d|3[01])")
_TIME = re.compile(r"(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?")
_NO_TIME = frozenset({"00:00:00", "23:59:59", "23:59:00", "00:00"})
"""Times that calls give if only a day was said."""
_NUMERALS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_MOST_READ = 500
"""Characters of a value that has a spelling: nobody says a longer one as it is."""
_QUOTE = "[\"'“”‘’`]"


def spans_of(text: str, value: Any) -> list[tuple[int, int]] | None:
    """Find where a text says a value, quotation marks included.

    Args:
        text: What somebody said.
        value: An argument's value: a text or a number. A moment is found by its date and its time.

    Returns:
        Beginning and end of each place, in order; None for a value that has no spelling (true, null, a list, an empty
        or a very long text).

    >>> spans_of("Book it for March 26th at 2 PM.", "2023-03-26 14:00:00")
    [(12, 22), (26, 30)]
    """
    if not (patterns := list(_patterns(value))):
        return None
    found: list[tuple[int, int]] = []
    for pattern in patterns:
        for match in re.finditer(rf"{_QUOTE}?(?<!\w)(?:{pattern})(?!\w){_QUOTE}?", text, re.IGNORECASE):
            start, end = _trim_quotes(text, *match.span())
            place = bisect(found, (start, end))
            if (not place or found[place - 1][1] <= start) and (place == len(found) or end <= found[place][0]):
                found.insert(place, (start, end))
    return found


def gives_value_away(text: str, value: Any) -> bool:
    """Return whether a text gives a value away: one word, number, date or time in any spelling; of several words, also a part of them."""
    if isinstance(value, list | tuple | dict):
        items = list(value.values()) if isinstance(value, dict) else list(value)
        return bool(items) and any(gives_value_away(text, item) for item in items)
    if isinstance(value, bool) or value is None:
        return False
    if isinstance(value, str) and " " in value.strip() and not _DATE.match(value.strip()):
        return bool(find_leak(text, value, ""))
    return bool(spans_of(text, value)) or mentions(text, value)


def _trim_quotes(text: str, start: int, end: int) -> tuple[int, int]:
    """Leave out a quotation mark that is on one side only."""
    opened, closed = re.match(_QUOTE, text[start]) is not None, re.match(_QUOTE, text[end - 1]) is not None
    return (start + (opened and not closed), end - (closed and not opened))


def _patterns(value: Any) -> Iterator[str]:
    """Return regular expressions of a value's spellings, the longest first."""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or not str(value).strip():
        return
    said = str(value).strip().strip("\"' ")
    if not 0 < len(said) <= _MOST_READ:
        return
    yield _literal_pattern(said)
    if "_" in said:
        yield _literal_pattern(said.replace("_", " "))
    if isinstance(value, float) and value.is_integer():
        yield _literal_pattern(str(int(value)))
    if said.isdigit() and int(said) < len(_NUMERALS):
        yield _NUMERALS[int(said)]
    if said.isdigit() and len(said) > 3:
        yield re.escape(f"{int(said):,}")
    date = _DATE.fullmatch(said) or _DATE.match(said)
    if date:
        yield from _date_patterns(date)
    for time in _TIME.finditer(said):
        if time[0] not in _NO_TIME and (date or time.span() == (0, len(said))):
            yield from _time_patterns(time)


def _literal_pattern(text: str) -> str:
    return r"\s+".join(map(re.escape, text.split()))


def _date_patterns(date: re.Match[str]) -> Iterator[str]:
    year, month, day = date["year"], int(date["month"]), int(date["day"])
    name = MONTHS[month - 1]
    spelt = f"(?:{name}|{name[:3]}\\.?|{name[:4]}\\.?)"
    nth = f"0?{day}(?:st|nd|rd|th)?"
    any_year = r"(?:,?\s+(?:of\s+)?\d{4})?"
    yield rf"(?:the\s+)?{nth}\s+(?:of\s+)?{spelt}{any_year}"
    yield rf"{spelt}\s+(?:the\s+)?{nth}{any_year}"
    if year:
        yield rf"{year}[-/.]0?{month}[-/.]0?{day}|0?{month}[-/.]0?{day}[-/.]{year}|0?{day}[-/.]0?{month}[-/.]{year}"
    yield rf"0?{month}[/-]0?{day}"


def _time_patterns(time: re.Match[str]) -> Iterator[str]:
    hour, minute = int(time["hour"]), time["minute"]
    half = "p" if hour >= 12 else "a"
    twelve = (hour - 1) % 12 + 1
    minutes = rf"[:.]{minute}(?::\d\d)?" if minute != "00" else r"(?:[:.]00(?::00)?)?"
    yield rf"0?{twelve}{minutes}\s*{half}(?:m\b|\.\s?m\.?)"
    yield rf"0?{hour}[:.]{minute}(?:[:.]\d\d)?"
    yield rf"0?{twelve}[:.]{minute}(?:[:.]\d\d)?"
    if minute == "00":
        yield rf"0?{twelve}\s*o['’]?clock"
        yield {0: "midnight", 12: "noon"}.get(hour, rf"{hour}:00")
