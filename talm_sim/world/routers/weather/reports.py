"""Aviation weather, from metar (BSD; report parser and NOAA's list of stations)."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import not_found
from talm_sim.world.stand_in import person_can, person_cannot

router = APIRouter()

ANGLE = re.compile(r"(\d+)-(\d+)(?:-(\d+))?([NSEW])")


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


@router.get(
    "/decoded-report",
    operation_id="decode_metar",
    summary="Decode an airport's raw METAR weather report into wind, visibility, temperature, pressure and sky.",
    openapi_extra=person_cannot("Only pilots and forecasters read the code."),
)
async def decode_metar(
    report: Annotated[
        str, Query(description="Raw METAR text.", examples=["EGLL 191220Z 24013KT 9999 FEW030 18/09 Q1018"], min_length=10, max_length=200)
    ],
) -> WeatherReport:
    from metar.Metar import Metar, ParserError

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
    openapi_extra=person_can("A search for the four letters shows the place."),
)
async def get_weather_station(
    code: Annotated[str, Path(description="ICAO code of the station.", examples=["EGLL"], min_length=4, max_length=4)],
) -> WeatherStation:
    station = _stations().get(code.upper())
    if station is None:
        raise not_found("weather station", code, hint="Give a four-letter ICAO code such as EGLL.")
    return station
