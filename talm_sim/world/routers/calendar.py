"""Public holidays, working days, the Islamic calendar and changes of clocks.

Sources: holidays (MIT), hijridate (MIT; Umm al-Qura tables), tzdata (Apache-2.0; the IANA time zone database, in the public domain).
"""

from __future__ import annotations

import datetime as dt
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

from fastapi import APIRouter, HTTPException, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found
from talm_sim.world.stand_in import person_can, person_cannot

if TYPE_CHECKING:
    import holidays

router = APIRouter(prefix="/calendar")

MOST_LISTED = 10
FIRST_YEAR, LAST_YEAR = 1990, 2035

CountryCode = Annotated[str, Query(description="Two-letter country code.", examples=["VN"], min_length=2, max_length=2)]
Year = Annotated[int, Query(description="Year of the Gregorian calendar.", examples=[2024], ge=FIRST_YEAR, le=LAST_YEAR)]


@lru_cache(maxsize=64)
def _holidays(country_code: str, year: int) -> dict[dt.date, str]:
    """Public holidays of one year with their English names, by date."""
    return dict(sorted(_country(country_code, year).items()))


@lru_cache(maxsize=64)
def _working_calendar(country_code: str) -> holidays.HolidayBase:
    """The country's calendar over all years; it works out each year when first asked for a day of it."""
    return _country(country_code)


def _country(country_code: str, year: int | None = None) -> holidays.HolidayBase:
    import holidays

    try:
        return holidays.country_holidays(country_code.upper(), language="en_US", years=year)
    except NotImplementedError:
        raise not_found("holiday calendar for country", country_code, hint="Give a two-letter ISO code such as VN.") from None


class Holiday(BaseModel):
    """One public holiday."""

    date: dt.date
    weekday: str
    name: str


class HolidayMatches(BaseModel):
    """Holidays of one year that bear a name."""

    country_code: str
    year: int
    matches: list[Holiday]


class MonthHolidays(BaseModel):
    """Public holidays of one month."""

    country_code: str
    year: int
    month: int
    count: int
    holidays: list[Holiday]


class WorkingDays(BaseModel):
    """Working days in a period."""

    country_code: str
    start: dt.date
    end: dt.date
    working_days: int
    holidays_on_weekdays: int


class Deadline(BaseModel):
    """The day that lies a number of working days after another."""

    country_code: str
    start: dt.date
    working_days: int
    date: dt.date
    weekday: str


class HijriDate(BaseModel):
    """A day in the Islamic calendar."""

    gregorian_date: dt.date
    hijri_date: str
    day: int
    month_name: str
    year: int
    weekday: str


class ClockChange(BaseModel):
    """A moment at which clocks are put forward or back."""

    date: dt.date
    weekday: str
    local_time_before: str
    minutes_forward: int
    utc_offset_after: str


class ClockChanges(BaseModel):
    """The changes of a time zone's clocks in a year."""

    timezone: str
    year: int
    changes: list[ClockChange]


@lru_cache(maxsize=1)
def _zones() -> dict[str, str]:
    """Names of time zones by their folded form, from the pinned database and not the machine's own."""
    names = (files("tzdata") / "zones").read_text(encoding="utf-8").split()
    return {fold(name): name for name in names if "/" in name and not name.startswith("Etc/")}


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    with (files("tzdata") / "zoneinfo").joinpath(*name.split("/")).open("rb") as data:
        return ZoneInfo.from_file(data, key=name)


@lru_cache(maxsize=256)
def _clock_changes(name: str, year: int) -> list[ClockChange]:
    """Find the changes: days whose ends differ, and in these the minute, by halving."""
    zone = _zone(name)

    def offset(minute: dt.datetime) -> dt.timedelta:
        return minute.replace(tzinfo=dt.UTC).astimezone(zone).utcoffset() or dt.timedelta(0)

    found = []
    first = dt.datetime(year, 1, 1) - offset(dt.datetime(year, 1, 1))
    for number in range(366 + 1):
        early = first + dt.timedelta(days=number)
        late = early + dt.timedelta(days=1)
        if offset(early) == offset(late):
            continue
        before = offset(early)
        while late - early > dt.timedelta(minutes=1):
            middle = early + dt.timedelta(minutes=(late - early) // dt.timedelta(minutes=2))
            early, late = (middle, late) if offset(middle) == before else (early, middle)
        local = late + before
        if local.year == year:
            found.append(_change(local, before, offset(late)))
    return found


def _change(local: dt.datetime, before: dt.timedelta, after: dt.timedelta) -> ClockChange:
    minutes = after // dt.timedelta(minutes=1)
    return ClockChange(
        date=local.date(),
        weekday=local.strftime("%A"),
        local_time_before=f"{local:%H:%M}",
        minutes_forward=(after - before) // dt.timedelta(minutes=1),
        utc_offset_after=f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}",
    )


def _to_holidays(found: dict[dt.date, str]) -> list[Holiday]:
    return [Holiday(date=day, weekday=day.strftime("%A"), name=name) for day, name in list(found.items())[:MOST_LISTED]]


def _check_period(start: dt.date, end: dt.date) -> None:
    if start.year < FIRST_YEAR or end.year > LAST_YEAR:
        raise HTTPException(422, f"start, end: must lie in the years {FIRST_YEAR} to {LAST_YEAR}")
    if end < start:
        raise HTTPException(422, "end: must not lie before start")


