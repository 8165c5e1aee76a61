"""Sun, moon and seasons, from astral (Apache-2.0; sunrise and sunset, positions of cities) and ephem (MIT; moon and seasons)."""

from __future__ import annotations

import datetime as dt
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, HTTPException, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found
from talm_sim.world.stand_in import person_can, person_cannot
from talm_sim.world.zones import time_zone

if TYPE_CHECKING:
    from astral import LocationInfo

router = APIRouter()

MISPLACED = {"al jubail", "avarua", "kingston", "nouakchott", "sana", "sana'a"}
"""Cities that astral 3.2 puts in a wrong part of the globe."""


class MoonPhase(StrEnum):
    """A principal phase of the moon."""

    NEW_MOON = "new_moon"
    FIRST_QUARTER = "first_quarter"
    FULL_MOON = "full_moon"
    LAST_QUARTER = "last_quarter"


class SeasonEvent(StrEnum):
    """The start of an astronomical season."""

    MARCH_EQUINOX = "march_equinox"
    JUNE_SOLSTICE = "june_solstice"
    SEPTEMBER_EQUINOX = "september_equinox"
    DECEMBER_SOLSTICE = "december_solstice"


NEXT_PHASE = {
    MoonPhase.NEW_MOON: "next_new_moon",
    MoonPhase.FIRST_QUARTER: "next_first_quarter_moon",
    MoonPhase.FULL_MOON: "next_full_moon",
    MoonPhase.LAST_QUARTER: "next_last_quarter_moon",
}
NEXT_SEASON = {
    SeasonEvent.MARCH_EQUINOX: "next_vernal_equinox",
    SeasonEvent.JUNE_SOLSTICE: "next_summer_solstice",
    SeasonEvent.SEPTEMBER_EQUINOX: "next_autumnal_equinox",
    SeasonEvent.DECEMBER_SOLSTICE: "next_winter_solstice",
}
"""What ephem calls the search for each."""


class SunTimes(BaseModel):
    """Daylight of a city on one day, on its own clocks."""

    city: str
    date: dt.date
    sunrise: str
    sunset: str
    day_length: str
    timezone: str


class PhaseTime(BaseModel):
    """When the moon reaches a phase."""

    phase: MoonPhase
    date: dt.date
    time_utc: str
    weekday: str


class SeasonStart(BaseModel):
    """When an equinox or a solstice takes place."""

    event: SeasonEvent
    date: dt.date
    time_utc: str
    weekday: str


@lru_cache(maxsize=1)
def _cities() -> dict[str, LocationInfo]:
    """Astral's capitals and larger cities by folded name; of two with one name the first stays."""
    from astral import geocoder

    found: dict[str, LocationInfo] = {}
    for location in geocoder.all_locations(geocoder.database()):
        found.setdefault(fold(location.name), location)
    return {name: location for name, location in found.items() if name not in MISPLACED}


def _minute(moment: dt.datetime) -> dt.datetime:
    return (moment + dt.timedelta(seconds=30)).replace(second=0, microsecond=0)


@router.get(
    "/sun-times",
    operation_id="get_sun_times",
    summary="Compute the local times of sunrise and sunset and the length of the day in a large city on a date.",
    openapi_extra=person_cannot("Sunrise and sunset of a place and day are computed in many steps."),
)
async def get_sun_times(
    city: Annotated[str, Query(description="English name of a capital or large city.", examples=["London"], max_length=60)],
    date: Annotated[dt.date, Query(description="Date as YYYY-MM-DD.", examples=["2024-06-21"])],
) -> SunTimes:
    from astral.sun import sunrise, sunset

    location = _cities().get(fold(city))
    if location is None:
        raise not_found("city", city, [known.name for known in _cities().values()], hint="Only capitals and large cities are known.")
    if not 1950 <= date.year <= 2050:
        raise HTTPException(422, "date: must lie in the years 1950 to 2050")
    zone = time_zone(location.timezone)
    rise, fall = (moment(location.observer, date=date, tzinfo=zone) for moment in (sunrise, sunset))
    if fall < rise:  # in a northern summer the sun sets after midnight
        fall = sunset(location.observer, date=date + dt.timedelta(days=1), tzinfo=zone)
    minutes = round((fall - rise).total_seconds() / 60)
    return SunTimes(
        city=location.name,
        date=date,
        sunrise=f"{_minute(rise):%H:%M}",
        sunset=f"{_minute(fall):%H:%M}",
        day_length=f"{minutes // 60} h {minutes % 60} min",
        timezone=location.timezone,
    )


@router.get(
    "/moon-phase",
    operation_id="find_moon_phase",
    summary="Find the first new moon, full moon or quarter moon after a date.",
    openapi_extra=person_cannot("The phases of far years are computed in many steps."),
)
async def find_moon_phase(
    phase: Annotated[MoonPhase, Query(description="Phase to look for.", examples=["full_moon"])],
    after: Annotated[dt.date, Query(description="Date from whose midnight (UTC) on to look, as YYYY-MM-DD.", examples=["2024-01-01"])],
) -> PhaseTime:
    import ephem  # type: ignore[import-untyped]

    if not 1900 <= after.year <= 2100:
        raise HTTPException(422, "after: must lie in the years 1900 to 2100")
    moment = _minute(getattr(ephem, NEXT_PHASE[phase])(after).datetime())
    return PhaseTime(phase=phase, date=moment.date(), time_utc=f"{moment:%H:%M}", weekday=f"{moment:%A}")


@router.get(
    "/season-start",
    operation_id="get_season_start",
    summary="Get the date and time of an equinox or a solstice of a year.",
    openapi_extra=person_can("An almanac lists the equinoxes and solstices of many years."),
)
async def get_season_start(
    year: Annotated[int, Query(description="Year.", examples=[2024], ge=1900, le=2100)],
    event: Annotated[SeasonEvent, Query(description="Equinox or solstice.", examples=["june_solstice"])],
) -> SeasonStart:
    import ephem

    moment = _minute(getattr(ephem, NEXT_SEASON[event])(dt.date(year, 1, 1)).datetime())
    return SeasonStart(event=event, date=moment.date(), time_utc=f"{moment:%H:%M}", weekday=f"{moment:%A}")
