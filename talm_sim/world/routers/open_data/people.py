"""Inhabitants, health, income, work and degrees, from Gapminder, the United Nations and offices of the United States."""

from functools import cache
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found, several_fit
from talm_sim.world.stand_in import person_can, person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter()

CATEGORY = "open_data"
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
OTHER_NAMES = {
    "bolivia": "bolivia (plurinational state of)",
    "cape verde": "cabo verde",
    "czech republic": "czechia",
    "iran": "iran (islamic republic of)",
    "laos": "lao people's democratic republic",
    "moldova": "republic of moldova",
    "north korea": "dem. people's republic of korea",
    "russia": "russian federation",
    "south korea": "republic of korea",
    "swaziland": "eswatini",
    "syria": "syrian arab republic",
    "tanzania": "united republic of tanzania",
    "turkey": "turkiye",
    "united states": "united states of america",
    "usa": "united states of america",
    "venezuela": "venezuela (bolivarian republic of)",
    "vietnam": "viet nam",
}
"""Common names of countries that the United Nations list under another one."""
Field = Literal[
    "Agriculture",
    "Architecture",
    "Art and Performance",
    "Biology",
    "Business",
    "Communications and Journalism",
    "Computer Science",
    "Education",
    "Engineering",
    "English",
    "Foreign Languages",
    "Health Professions",
    "Math and Statistics",
    "Physical Sciences",
    "Psychology",
    "Public Administration",
    "Social Sciences and History",
]


class CountryIndicators(BaseModel):
    """What Gapminder says of a country in a year."""

    country: str
    continent: str
    year: int
    life_expectancy: float
    population: int
    gdp_per_person: float


class PlacePopulation(BaseModel):
    """The inhabitants of a place in a year."""

    place: str
    year: int
    population: int
    women: int
    men: int
    under_15: int
    aged_65_and_over: int


class UnemploymentRate(BaseModel):
    """The unemployment rate of the United States in a month, not seasonally adjusted."""

    year: int
    month: int
    rate_percent: float
    year_average_percent: float


class CountyWork(BaseModel):
    """The workforce of a county in September 2009, not seasonally adjusted."""

    county: str
    state: str
    labour_force: int
    employed: int
    unemployed: int
    rate_percent: float


class DegreeShare(BaseModel):
    """Which part of a year's bachelor's degrees in a field went to women."""

    field: str
    year: int
    women_percent: float


class Marriages(BaseModel):
    """Marriages and divorces of a year in the United States; what there were in all from 1974 to 1994 follows from the rounded rates."""

    year: int
    marriages: int
    divorces: int
    marriages_per_1000: float
    divorces_per_1000: float


@cache
def _indicators() -> dict[str, dict[int, CountryIndicators]]:
    found: dict[str, dict[int, CountryIndicators]] = {}
    for row in read_data(CATEGORY, "gapminder.csv.gz"):
        found.setdefault(fold(row["country"]), {})[int(row["year"])] = CountryIndicators(
            country=row["country"],
            continent=row["continent"],
            year=int(row["year"]),
            life_expectancy=round(float(row["lifeExp"]), 2),
            population=int(float(row["pop"])),
            gdp_per_person=round(float(row["gdpPercap"]), 2),
        )
    return found


@cache
def _population() -> dict[str, dict[int, PlacePopulation]]:
    found: dict[str, dict[int, PlacePopulation]] = {}
    for row in read_data(CATEGORY, "population.csv.gz"):
        women, men = int(row["female"]), int(row["male"])
        found.setdefault(fold(row["place"]), {})[int(row["year"])] = PlacePopulation(
            place=row["place"],
            year=int(row["year"]),
            population=women + men,
            women=women,
            men=men,
            under_15=int(row["under_15"]),
            aged_65_and_over=int(row["from_65"]),
        )
    return found


@cache
def _states() -> dict[str, str]:
    """Return the names of the states by postal code."""
    return {row["code"]: row["state"] for row in read_data(CATEGORY, "us_states.csv")}


@cache
def _counties() -> dict[str, list[CountyWork]]:
    found: dict[str, list[CountyWork]] = {}
    for row in read_data(CATEGORY, "county_unemployment.csv.gz"):
        one = CountyWork(
            county=row["county"].partition("/")[0],
            state=_states()[row["state"]],
            labour_force=int(row["labour_force"]),
            employed=int(row["employed"]),
            unemployed=int(row["unemployed"]),
            rate_percent=float(row["rate"]),
        )
        for name in {fold(one.county), _short_county(one.county)}:
            found.setdefault(name, []).append(one)
    return found


def _short_county(name: str) -> str:
    """Return a county's name without the word for what it is."""
    plain = fold(name)
    for kind in (" county", " parish", " borough", " census area", " municipio"):
        plain = plain.removesuffix(kind)
    return plain


@cache
def _years(name: str) -> dict[int, dict[str, str]]:
    """Return the rows of a table that has one a year."""
    return {int(row["Year"]): row for row in read_data(CATEGORY, name)}


def _row(name: str, year: int) -> dict[str, str]:
    rows = _years(name)
    if year not in rows:
        raise HTTPException(404, f"There is no row for {year}; the table has the years {min(rows)} to {max(rows)}.")
    return rows[year]


