"""The weather of past days and of the usual day, from NOAA by way of vega-datasets (MIT), and wind chill."""

import datetime as dt
from functools import lru_cache
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.stand_in import person_can, person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter()

COVERED = "The observations run from 2012-01-01 to 2015-12-31."
WET_MM = 0.2
"""From this much rain on, a day counts as one with precipitation."""


class DayWeather(BaseModel):
    """What was observed in Seattle on a day."""

    date: dt.date
    precipitation_mm: float
    temperature_max_c: float
    temperature_min_c: float
    wind_speed_m_per_s: float
    conditions: str


class MonthWeather(BaseModel):
    """What was observed in Seattle in a month."""

    year: int
    month: int
    precipitation_mm: float
    days_with_precipitation: int
    mean_temperature_max_c: float
    warmest_day: dt.date
    temperature_max_c: float
    coldest_day: dt.date
    temperature_min_c: float
    wettest_day: dt.date | None
    wettest_day_mm: float


class NormalTemperature(BaseModel):
    """The average of thirty years at one hour."""

    city: str
    month: int
    day: int
    hour: int
    normal_temperature_f: float
    normal_temperature_c: float


class WindChill(BaseModel):
    """How cold the air feels in the wind."""

    temperature_c: float
    wind_speed_km_per_h: float
    wind_chill_c: float


@lru_cache(maxsize=1)
def _days() -> dict[dt.date, DayWeather]:
    found = {}
    for row in read_data("weather", "seattle_days.csv.gz"):
        date = dt.date.fromisoformat(row["date"])
        found[date] = DayWeather(
            date=date,
            precipitation_mm=float(row["precipitation"]),
            temperature_max_c=float(row["temp_max"]),
            temperature_min_c=float(row["temp_min"]),
            wind_speed_m_per_s=float(row["wind"]),
            conditions=row["weather"],
        )
    return found


@lru_cache(maxsize=1)
def _normals() -> dict[tuple[str, str, str], float]:
    return {(row["city"], row["day"], row["hour"]): float(row["fahrenheit"]) for row in read_data("weather", "normals.csv.gz")}


@router.get(
    "/seattle/days/{date}",
    operation_id="get_seattle_daily_weather",
    summary="Get the weather observed in Seattle on a day of 2012 to 2015: rain, temperatures, wind and conditions.",
    openapi_extra=person_cannot("What was measured on one day long ago is in the weather service's records alone.", record=True),
)
async def get_seattle_daily_weather(
    date: Annotated[dt.date, Path(description="Date as YYYY-MM-DD.", examples=["2014-08-11"])],
) -> DayWeather:
    found = _days().get(date)
    if found is None:
        raise HTTPException(404, f"No observation of {date}. {COVERED}")
    return found


@router.get(
    "/seattle/months/{year}/{month}",
    operation_id="get_seattle_monthly_weather",
    summary="Sum up the weather observed in Seattle in a month of 2012 to 2015, with its warmest, coldest and wettest days.",
    openapi_extra=person_cannot("It is summed up from the weather service's records of every day.", record=True),
)
async def get_seattle_monthly_weather(
    year: Annotated[int, Path(description="Year.", examples=[2013], ge=2012, le=2015)],
    month: Annotated[int, Path(description="Month as a number.", examples=[9], ge=1, le=12)],
) -> MonthWeather:
    days = [day for date, day in sorted(_days().items()) if (date.year, date.month) == (year, month)]
    warmest = max(days, key=lambda day: day.temperature_max_c)
    coldest = min(days, key=lambda day: day.temperature_min_c)
    wettest = max(days, key=lambda day: day.precipitation_mm)
    return MonthWeather(
        year=year,
        month=month,
        precipitation_mm=round(sum(day.precipitation_mm for day in days), 1),
        days_with_precipitation=sum(day.precipitation_mm >= WET_MM for day in days),
        mean_temperature_max_c=round(sum(day.temperature_max_c for day in days) / len(days), 1),
        warmest_day=warmest.date,
        temperature_max_c=warmest.temperature_max_c,
        coldest_day=coldest.date,
        temperature_min_c=coldest.temperature_min_c,
        wettest_day=wettest.date if wettest.precipitation_mm else None,
        wettest_day_mm=wettest.precipitation_mm,
    )


@router.get(
    "/normal-temperature",
    operation_id="get_normal_temperature",
    summary="Get the normal temperature of 1981 to 2010 in Seattle or San Francisco at an hour of a day of the year.",
    openapi_extra=person_cannot("Hourly normals are rows of the weather service's tables.", record=True),
)
async def get_normal_temperature(
    city: Annotated[Literal["Seattle", "San Francisco"], Query(description="Name of the city.", examples=["Seattle"])],
    month: Annotated[int, Query(description="Month as a number.", examples=[9], ge=1, le=12)],
    day: Annotated[int, Query(description="Day of the month.", examples=[30], ge=1, le=31)],
    hour: Annotated[int, Query(description="Full hour of local time on the 24-hour clock.", examples=[0], ge=0, le=23)],
) -> NormalTemperature:
    found = _normals().get((city, f"{month:02}-{day:02}", f"{hour:02}"))
    if found is None:
        raise HTTPException(404, f"No normal is known for day {day} of month {month} at hour {hour}.")
    return NormalTemperature(
        city=city, month=month, day=day, hour=hour, normal_temperature_f=found, normal_temperature_c=round((found - 32) / 1.8, 1)
    )


@router.get(
    "/wind-chill",
    operation_id="compute_wind_chill",
    summary="Compute the wind chill, the temperature that it feels like, by the formula of Canada's and the United States' weather services.",
    openapi_extra=person_can("Weather services print a table of it."),
)
async def compute_wind_chill(
    temperature_c: Annotated[float, Query(description="Air temperature in degrees Celsius.", examples=[-20], ge=-60, le=10)],
    wind_speed_km_per_h: Annotated[float, Query(description="Wind speed in kilometres per hour.", examples=[30], ge=5, le=150)],
) -> WindChill:
    root = wind_speed_km_per_h**0.16
    felt = 13.12 + 0.6215 * temperature_c - 11.37 * root + 0.3965 * temperature_c * root
    return WindChill(temperature_c=temperature_c, wind_speed_km_per_h=wind_speed_km_per_h, wind_chill_c=round(felt, 1))
