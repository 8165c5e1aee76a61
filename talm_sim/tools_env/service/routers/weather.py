"""Sun, moon, seasons and aviation weather.

Sources: astral (Apache-2.0; sunrise and sunset, positions of cities), ephem (MIT; moon and seasons), metar (BSD; report parser and NOAA's
list of stations).
"""

import datetime as dt
import re
from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import ephem  # type: ignore[import-untyped]
from astral import LocationInfo, geocoder
from astral.sun import sunrise, sunset
from fastapi import APIRouter, HTTPException, Path, Query
from metar.Metar import Metar, ParserError
from pydantic import BaseModel

from talm_sim.tools_env.service.lookup import fold, not_found

__all__ = ["router"]

router = APIRouter(prefix="/weather")

MISPLACED = {"al jubail", "avarua", "kingston", "nouakchott", "sana", "sana'a"}
"""Cities that astral 3.2 puts in a wrong part of the globe."""
ANGLE = re.compile(r"(\d+)-(\d+)(?:-(\d+))?([NSEW])")


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
    MoonPhase.NEW_MOON: ephem.next_new_moon,
    MoonPhase.FIRST_QUARTER: ephem.next_first_quarter_moon,
    MoonPhase.FULL_MOON: ephem.next_full_moon,
    MoonPhase.LAST_QUARTER: ephem.next_last_quarter_moon,
}
NEXT_SEASON = {
    SeasonEvent.MARCH_EQUINOX: ephem.next_vernal_equinox,
    SeasonEvent.JUNE_SOLSTICE: ephem.next_summer_solstice,
    SeasonEvent.SEPTEMBER_EQUINOX: ephem.next_autumnal_equinox,
    SeasonEvent.DECEMBER_SOLSTICE: ephem.next_winter_solstice,
}


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


class WeatherReport(BaseModel):
    """A decoded airport weather report."""

    station: str
    day_of_month: int
    time_utc: str
    wind_direction_deg: int | None
    wind_speed_kt: int | None
    wind_gust_kt: int | None
    visibility_m: int | None
    temperature_c: float | None
    dew_point_c: float | None
    pressure_hpa: int | None
    sky: str
    weather: str


class WeatherStation(BaseModel):
    """A station that issues airport weather reports."""

    code: str
    name: str
    state: str | None
    country: str
    latitude: float
    longitude: float


@lru_cache(maxsize=1)
def _cities() -> dict[str, LocationInfo]:
    """Astral's capitals and larger cities by folded name; of two with one name the first stays."""
    found: dict[str, LocationInfo] = {}
    for location in geocoder.all_locations(geocoder.database()):
        found.setdefault(fold(location.name), location)
    return {name: location for name, location in found.items() if name not in MISPLACED}


@lru_cache(maxsize=1)
def _stations() -> dict[str, WeatherStation]:
    """Stations by code, without the dozen whose position the list leaves out or garbles."""
    from metar.Station import stations

    listed: Iterable[Any] = stations.values()  # typed upstream as if positions were already numbers
    every = ((station, _degrees(station.position.latitude), _degrees(station.position.longitude)) for station in listed)
    return {
        station.id: WeatherStation(
            code=station.id,
            name=station.city.strip(),
            state=station.state or None,
            country=station.country,
            latitude=latitude,
            longitude=longitude,
        )
        for station, latitude, longitude in every
        if latitude is not None and longitude is not None
    }


def _degrees(angle: str) -> float | None:
    found = ANGLE.fullmatch(angle.strip())
    if found is None:
        return None
    degrees, minutes, seconds, side = found.groups()
    value = int(degrees) + int(minutes) / 60 + int(seconds or 0) / 3600
    return round(-value if side in "SW" else value, 3)


def _round_quantity(quantity: Any, unit: str) -> int | None:
    return None if quantity is None else round(quantity.value(unit))


def _minute(moment: dt.datetime) -> dt.datetime:
    return (moment + dt.timedelta(seconds=30)).replace(second=0, microsecond=0)


