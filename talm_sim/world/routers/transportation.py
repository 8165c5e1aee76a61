"""Airports and flights, from airportsdata 20260905 (code and data: MIT).

Routes within the United States are from bokeh-sampledata 2026.1 (public domain: US Bureau of Transportation Statistics, July 2026).
"""

from datetime import datetime, timedelta
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.geodesy import KM_PER_MILE, great_circle_km
from talm_sim.world.lookup import fold, not_found
from talm_sim.world.stand_in import person_can, person_cannot
from talm_sim.world.vendored import read_data
from talm_sim.world.zones import time_zone

if TYPE_CHECKING:
    from airportsdata import Airport

router = APIRouter(prefix="/transportation")

METRES_PER_FOOT = 0.3048
MOST_LISTED = 8

CODE_HINT = "Give a three-letter IATA code such as HAN or a four-letter ICAO code such as VVNB."


@lru_cache(maxsize=1)
def _airports() -> "dict[str, Airport]":
    """Airports that have an IATA code, by IATA and by ICAO code."""
    import airportsdata

    by_iata = airportsdata.load("IATA")
    return {airport["icao"]: airport for airport in by_iata.values() if airport["icao"]} | by_iata


@lru_cache(maxsize=1)
def _distinct_airports() -> "list[Airport]":
    """Every airport once, ordered by IATA code."""
    return [airport for code, airport in sorted(_airports().items()) if code == airport["iata"]]


def _airport(code: str) -> "Airport":
    airport = _airports().get(code.strip().upper())
    if airport is None:
        raise not_found("airport", code, hint=CODE_HINT)
    return airport


class AirportCode(BaseModel):
    """One airport of a city."""

    iata: str
    icao: str
    name: str
    country_code: str


class CityAirports(BaseModel):
    """Airports of a city."""

    city: str
    count: int
    airports: list[AirportCode]


class AirportDetails(BaseModel):
    """Where an airport lies."""

    iata: str
    icao: str
    name: str
    city: str
    region: str
    country_code: str
    latitude: float
    longitude: float
    elevation_ft: int
    elevation_m: int
    timezone: str


class FlightDistance(BaseModel):
    """Great-circle distance between two airports."""

    origin: str
    destination: str
    distance_km: int
    distance_miles: int


class ArrivalTime(BaseModel):
    """When a flight lands, on the clocks at its destination."""

    origin: str
    destination: str
    arrival_date: str
    arrival_time: str
    timezone: str
    days_later: int


class AirportHeight(BaseModel):
    """An airport and how high it lies."""

    iata: str
    name: str
    city: str
    elevation_ft: int


class CountryAirports(BaseModel):
    """Airports of a country."""

    country_code: str
    airport_count: int
    highest: AirportHeight
    lowest: AirportHeight


class Destinations(BaseModel):
    """Where scheduled flights within the United States go from an airport."""

    origin: str
    carrier: str | None
    destination_count: int
    carrier_count: int
    carriers: list[str]
    destinations: list[str]


@router.get(
    "/cities/{city}/airports",
    operation_id="find_city_airports",
    summary="Find the airports that serve a city, with their IATA and ICAO codes.",
    openapi_extra=person_can("Anybody who flies there reads the codes on a ticket or a departure board."),
)
async def find_city_airports(
    city: Annotated[str, Path(description="City name in English.", examples=["Hanoi"], min_length=1)],
    country_code: Annotated[
        str | None, Query(description="Two-letter country code, to tell cities of one name apart.", examples=["VN"], min_length=2, max_length=2)
    ] = None,
) -> CityAirports:
    wanted = fold(city)
    found = [
        airport
        for airport in _distinct_airports()
        if fold(airport["city"]) == wanted and (country_code is None or airport["country"] == country_code.upper())
    ]
    if not found:
        raise not_found("airport in", city, hint="Check the spelling and the country code.")
    return CityAirports(
        city=found[0]["city"],
        count=len(found),
        airports=[
            AirportCode(iata=one["iata"], icao=one["icao"], name=one["name"], country_code=one["country"]) for one in found[:MOST_LISTED]
        ],
    )


@router.get(
    "/airports/{code}",
    operation_id="get_airport_details",
    summary="Get an airport's name, city, coordinates, elevation and time zone by its code.",
    openapi_extra=person_can("A local, or a sign at the airport, says where and how high it lies."),
)
async def get_airport_details(
    code: Annotated[str, Path(description="IATA or ICAO code of the airport.", examples=["HAN"], min_length=3, max_length=4)],
) -> AirportDetails:
    airport = _airport(code)
    return AirportDetails(
        iata=airport["iata"],
        icao=airport["icao"],
        name=airport["name"],
        city=airport["city"],
        region=airport["subd"],
        country_code=airport["country"],
        latitude=round(airport["lat"], 4),
        longitude=round(airport["lon"], 4),
        elevation_ft=round(airport["elevation"]),
        elevation_m=round(airport["elevation"] * METRES_PER_FOOT),
        timezone=airport["tz"],
    )