@router.get(
    "/countries/{country}/indicators",
    operation_id="get_country_indicators",
    summary="Get Gapminder's life expectancy, population and income per person, in dollars of 2005, of a country in a year.",
    openapi_extra=person_can("Gapminder shows them as a public chart that anyone can point at."),
)
async def get_country_indicators(
    country: Annotated[str, Path(description="Country name in English.", examples=["Sweden"], min_length=2, max_length=60)],
    year: Annotated[int, Query(description="Every fifth year from 1952 to 2007.", examples=[1952], ge=1952, le=2007)],
) -> CountryIndicators:
    known = _indicators().get(fold(country))
    if known is None:
        raise not_found("country", country, [next(iter(one.values())).country for one in _indicators().values()])
    if year not in known:
        raise HTTPException(404, f"There is no row for {year}; the table has {', '.join(map(str, known))}.")
    return known[year]


@router.get(
    "/population/{place}",
    operation_id="get_place_population",
    summary=(
        "Get the population of a country, region or the world by sex and broad age, as the United Nations estimated or projected it in 2024."
    ),
    openapi_extra=person_can("The United Nations publish the figures, and every almanac prints them."),
)
async def get_place_population(
    place: Annotated[str, Path(description="Country, region or World, in English.", examples=["Western Africa"], min_length=2, max_length=60)],
    year: Annotated[int, Query(description="Every fifth year from 1950 to 2100.", examples=[1950], ge=1950, le=2100)],
) -> PlacePopulation:
    key = fold(place)
    known = _population().get(OTHER_NAMES.get(key, key))
    if known is None:
        raise not_found("country or region", place, [next(iter(one.values())).place for one in _population().values()])
    if year not in known:
        raise HTTPException(404, f"There is no row for {year}; the table has every fifth year from 1950 to 2100.")
    return known[year]


@router.get(
    "/us-unemployment",
    operation_id="get_us_unemployment_rate",
    summary=(
        "Get the unemployment rate of the United States in a month from 1948 to 2016, not seasonally adjusted, and the average of its year."
    ),
    openapi_extra=person_can("The series of the Bureau of Labor Statistics is the best-known chart of its website."),
)
async def get_us_unemployment_rate(
    year: Annotated[int, Query(description="Year.", examples=[1948], ge=1948, le=2016)],
    month: Annotated[int, Query(description="Month as a number.", examples=[1], ge=1, le=12)],
) -> UnemploymentRate:
    row = _row("us_unemployment.csv", year)
    return UnemploymentRate(year=year, month=month, rate_percent=float(row[MONTHS[month - 1]]), year_average_percent=float(row["Annual"]))


@router.get(
    "/counties/{county}/work",
    operation_id="get_county_unemployment",
    summary="Get the labour force and unemployment of a county of the United States in September 2009, not seasonally adjusted.",
    openapi_extra=person_cannot("It is one of 3,200 rows of a table for one month of 2009.", record=True),
)
async def get_county_unemployment(
    county: Annotated[str, Path(description="Name of the county.", examples=["Ada County"], min_length=2, max_length=60)],
    state: Annotated[
        str | None,
        Query(description="State by name or postal code, to tell counties of one name apart.", examples=["Idaho"], max_length=30),
    ] = None,
) -> CountyWork:
    known = _counties().get(fold(county))
    if known is None:
        raise not_found("county", county, sorted({one.county for ones in _counties().values() for one in ones}))
    wanted = _states().get(state.strip().upper(), state) if state else None
    found = [one for one in known if wanted is None or fold(one.state) == fold(wanted)]
    if not found:
        raise not_found(f"{known[0].county} in the state", state or "", hint=f"There is one in {', '.join(one.state for one in known)}.")
    if len({one.state for one in found}) > 1:
        raise several_fit("counties", known[0].county, (one.state for one in found), "state")
    return found[0]


@router.get(
    "/degrees/women",
    operation_id="get_women_degree_share",
    summary="Get the share of bachelor's degrees in a field that went to women in the United States, in a year from 1970 to 2011.",
    openapi_extra=person_cannot("It is one cell of a table with 42 years and 17 fields.", record=True),
)
async def get_women_degree_share(
    field: Annotated[Field, Query(description="Field of study.", examples=["Biology"])],
    year: Annotated[int, Query(description="Year.", examples=[1970], ge=1970, le=2011)],
) -> DegreeShare:
    return DegreeShare(field=field, year=year, women_percent=round(float(_row("women_degrees.csv", year)[field]), 1))


@router.get(
    "/us-marriages",
    operation_id="get_us_marriages",
    summary=(
        "Get the marriages and divorces of the United States in a year from 1867 to 2011, per 1,000 inhabitants and in all; "
        "totals of 1974 to 1994 are estimates."
    ),
    openapi_extra=person_cannot("It is one row of a table that starts in 1867.", record=True),
)
async def get_us_marriages(year: Annotated[int, Query(description="Year.", examples=[1867], ge=1867, le=2011)]) -> Marriages:
    row = _row("us_marriages.csv", year)
    if not row["Marriages"]:
        raise HTTPException(404, f"The row of {year} is empty: the office did not count that year.")
    return Marriages(
        year=year,
        marriages=int(row["Marriages"]),
        divorces=int(row["Divorces"]),
        marriages_per_1000=float(row["Marriages_per_1000"]),
        divorces_per_1000=float(row["Divorces_per_1000"]),
    )
