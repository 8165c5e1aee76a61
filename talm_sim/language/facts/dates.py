"""Read dates and clock times as people write them in an answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from talm_sim.language.facts.asserted import Cues, cues_of
from talm_sim.language.facts.cldr_spellings import month_of, normalize_answer

ClockTime = tuple[int, int, int | None]
"""Hour, minute, and the second if one was written."""

_YEAR = r"(?P<year>\d{4})"
_MONTH = r"(?P<month>[^\W\d_]{3,}(?<!\d))\.?"
_JOIN = r"(?:,? ?(?:of|de|del|di|do|the|in|năm)\b)?[ ,.-]{0,2}"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?<![\d-]){_YEAR}[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}})(?!\d)",
        rf"(?<![\d.,:])(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|[ºª°])?\.?(?: ?,)?[ -]?"
        rf"(?:(?:of|de|di|the) |d['\u2019] ?)?{_MONTH}(?:{_JOIN}{_YEAR}(?!\d))?",
        rf"(?<![^\W\d_]){_MONTH}[ -]?(?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?![\d:%]|[.,]\d)(?:{_JOIN}{_YEAR}(?!\d))?",
        rf"(?<![\d]){_YEAR}[ ,-]{{0,2}}{_MONTH}[ -]?(?P<day>\d{{1,2}})(?!\d)",
        rf"(?<![\d.])(?P<day>\d{{1,2}})\. ?(?P<month>\d{{1,2}})\.(?: ?{_YEAR}(?!\d)|(?! ?\d))",
        rf"(?:{_YEAR} ?[年년] ?)?(?P<month>\d{{1,2}}) ?[月월] ?(?P<day>\d{{1,2}}) ?[日号號일]",
        rf"(?<![\d.,:])(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?= ?(?:-|to|until|till) ?\d{{1,2}}(?:st|nd|rd|th)? {_MONTH}"
        rf"(?:{_JOIN}{_YEAR}(?!\d))?)",
        rf"(?<!\d)(?P<day>\d{{1,2}}) tháng (?P<month>\d{{1,2}})(?:,? (?:năm )?{_YEAR})?",
    )
)
_SAME_MONTH = re.compile(
    rf"(?:st|nd|rd|th)? ?(?:-|to|until|till) ?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?![\d:%]|[.,]\d)(?:{_JOIN}{_YEAR}(?!\d))?"
)
_SLASHED = re.compile(r"(?<![\d/.-])(\d{1,2})([/.-])(\d{1,2})\2(\d{4})(?![\d/])")
_TIME = re.compile(
    r"(?<![\d:.,])(?P<hour>\d{1,2}) ?(?::|h|時|点|點|시) ?(?P<minute>\d{2})(?: ?分|분|min)?(?:[: ]?(?P<second>(?<=:)\d{2})(?:\.\d+)?)?(?![\d:])"
    r"|(?<![\d:.,])(?P<dot_hour>\d{1,2})\.(?P<dot_minute>\d{2})(?!\.?\d)|(?<![\d:.,])(?P<military>[012]\d[0-5]\d)(?=(?:h| ?(?:hrs|hours"
    r"|uhr)\b))|(?<![\d:.,])(?P<only>\d{1,2})(?= ?(?:[ap]\.? ?m\b|uhr\b|h\b|o['\u2019]clock|heures?\b|horas?\b|時|点|點|시))",
    re.IGNORECASE,
)
_HALF = re.compile(r" ?(?:\(?)([ap])\.? ?m\b", re.IGNORECASE)
_DOT_TIME_BEFORE = re.compile(
    r"(?:\b(?:at|um|alle|ore|às|as|a las|kl|à|gegen|by|rises|sets|time:?|zeit:?)|\d{1,2}\.[0-5]\d ?(?:-|to|until|till))\.? ?$", re.IGNORECASE
)
_DOT_TIME_BEHIND = re.compile(
    r" ?(?:uhr\b|[ap]\.? ?m\b|hrs?\b|h\b|o['\u2019]clock|utc\b|gmt\b|local time"
    r"|(?:-|to|until|till) ?[012]?\d\.[0-5]\d(?!\d| ?[€$£%]))",
    re.IGNORECASE,
)
_HOUR_PLACES = {"noon": 12, "midday": 12, "midnight": 0, "mittag": 12, "mitternacht": 0, "midi": 12, "minuit": 0, "mediodía": 12,
                "medianoche": 0,
                "mezzogiorno": 12, "mezzanotte": 0, "meio-dia": 12, "meia-noite": 0, "正午": 12}  # fmt: skip
_NAMED_HOUR = re.compile("|".join(rf"(?<![\w-]){word}(?!\w)" if word[0].isascii() else word for word in _HOUR_PLACES), re.IGNORECASE)
_HOURS = "twelve one two three four five six seven eight nine ten eleven".split()  # noqa: SIM905
_MINUTES = {"": 0, "five": 5, "ten": 10, "fifteen": 15, "quarter": 15, "a quarter": 15, "twenty": 20, "twenty five": 25, "half": 30,
            "thirty": 30, "thirty five": 35, "forty": 40, "forty five": 45, "fifty": 50, "fifty five": 55}  # fmt: skip
_HOUR_WORD = "|".join(_HOURS)
_SINGLE = "|".join(word.replace(" ", "[- ]") for word in sorted(_MINUTES, key=len, reverse=True) if "y" in word or word in {"ten", "fifteen"})
_IN_WORDS = re.compile(
    rf"\b(?:(?P<minutes>(?:a )?quarter|half|twenty[- ]five|five|ten|twenty|\d{{1,2}})(?: minutes)? (?P<way>past|after|to|before|of|till)"
    rf" (?P<hour>{_HOUR_WORD}|noon|midnight|\d{{1,2}}(?![\d:.]))"
    rf"|half (?P<half>{_HOUR_WORD})(?! ?(?:%|percent|[a-z]+s\\b))"
    rf"|(?P<clock>{_HOUR_WORD})(?= o['\u2019]clock| ?[ap]\.?m\b| in the (?:morning|afternoon|evening)| tonight| at night)"
    rf"|(?:(?<=at )|(?<=by )|(?<=from )|(?<=until )|(?<=till )|(?<=: ))(?P<bare>{_HOUR_WORD})(?:[- ](?P<after>{_SINGLE}))?"
    r"(?! ?(?:%|percent|[a-z]+s\b)))\b",
    re.IGNORECASE,
)
"""Whole words where a script has spaces: "afternoon", "Nachmittag" and "après-midi" hold a name of an hour and are none."""
_ISO = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})(?:[T ](?P<hour>\d{2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
    r"|(?P<h>\d{1,2}):(?P<m>\d{2})(?::(?P<s>\d{2}))?"
)


@dataclass(frozen=True, slots=True)
class WrittenDate:
    """A day found in a text; `year` is None if none is written with it."""

    year: int | None
    month: int
    day: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class WrittenTime:
    """A clock time found in a text."""

    clock: ClockTime
    start: int
    end: int


def find_dates(text: str, language: str = "en") -> list[WrittenDate]:
    """Find days: ISO, "10 February 2024", "Feb. 10", "10.02.2024", "26 de septiembre de 2026", "2026年9月26日".

    Forms with slashes that have two readings count in languages that put the day first: in English 02/10/2024 could be two dates and is none.

    >>> [(day.year, day.month, day.day) for day in find_dates("On the 10th of February 2024 or Mar 3.")]
    [(2024, 2, 10), (None, 3, 3)]
    """
    text = normalize_answer(text)
    found: dict[tuple[int, int, int], WrittenDate] = {}
    for form in _FORMS:
        for match in form.finditer(text):
            word = match["month"]
            month = int(word) if word.isdigit() else month_of(word)
            year = int(match["year"]) if match["year"] else None
            if month and _is_day(year, month, int(match["day"])):
                day = WrittenDate(year, month, int(match["day"]), match.start(), match.end())
                at = (day.start, day.month, day.day)
                if at not in found or found[at].year is None:
                    found[at] = day
    for match in _SLASHED.finditer(text):
        first, second, year = int(match[1]), int(match[3]), int(match[4])
        readings = {(second, first)} if language not in {"en", "other"} or match[2] == "." else {(first, second), (second, first)}
        readings = {reading for reading in readings if _is_day(year, *reading)}
        if len(readings) == 1:
            ((month, number),) = readings
            found[match.start(), month, number] = WrittenDate(year, month, number, match.start(), match.end())
    for one in [*found.values()]:
        to = _SAME_MONTH.match(text, one.end) if text[one.start].isalpha() and one.year is None else None
        if to and _is_day(None, one.month, int(to["day"])):
            year = int(to["year"]) if to["year"] else None
            found[to.start("day"), one.month, int(to["day"])] = WrittenDate(year, one.month, int(to["day"]), to.start("day"), to.end())
    kept: list[WrittenDate] = []
    for day in sorted(found.values(), key=lambda day: (day.start, day.year is None)):
        last = kept[-1] if kept else None
        if last is None or day.start >= last.end:
            kept.append(day)
        elif last.year is None and day.year is not None:
            # "February 10" is a part of "10 2024", as "2024 February" is of "2024 February 10".
            kept[-1] = day
    return kept


def find_slashed(text: str, locale: str = "") -> Iterator[tuple[WrittenDate, str]]:
    """Yield the readings of days such as 4/12/2026, each with why it is unsure; empty where the locale says which one is meant."""
    for match in _SLASHED.finditer(text):
        first, second, year = int(match[1]), int(match[3]), int(match[4])
        american = locale.lower() in {"en-us", "en_us"}
        readings = [(first, second)] if american else [(second, first)] if locale[2:3] in {"-", "_"} else [(first, second), (second, first)]
        readings = [reading for reading in readings if _is_day(year, *reading)]
        why = f"'{match[0]}' is one day in America and another elsewhere" if len(readings) > 1 else ""
        yield from ((WrittenDate(year, *reading, *match.span()), why) for reading in readings)


def _is_day(year: int | None, month: int, day: int) -> bool:
    try:
        date(2000 if year is None else year, month, day)
    except ValueError:
        return False
    return True


def find_times(text: str, language: str = "en") -> list[WrittenTime]:
    """Find clock times, those with am and pm turned to 24 hours: "5:42", "7 a.m.", "0700 hrs", "5.12 Uhr", "19 h 50", "午後7時50分".

    >>> [time.clock for time in find_times("from 5:42 a.m. to 14:30:15, then 7 pm")]
    [(5, 42, None), (14, 30, 15), (19, 0, None)]
    """
    text, cues = normalize_answer(text), cues_of(language)
    found = [WrittenTime((_HOUR_PLACES[match[0].lower()], 0, None), *match.span()) for match in _NAMED_HOUR.finditer(text)]
    if language == "en":
        found += [WrittenTime(clock, *match.span()) for match in _IN_WORDS.finditer(text) for clock in _clocks_in_words(match, cues)]
    for match in _TIME.finditer(text):
        if (clock := _clock(match, cues)) is not None:
            found.append(WrittenTime(clock, *match.span()))
    return sorted(found, key=lambda time: time.start)


def _clocks_in_words(match: re.Match[str], cues: Cues) -> Iterator[ClockTime]:
    """Yield what a time in words may be: both halves of the day where nothing says which."""
    said = (match["hour"] or match["half"] or match["clock"] or match["bare"]).lower()
    hour = _HOUR_PLACES.get(said) if said in _HOUR_PLACES else int(said) if said.isdigit() else _HOURS.index(said)
    minutes = _MINUTES[(match["minutes"] or "").lower().replace("-", " ")] if not (match["minutes"] or "").isdigit() else int(match["minutes"])
    minutes = 30 if match["half"] else minutes
    minutes = _MINUTES[match["after"].lower().replace("-", " ").strip()] if match["after"] else minutes
    if hour is None or hour > 24:
        return
    total = hour * 60 + (-minutes if (match["way"] or "").lower() in {"to", "before", "of", "till"} else minutes)
    behind, before = match.string[match.end() : match.end() + 24], match.string[max(0, match.start() - 24) : match.start()]
    half = _HALF.match(behind)
    late = (half and half[1].lower() == "p") or _is_near(cues.afternoon, behind) or cues.afternoon.search(before) is not None
    early = (half and half[1].lower() == "a") or _is_near(cues.morning, behind) or cues.morning.search(before) is not None
    if said not in _HOUR_PLACES and not early and hour <= 12:
        yield (total // 60 % 12 + 12) % 24, total % 60, None
    if not late or said in _HOUR_PLACES:
        yield total // 60 % (24 if hour > 12 or said in _HOUR_PLACES else 12), total % 60, None


def _clock(match: re.Match[str], cues: Cues) -> ClockTime | None:
    text = match.string
    if match["military"]:
        hour, minute = int(match["military"][:2]), int(match["military"][2:])
    elif match["dot_hour"]:
        before, behind = text[max(0, match.start() - 12) : match.start()], text[match.end() : match.end() + 12]
        if not (_DOT_TIME_BEHIND.match(behind) or _DOT_TIME_BEFORE.search(before)):
            return None
        hour, minute = int(match["dot_hour"]), int(match["dot_minute"])
    else:
        hour, minute = int(match["hour"] or match["only"]), int(match["minute"] or 0)
    if hour > 24 or minute > 59:
        return None
    half = _HALF.match(text, match.end(), match.end() + 8)
    behind, before = text[match.end() : match.end() + 24], text[max(0, match.start() - 8) : match.start()]
    if half:
        hour = hour % 12 + (12 if half[1].lower() == "p" else 0)
    elif hour <= 12 and (_is_near(cues.afternoon, behind) or _ends_with_cue(cues.afternoon, before)):
        hour = hour % 12 + 12
    elif hour == 12 and _is_near(cues.morning, behind):
        hour = 0
    return hour, minute, int(match["second"]) if match["second"] else None


def _is_near(cue: re.Pattern[str], behind: str) -> bool:
    found = cue.search(behind)
    return found is not None and len(behind[: found.start()].split()) <= 1 and not re.search(r"[.,;\d\n]", behind[: found.start()])


def _ends_with_cue(cue: re.Pattern[str], before: str) -> bool:
    """Return whether the cue follows, as in the CJK order: 午後7時."""
    found = [match.end() for match in cue.finditer(before)]
    return bool(found) and not before[found[-1] :].strip(" のに") and not before.isascii()


def time_is_stated(wanted: ClockTime, found: ClockTime) -> bool:
    """Return whether a time is the one wanted; seconds may be left out, but not differ."""
    return found[:2] == wanted[:2] and (found[2] is None or found[2] == (wanted[2] or 0))


def iso_parts(text: str) -> tuple[date | None, ClockTime | None] | None:
    """Split a value that is an ISO date, an ISO date and time, or a clock time; None if it is none of these.

    >>> iso_parts("2024-02-10T06:05")
    (datetime.date(2024, 2, 10), (6, 5, None))
    """
    if (match := _ISO.fullmatch(text.strip())) is None:
        return None
    day = None
    if match["date"]:
        try:
            day = date.fromisoformat(match["date"])
        except ValueError:
            return None
    hour, minute, second = match["hour"] or match["h"], match["minute"] or match["m"], match["second"] or match["s"]
    return day, (int(hour), int(minute), int(second) if second else None) if hour else None