@router.get(
    "/distance",
    operation_id="get_flight_distance",
    summary="Compute the great-circle flight distance between two airports.",
    openapi_extra=person_cannot("A great circle needs the coordinates of both ends and trigonometry."),
)
async def get_flight_distance(
    origin: Annotated[str, Query(description="Code of the departure airport.", examples=["HAN"], min_length=3, max_length=4)],
    destination: Annotated[str, Query(description="Code of the arrival airport.", examples=["CDG"], min_length=3, max_length=4)],
) -> FlightDistance:
    start, end = _airport(origin), _airport(destination)
    kilometres = great_circle_km((start["lat"], start["lon"]), (end["lat"], end["lon"]))
    return FlightDistance(
        origin=start["iata"],
        destination=end["iata"],
        distance_km=round(kilometres),
        distance_miles=round(kilometres / KM_PER_MILE),
    )


@router.get(
    "/arrival-time",
    operation_id="get_arrival_time",
    summary="Compute the local arrival date and time of a flight from its local departure and its duration.",
    openapi_extra=person_cannot("It takes both time zones and their clock changes on the day."),
)
async def get_arrival_time(
    origin: Annotated[str, Query(description="Code of the departure airport.", examples=["HAN"], min_length=3, max_length=4)],
    destination: Annotated[str, Query(description="Code of the arrival airport.", examples=["CDG"], min_length=3, max_length=4)],
    departure: Annotated[
        str, Query(description="Local departure, as YYYY-MM-DDTHH:MM.", examples=["2024-03-05T23:30"], pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d$")
    ],
    duration_minutes: Annotated[int, Query(description="Flight time in minutes.", examples=[790], ge=1, le=2880)],
) -> ArrivalTime:
    start, end = _airport(origin), _airport(destination)
    try:
        leaving = datetime.fromisoformat(departure).replace(tzinfo=time_zone(start["tz"]))
    except ValueError:
        raise HTTPException(422, f"departure: '{departure}' is no date and time.") from None
    landing = (leaving.astimezone(time_zone("UTC")) + timedelta(minutes=duration_minutes)).astimezone(time_zone(end["tz"]))
    return ArrivalTime(
        origin=start["iata"],
        destination=end["iata"],
        arrival_date=landing.date().isoformat(),
        arrival_time=landing.strftime("%H:%M"),
        timezone=end["tz"],
        days_later=(landing.date() - leaving.date()).days,
    )


@router.get(
    "/countries/{country_code}/airports",
    operation_id="get_country_airports",
    summary="Count a country's airports with an IATA code and name its highest and lowest one.",
    openapi_extra=person_cannot("It counts and compares the rows of a table of airports.", record=True),
)
async def get_country_airports(
    country_code: Annotated[str, Path(description="Two-letter country code.", examples=["VN"], min_length=2, max_length=2)],
) -> CountryAirports:
    code = country_code.upper()
    found = sorted((airport for airport in _distinct_airports() if airport["country"] == code), key=lambda airport: airport["elevation"])
    if not found:
        raise not_found("airport in country", country_code, hint="Give a two-letter ISO code such as VN.")
    # Zero stands for an unknown elevation in this data far more often than for the level of the sea.
    measured = [airport for airport in found if airport["elevation"]] or found
    return CountryAirports(country_code=code, airport_count=len(found), highest=_height(measured[-1]), lowest=_height(measured[0]))


@router.get(
    "/airports/{code}/us-destinations",
    operation_id="get_us_destinations",
    summary="Count the US airports that had nonstop flights from a US airport in July 2026, and the airlines that flew there.",
    openapi_extra=person_cannot("It counts the flights that were observed in one month.", record=True),
)
async def get_us_destinations(
    code: Annotated[str, Path(description="IATA code of the US airport of departure.", examples=["ABQ"], min_length=3, max_length=3)],
    carrier: Annotated[
        str | None,
        Query(description="Two-character code of an airline, to count its flights alone.", examples=["AA"], min_length=2, max_length=2),
    ] = None,
) -> Destinations:
    origin, airline = code.upper(), carrier.upper() if carrier else None
    routes = _us_routes().get(origin)
    if routes is None:
        raise not_found("US airport", code, _us_routes(), "Give the three-letter IATA code of a US airport with scheduled flights.")
    flown = {destination: names for destination, names in routes.items() if airline is None or airline in names}
    if not flown:
        known = sorted({name for names in routes.values() for name in names})
        raise not_found(f"flights from {origin} of airline", carrier or "", hint=f"Airlines there: {', '.join(known)}.")
    names = sorted({name for names in flown.values() for name in names}) if airline is None else [airline]
    return Destinations(
        origin=origin,
        carrier=airline,
        destination_count=len(flown),
        carrier_count=len(names),
        carriers=names,
        destinations=sorted(flown),
    )


@cache
def _us_routes() -> dict[str, dict[str, list[str]]]:
    """Return the airlines by origin and destination."""
    found: dict[str, dict[str, list[str]]] = {}
    for row in read_data("transportation", "us_routes.csv.gz"):
        found.setdefault(row["origin"], {})[row["destination"]] = row["carriers"].split()
    return found


def _height(airport: "Airport") -> AirportHeight:
    return AirportHeight(
        iata=airport["iata"],
        name=airport["name"],
        city=airport["city"],
        elevation_ft=round(airport["elevation"]),
    )
