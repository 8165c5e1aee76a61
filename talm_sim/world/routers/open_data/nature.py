"""Climate, electricity and penguins, from palmerpenguins and vega-datasets."""

from functools import cache
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import not_found, several_fit
from talm_sim.world.stand_in import person_can, person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter()

CATEGORY = "open_data"
SOURCES = {"fossil_fuels": "Fossil Fuels", "nuclear": "Nuclear Energy", "renewables": "Renewables"}


class CarbonDioxide(BaseModel):
    """The carbon dioxide in the air above Mauna Loa in a month."""

    year: int
    month: int
    ppm: float
    seasonally_adjusted_ppm: float


class TemperatureAnomaly(BaseModel):
    """How far a year was from the mean of 1951 to 1980."""

    year: int
    anomaly_celsius: float


class Generation(BaseModel):
    """What was generated in Iowa."""

    source: str
    year: int
    gigawatt_hours: int


class Penguin(BaseModel):
    """One penguin, measured in the Palmer Archipelago."""

    individual: str
    egg_date: str
    species: str
    island: str
    sex: str
    bill_length_mm: float | None
    bill_depth_mm: float | None
    flipper_length_mm: int | None
    body_mass_g: int | None


@cache
def _penguins() -> dict[str, list[Penguin]]:
    found: dict[str, list[Penguin]] = {}
    for row in read_data(CATEGORY, "penguins.csv"):
        length, depth, flipper, mass = (
            float(row[name]) if row[name] else None for name in ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")
        )
        one = Penguin(
            individual=row["individual"],
            egg_date=row["egg_date"],
            species=row["species"],
            island=row["island"],
            sex=row["sex"],
            bill_length_mm=length,
            bill_depth_mm=depth,
            flipper_length_mm=None if flipper is None else int(flipper),
            body_mass_g=None if mass is None else int(mass),
        )
        found.setdefault(one.individual, []).append(one)
    return found


@router.get(
    "/carbon-dioxide",
    operation_id="get_co2_concentration",
    summary="Get the carbon dioxide concentration that Scripps measured on Mauna Loa in a month from March 1958 to April 2020.",
    openapi_extra=person_can("The Keeling curve is a public chart with a download beside it."),
)
async def get_co2_concentration(
    year: Annotated[int, Query(description="Year.", examples=[1958], ge=1958, le=2020)],
    month: Annotated[int, Query(description="Month as a number.", examples=[3], ge=1, le=12)],
) -> CarbonDioxide:
    for row in read_data(CATEGORY, "co2_concentration.csv"):
        if row["Date"] == f"{year}-{month:02}-01":
            return CarbonDioxide(year=year, month=month, ppm=float(row["CO2"]), seasonally_adjusted_ppm=float(row["adjusted CO2"]))
    raise HTTPException(404, f"There is no measurement for {year}-{month:02}: it is outside the series, or the month has no valid data.")


@router.get(
    "/global-temperature",
    operation_id="get_global_temperature",
    summary="Get how much warmer or colder than the mean of 1951 to 1980 a year was on the whole Earth, by NASA's index.",
    openapi_extra=person_can("NASA shows the index as a public chart with its figures."),
)
async def get_global_temperature(year: Annotated[int, Query(description="Year.", examples=[1880], ge=1880, le=2023)]) -> TemperatureAnomaly:
    rows = {int(row["year"]): row for row in read_data(CATEGORY, "global_temperature.csv")}
    return TemperatureAnomaly(year=year, anomaly_celsius=float(rows[year]["temp"]))


@router.get(
    "/iowa-electricity",
    operation_id="get_iowa_electricity",
    summary="Get the electricity that Iowa generated from a source in a year from 2001 to 2017, in gigawatt-hours.",
    openapi_extra=person_cannot("It is one of 51 figures of an energy office's table.", record=True),
)
async def get_iowa_electricity(
    source: Annotated[Literal["fossil_fuels", "nuclear", "renewables"], Query(description="Source of energy.", examples=["nuclear"])],
    year: Annotated[int, Query(description="Year.", examples=[2001], ge=2001, le=2017)],
) -> Generation:
    for row in read_data(CATEGORY, "iowa_electricity.csv"):
        if row["source"] == SOURCES[source] and row["year"].startswith(f"{year}-"):
            return Generation(source=source, year=year, gigawatt_hours=int(row["net_generation"]))
    raise HTTPException(404, f"There is no figure for {source} in {year}.")


@router.get(
    "/penguins/{individual}",
    operation_id="get_penguin",
    summary="Get what a biologist measured of a penguin near Palmer Station: species, island, bill, flipper and body mass.",
    openapi_extra=person_cannot("It is one of 344 rows of field notes.", record=True),
)
async def get_penguin(
    individual: Annotated[str, Path(description="Tag of the individual.", examples=["N81A1"], pattern=r"^[Nn]\d{1,3}[Aa]\d$")],
    egg_date: Annotated[
        str | None,
        Query(
            description="Day its egg was noted, as YYYY-MM-DD, to tell penguins of one tag apart.",
            examples=["2009-11-16"],
            pattern=r"^\d{4}-\d\d-\d\d$",
        ),
    ] = None,
) -> Penguin:
    known = _penguins().get(individual.upper())
    if known is None:
        raise not_found("penguin", individual, _penguins())
    found = [one for one in known if egg_date in (None, one.egg_date)]
    if not found:
        raise HTTPException(404, f"No penguin {individual} has an egg of {egg_date}; known are {', '.join(one.egg_date for one in known)}.")
    if len(found) > 1:
        raise several_fit("penguins", individual, (f"{one.egg_date} ({one.species})" for one in found), "egg_date")
    return found[0]