@router.get(
    "/sun-times",
    operation_id="get_sun_times",
    summary="Compute the local times of sunrise and sunset and the length of the day in a large city on a date.",
    openapi_extra={"x-human-replaceable": False},
)
async def get_sun_times(
    city: Annotated[str, Query(description="English name of a capital or large city.", examples=["London"], max_length=60)],
    date: Annotated[dt.date, Query(description="Date as YYYY-MM-DD.", examples=["2024-06-21"])],
) -> SunTimes:
    location = _cities().get(fold(city))
    if location is None:
        raise not_found("city", city, [known.name for known in _cities().values()], hint="Only capitals and large cities are known.")
    if not 1950 <= date.year <= 2050:
        raise HTTPException(422, "date: must lie in the years 1950 to 2050")
    zone = ZoneInfo(location.timezone)
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
    openapi_extra={"x-human-replaceable": False},
)
async def find_moon_phase(
    phase: Annotated[MoonPhase, Query(description="Phase to look for.", examples=["full_moon"])],
    after: Annotated[dt.date, Query(description="Date from whose midnight (UTC) on to look, as YYYY-MM-DD.", examples=["2024-01-01"])],
) -> PhaseTime:
    if not 1900 <= after.year <= 2100:
        raise HTTPException(422, "after: must lie in the years 1900 to 2100")
    moment = _minute(NEXT_PHASE[phase](after).datetime())
    return PhaseTime(phase=phase, date=moment.date(), time_utc=f"{moment:%H:%M}", weekday=f"{moment:%A}")


@router.get(
    "/season-start",
    operation_id="get_season_start",
    summary="Get the date and time of an equinox or a solstice of a year.",
    openapi_extra={"x-human-replaceable": True},
)
async def get_season_start(
    year: Annotated[int, Query(description="Year.", examples=[2024], ge=1900, le=2100)],
    event: Annotated[SeasonEvent, Query(description="Equinox or solstice.", examples=["june_solstice"])],
) -> SeasonStart:
    moment = _minute(NEXT_SEASON[event](dt.date(year, 1, 1)).datetime())
    return SeasonStart(event=event, date=moment.date(), time_utc=f"{moment:%H:%M}", weekday=f"{moment:%A}")


@router.get(
    "/decoded-report",
    operation_id="decode_metar",
    summary="Decode an airport's raw METAR weather report into wind, visibility, temperature, pressure and sky.",
    openapi_extra={"x-human-replaceable": False},
)
async def decode_metar(
    report: Annotated[
        str, Query(description="Raw METAR text.", examples=["EGLL 191220Z 24013KT 9999 FEW030 18/09 Q1018"], min_length=10, max_length=200)
    ],
) -> WeatherReport:
    try:
        # A report names no month: a fixed one keeps the answer independent of the day it is asked on.
        decoded = Metar(report, month=1, year=2000)
    except ParserError as error:
        raise HTTPException(422, f"report: no METAR report: {error}") from None
    if decoded.station_id is None or decoded.time is None:
        raise HTTPException(422, "report: must start with a station code and a time, as in 'EGLL 191220Z'")
    return WeatherReport(
        station=decoded.station_id,
        day_of_month=decoded.time.day,
        time_utc=f"{decoded.time:%H:%M}",
        wind_direction_deg=None if decoded.wind_dir is None else round(decoded.wind_dir.value()),
        wind_speed_kt=_round_quantity(decoded.wind_speed, "KT"),
        wind_gust_kt=_round_quantity(decoded.wind_gust, "KT"),
        visibility_m=_round_quantity(decoded.vis, "M"),
        temperature_c=None if decoded.temp is None else decoded.temp.value("C"),
        dew_point_c=None if decoded.dewpt is None else decoded.dewpt.value("C"),
        pressure_hpa=_round_quantity(decoded.press, "HPA"),
        sky=decoded.sky_conditions("; "),
        weather=decoded.present_weather(),
    )


@router.get(
    "/stations/{code}",
    operation_id="get_weather_station",
    summary="Get the place, country and coordinates of a weather station by its four-letter ICAO code.",
    openapi_extra={"x-human-replaceable": True},
)
async def get_weather_station(
    code: Annotated[str, Path(description="ICAO code of the station.", examples=["EGLL"], min_length=4, max_length=4)],
) -> WeatherStation:
    station = _stations().get(code.upper())
    if station is None:
        raise not_found("weather station", code, hint="Give a four-letter ICAO code such as EGLL.")
    return station
