"""Dates and clock times as people write them in an answer."""

from __future__ import annotations

import re
from datetime import date

__all__ = ["iso_parts", "time_is_stated", "written_dates", "written_times"]

ClockTime = tuple[int, int, int | None]
"""Hour, minute, and the second where one was written."""

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december")
_MONTH_OF = {name[:length]: number for number, name in enumerate(_MONTHS, 1) for length in (3, None)} | {"sept": 9}
_MONTH = r"(?P<month>" + "|".join(sorted(_MONTH_OF, key=len, reverse=True)) + r")\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?<![\d-]){_YEAR}[-\u2010\u2011/.](?P<month>\d{{1,2}})[-\u2010\u2011/.](?P<day>\d{{1,2}})(?!\d)",
        rf"(?<!\d){_DAY}\s*(?:of\s+)?[-\s]?{_MONTH}[-,\s]*{_YEAR}(?!\d)",
        rf"\b{_MONTH}[-\s]*{_DAY}[-,\s]+{_YEAR}(?!\d)",
        rf"\b{_YEAR}[-,\s]+{_MONTH}[-\s]*{_DAY}\b",
        rf"(?<![\d.])(?P<day>\d{{1,2}})\.\s?(?P<month>\d{{1,2}})\.\s?{_YEAR}(?!\d)",
    )
)
_SLASHED = re.compile(r"(?<![\d/])(\d{1,2})/(\d{1,2})/(\d{4})(?![\d/])")
_TIME = re.compile(r"(?<![\d:])(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(?![\d:])(?:\s*([ap])\.?\s?m\b)?", re.IGNORECASE)
_ISO = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})(?:[T ](?P<hour>\d{2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
    r"|(?P<h>\d{1,2}):(?P<m>\d{2})(?::(?P<s>\d{2}))?"
)


def written_dates(text: str) -> frozenset[date]:
    """Find whole dates (day, month and year): ISO, "10 February 2024", "Feb. 10, 2024", "10.02.2024".

    Of the forms with slashes only those with one reading count: 02/10/2024 is two dates, 25/12/2024 one.

    >>> sorted(str(day) for day in written_dates("On the 10th of February 2024 or Mar 3, 2024."))
    ['2024-02-10', '2024-03-03']
    """
    found: set[date | None] = set()
    for form in _FORMS:
        for match in form.finditer(text):
            month = match["month"].lower()
            found.add(_day(int(match["year"]), _MONTH_OF.get(month) or int(month), int(match["day"])))
    for match in _SLASHED.finditer(text):
        first, second, year = (int(part) for part in match.groups())
        readings = {_day(year, first, second), _day(year, second, first)} - {None}
        if len(readings) == 1:
            found |= readings
    return frozenset(day for day in found if day is not None)


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def written_times(text: str) -> list[ClockTime]:
    """Find clock times in a text, those with am and pm turned to 24 hours.

    >>> written_times("from 5:42 a.m. to 14:30:15")
    [(5, 42, None), (14, 30, 15)]
    """
    found: list[ClockTime] = []
    for match in _TIME.finditer(text):
        hour, minute = int(match[1]), int(match[2])
        if match[4]:
            hour = hour % 12 + (12 if match[4].lower() == "p" else 0)
        found.append((hour, minute, int(match[3]) if match[3] else None))
    return found


def time_is_stated(wanted: ClockTime, times: list[ClockTime]) -> bool:
    """Tell whether a time stands among `times`; seconds may be left out, but not be others."""
    return any(found[:2] == wanted[:2] and (found[2] is None or found[2] == (wanted[2] or 0)) for found in times)


def iso_parts(text: str) -> tuple[date | None, ClockTime | None] | None:
    """Split a value that is an ISO date, an ISO date and time, or a clock time; None where it is none of these.

    >>> iso_parts("2024-02-10T06:05")
    (datetime.date(2024, 2, 10), (6, 5, None))
    """
    match = _ISO.fullmatch(text.strip())
    if match is None:
        return None
    day = _day(*(int(part) for part in match["date"].split("-"))) if match["date"] else None
    if match["date"] and day is None:
        return None
    hour, minute, second = match["hour"] or match["h"], match["minute"] or match["m"], match["second"] or match["s"]
    return day, (int(hour), int(minute), int(second) if second else None) if hour else None
