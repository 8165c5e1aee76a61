"""Codes of regions (iso-3166-2 1.0.0, MIT), Austrian postcodes (python-stdnum 2.2, LGPL) and holidays of regions (holidays 0.108, MIT)."""

from datetime import date
from functools import cache
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found, several_fit
from talm_sim.world.stand_in import person_can, person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter()

MOST_NAMED = 12
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Subdivision(BaseModel):
    """A region of a country."""

    name: str
    code: str
    kind: str
    country: str


class PostcodePlace(BaseModel):
    """Where a postcode is."""

    postcode: str
    place: str
    state: str


class PlacePostcodes(BaseModel):
    """The postcodes of a place."""

    place: str
    state: str
    postcodes: list[str]


class RegionalHoliday(BaseModel):
    """A day off in a region."""

    region: str
    holiday: str
    date: date
    weekday: str


@cache
def _subdivisions() -> dict[str, list[Subdivision]]:
    index: dict[str, list[Subdivision]] = {}
    for row in read_data("government", "subdivisions.csv.gz"):
        one = Subdivision(name=row["name"], code=row["code"], kind=row["type"], country=row["country"])
        index.setdefault(fold(one.name), []).append(one)
    return index


@router.get(
    "/subdivisions/{name}",
    operation_id="get_region_code",
    summary="Look up the ISO 3166-2 code of a province, canton, department, prefecture or state of one of eighteen countries.",
    openapi_extra=person_cannot("The standard's list for these countries has over 400 codes, many of them mere numbers."),
)
async def get_region_code(
    name: Annotated[
        str, Path(description="Name of the region in its own language.", examples=["Södermanlands län"], min_length=2, max_length=60)
    ],
    country: Annotated[
        str | None,
        Query(description="English name of its country, to tell regions of one name apart.", examples=["Sweden"], min_length=2, max_length=40),
    ] = None,
) -> Subdivision:
    named = _subdivisions().get(fold(name))
    if named is None:
        raise not_found("region", name, (one[0].name for one in _subdivisions().values()))
    found = [one for one in named if country is None or fold(one.country) == fold(country)]
    countries = sorted({one.country for one in (found or named)})
    if not found:
        raise HTTPException(404, f"There is no {named[0].name} in '{country}', but in {' and '.join(countries)}.")
    if len(countries) > 1:
        raise several_fit("regions", named[0].name, countries, "country")
    return found[0]


@cache
def _postcodes() -> dict[str, PostcodePlace]:
    from stdnum import numdb

    # Its own look-up goes over the whole list: 9,000 of them take seconds.
    return {
        code: PostcodePlace(postcode=code, place=about["location"], state=about["region"])
        for _, code, _, about, _ in sorted(numdb.get("at/postleitzahl").prefixes)
    }


@router.get(
    "/austria/postcodes/{postcode}",
    operation_id="get_austrian_postcode",
    summary="Look up which place in Austria has a postcode, and in which state it lies.",
    openapi_extra=person_cannot("Austria has over 2,200 postcodes.", record=True),
)
async def get_austrian_postcode(
    postcode: Annotated[str, Path(description="Postcode of four digits.", examples=["4020"], pattern=r"^[0-9]{4}$")],
) -> PostcodePlace:
    found = _postcodes().get(postcode)
    if found is None:
        raise not_found("Austrian postcode", postcode)
    return found


@router.get(
    "/austria/places/{place}",
    operation_id="find_austrian_postcodes",
    summary="Find the postcodes of a place in Austria.",
    openapi_extra=person_cannot("Austria has over 2,200 postcodes.", record=True),
)
async def find_austrian_postcodes(
    place: Annotated[str, Path(description="Name of the place in German.", examples=["Eisenstadt"], min_length=2, max_length=60)],
    state: Annotated[
        str | None,
        Query(description="State that it lies in, in German, to tell places of one name apart.", examples=["Burgenland"], max_length=30),
    ] = None,
) -> PlacePostcodes:
    named = [one for one in _postcodes().values() if fold(one.place) == fold(place)]
    if not named:
        raise not_found("place in Austria", place, dict.fromkeys(one.place for one in _postcodes().values()))
    found = [one for one in named if state is None or fold(one.state) == fold(state)]
    states = sorted({one.state for one in (found or named)})
    if not found:
        raise HTTPException(404, f"There is no {named[0].place} in '{state}', but in {' and '.join(states)}.")
    if len(states) > 1:
        raise several_fit("places", found[0].place, states, "state")
    return PlacePostcodes(place=found[0].place, state=found[0].state, postcodes=[one.postcode for one in found][:MOST_NAMED])


@router.get(
    "/regional-holidays/{country}",
    operation_id="get_regional_holiday",
    summary="Find on which day a public holiday falls in a region of Germany, Spain, Switzerland, Australia, Canada or the United Kingdom.",
    openapi_extra=person_can("The region's government prints its holidays, and so does a calendar on the wall."),
)
async def get_regional_holiday(
    country: Annotated[Literal["DE", "ES", "CH", "AU", "CA", "GB"], Path(description="ISO code of the country.", examples=["CH"])],
    region: Annotated[
        str, Query(description="Name of the region in its own language, or its code.", examples=["Ticino"], min_length=2, max_length=60)
    ],
    holiday: Annotated[str, Query(description="Name of the holiday in English.", examples=["Saint Joseph's Day"], min_length=3, max_length=60)],
    year: Annotated[int, Query(description="Year.", examples=[2003], ge=1990, le=2050)],
) -> RegionalHoliday:
    import holidays

    kinds = getattr(holidays, country)
    aliases: dict[str, list[str]] = kinds.get_subdivision_aliases()
    names = {fold(one): code for code, others in aliases.items() for one in (code, *others)}
    code = names.get(fold(region))
    if code is None:
        raise not_found("region", region, names, f"Regions are {', '.join(sorted(aliases))}.")
    days = holidays.country_holidays(country, subdiv=code, years=year, language="en_US")
    found = sorted((day, name) for day, name in days.items() if fold(holiday) in fold(name))
    if not found:
        raise not_found("holiday of that region in that year", holiday, sorted(set(days.values())))
    day, name = next((one for one in found if fold(one[1]) == fold(holiday)), found[0])
    return RegionalHoliday(region=(aliases[code] or [code])[0], holiday=name, date=day, weekday=WEEKDAYS[day.weekday()])