@router.get(
    "/holiday",
    operation_id="find_holiday",
    summary="Find on which date a country's public holiday falls in a year.",
    openapi_extra=person_can("A calendar of the country shows it."),
)
async def find_holiday(
    country_code: CountryCode,
    year: Year,
    name: Annotated[str, Query(description="English name of the holiday, or part of it.", examples=["Lunar New Year"], min_length=3)],
) -> HolidayMatches:
    every = _holidays(country_code, year)
    wanted = fold(name)
    found = {day: title for day, title in every.items() if wanted in fold(title)}
    if not found:
        raise not_found(f"public holiday in {country_code.upper()} in {year} called", name, list(dict.fromkeys(every.values())))
    return HolidayMatches(country_code=country_code.upper(), year=year, matches=_to_holidays(found))


@router.get(
    "/holidays",
    operation_id="list_month_holidays",
    summary="List a country's public holidays in one month of a year.",
    openapi_extra=person_can("A calendar of the country shows them."),
)
async def list_month_holidays(
    country_code: CountryCode,
    year: Year,
    month: Annotated[int, Query(description="Month as a number.", examples=[4], ge=1, le=12)],
) -> MonthHolidays:
    found = {day: name for day, name in _holidays(country_code, year).items() if day.month == month}
    return MonthHolidays(country_code=country_code.upper(), year=year, month=month, count=len(found), holidays=_to_holidays(found))


@router.get(
    "/working-days",
    operation_id="count_working_days",
    summary="Count the working days of a country in a period, without weekends and public holidays; both ends are included.",
    openapi_extra=person_cannot("Counting days over several months, without a country's holidays, is slow and goes wrong."),
)
async def count_working_days(
    country_code: CountryCode,
    start: Annotated[dt.date, Query(description="First day, as YYYY-MM-DD.", examples=["2024-02-01"])],
    end: Annotated[dt.date, Query(description="Last day, as YYYY-MM-DD.", examples=["2024-02-29"])],
) -> WorkingDays:
    _check_period(start, end)
    calendar = _working_calendar(country_code)
    every = (start + dt.timedelta(days=offset) for offset in range((end - start).days + 1))
    return WorkingDays(
        country_code=country_code.upper(),
        start=start,
        end=end,
        working_days=calendar.get_working_days_count(start, end),
        holidays_on_weekdays=sum(day in calendar and not calendar.is_weekend(day) for day in every),
    )


@router.get(
    "/deadline",
    operation_id="add_working_days",
    summary="Find the date that lies a number of working days after a day, by a country's weekends and public holidays.",
    openapi_extra=person_cannot("Counting days over several months, without a country's holidays, is slow and goes wrong."),
)
async def add_working_days(
    country_code: CountryCode,
    start: Annotated[dt.date, Query(description="Day to count from, not counted itself, as YYYY-MM-DD.", examples=["2024-02-05"])],
    working_days: Annotated[int, Query(description="How many working days to add.", examples=[10], ge=1, le=250)],
) -> Deadline:
    _check_period(start, start + dt.timedelta(days=2 * working_days))
    reached = _working_calendar(country_code).get_nth_working_day(start, working_days)
    return Deadline(country_code=country_code.upper(), start=start, working_days=working_days, date=reached, weekday=reached.strftime("%A"))


@router.get(
    "/hijri",
    operation_id="convert_to_hijri",
    summary="Convert a Gregorian date to the Islamic (Umm al-Qura) calendar.",
    openapi_extra=person_cannot("The months follow the tables of Umm al-Qura, which few people have."),
)
async def convert_to_hijri(
    date: Annotated[dt.date, Query(description="Gregorian date from 1924-08-01 to 2077-11-16, as YYYY-MM-DD.", examples=["2024-03-11"])],
) -> HijriDate:
    from hijridate import Gregorian

    try:
        hijri = Gregorian.fromdate(date).to_hijri()
    except OverflowError:
        raise not_found("Islamic date for", date.isoformat(), hint="The tables run from 1924-08-01 to 2077-11-16.") from None
    return HijriDate(
        gregorian_date=date,
        hijri_date=hijri.isoformat(),
        day=hijri.day,
        month_name=hijri.month_name(),
        year=hijri.year,
        weekday=date.strftime("%A"),
    )


@router.get(
    "/clock-changes",
    operation_id="list_clock_changes",
    summary="List when the clocks of a time zone were or will be changed in a year, as for summer time, and by how many minutes.",
    openapi_extra=person_cannot("The rules of past years are rows of the time zone database.", record=True),
)
async def list_clock_changes(
    timezone: Annotated[str, Query(description="Name in the IANA database.", examples=["Europe/Dublin"], min_length=3, max_length=40)],
    year: Annotated[int, Query(description="Year.", examples=[2001], ge=1970, le=LAST_YEAR)],
) -> ClockChanges:
    name = _zones().get(fold(timezone))
    if name is None:
        raise not_found("time zone", timezone, _zones().values(), hint="Give a name such as Europe/Dublin.")
    return ClockChanges(timezone=name, year=year, changes=_clock_changes(name, year)[:MOST_LISTED])
