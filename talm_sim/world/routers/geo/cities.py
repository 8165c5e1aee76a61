"""Cities: population, rank, namesakes and local time."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.routers.geo.places import Country, all_cities, cities_called, city_called, country_called, country_name
from talm_sim.world.stand_in import person_can, person_cannot
from talm_sim.world.zones import time_zone

router = APIRouter()

MOST_LISTED = 8
FAR_SMALLER = 10
"""How many times smaller a city is than its namesake if nobody means it without naming its country."""


class CityDetails(BaseModel):
    """One city."""

    city: str
    country_code: str
    population: int
    latitude: float
    longitude: float
    timezone: str


class RankedCity(BaseModel):
    """A city by its rank in its country."""

    country: str
    rank: int
    city: str
    population: int


class Namesake(BaseModel):
    """One of several cities of a name."""

    country: str
    population: int
    timezone: str


class Namesakes(BaseModel):
    """The cities of one name."""

    city: str
    city_count: int
    country_count: int
    cities: list[Namesake]


class LocalTime(BaseModel):
    """What the clocks of a city show."""

    city: str
    country: str
    local_date: str
    local_time: str
    timezone: str
    utc_offset: str


@router.get(
    "/cities/{city}",
    operation_id="get_city_details",
    summary="Get a city's population, coordinates and time zone by a gazetteer.",
    openapi_extra=person_cannot("Population and coordinates are rows of a gazetteer that nobody knows by heart.", record=True),
)
async def get_city_details(
    city: Annotated[str, Path(description="City name.", examples=["Hanoi"], min_length=1)],
    country: Annotated[
        str | None, Query(description="Country name or ISO code, to tell cities of one name apart.", examples=["Vietnam"], min_length=2)
    ] = None,
) -> CityDetails:
    found = city_called(city, country)
    return CityDetails(
        city=found["name"],
        country_code=found["countrycode"],
        population=found["population"],
        latitude=round(found["latitude"], 4),
        longitude=round(found["longitude"], 4),
        timezone=found["timezone"],
    )


@router.get(
    "/countries/{country}/ranked-city",
    operation_id="get_city_by_rank",
    summary="Find which city of a country a gazetteer ranks at a given place by population, and its population: 1 is the largest.",
    openapi_extra=person_cannot("It ranks the rows of a gazetteer by their population.", record=True),
)
async def get_city_by_rank(
    country: Country,
    rank: Annotated[int, Query(description="Rank by population, 1 for the largest city.", examples=[3], ge=1, le=100)],
) -> RankedCity:
    info = country_called(country)
    found = [city for city in all_cities() if city["countrycode"] == info["ISO"]["alpha2"]]
    if rank > len(found):
        raise HTTPException(404, f"{info['name']} has only {len(found)} cities with more than 15,000 inhabitants.")
    return RankedCity(country=info["name"], rank=rank, city=found[rank - 1]["name"], population=found[rank - 1]["population"])


@router.get(
    "/namesakes/{name}",
    operation_id="find_namesake_cities",
    summary="Find the cities of one name in a gazetteer: how many there are, in which countries, and how many people live in each.",
    openapi_extra=person_cannot("It counts the rows of a gazetteer of 25,000 cities.", record=True),
)
async def find_namesake_cities(
    name: Annotated[str, Path(description="Name of the cities.", examples=["Springfield"], min_length=1, max_length=60)],
) -> Namesakes:
    found = cities_called(name, None)
    return Namesakes(
        city=found[0]["name"],
        city_count=len(found),
        country_count=len({city["countrycode"] for city in found}),
        cities=[
            Namesake(country=country_name(city["countrycode"]), population=city["population"], timezone=city["timezone"])
            for city in found[:MOST_LISTED]
        ],
    )


@router.get(
    "/cities/{city}/local-time",
    operation_id="get_city_local_time",
    summary="Get the local date and time in a city at a moment that is given in UTC.",
    openapi_extra=person_can("Anybody in the city, or with a world clock, reads the time there."),
)
async def get_city_local_time(
    city: Annotated[str, Path(description="Name of the city.", examples=["Hanoi"], min_length=1, max_length=60)],
    utc_time: Annotated[
        str, Query(description="Moment in UTC, as YYYY-MM-DDTHH:MM.", examples=["2025-01-31T12:00"], pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d$")
    ],
    country: Annotated[
        str | None,
        Query(description="Country of the city, to tell cities of one name apart.", examples=["Vietnam"], min_length=2, max_length=60),
    ] = None,
) -> LocalTime:
    found = cities_called(city, country)
    meant = [one for one in found if one["population"] * FAR_SMALLER >= found[0]["population"]]
    countries = list(dict.fromkeys(country_name(one["countrycode"]) for one in meant))
    if len(countries) > 1:
        raise HTTPException(422, f"country: there is a {found[0]['name']} in each of {', '.join(countries)}. Say which country is meant.")
    try:
        moment = datetime.fromisoformat(utc_time).replace(tzinfo=UTC)
    except ValueError:
        raise HTTPException(422, f"utc_time: '{utc_time}' is no date and time.") from None
    local = moment.astimezone(time_zone(found[0]["timezone"]))
    return LocalTime(
        city=found[0]["name"],
        country=countries[0],
        local_date=local.date().isoformat(),
        local_time=local.strftime("%H:%M"),
        timezone=found[0]["timezone"],
        utc_offset=local.isoformat()[-6:],
    )
