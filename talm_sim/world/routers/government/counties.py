"""Codes of counties from an extract of us 4.0.0 (BSD; data of the Census Bureau), and of tax offices from python-stdnum (LGPL)."""

from functools import cache
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found, several_fit
from talm_sim.world.routers.government.united_states import state_row
from talm_sim.world.stand_in import person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter(prefix="/united-states")


class County(BaseModel):
    """One county, parish, borough or independent city."""

    county: str
    state: str
    fips_code: str
    gnis_id: int


class Campus(BaseModel):
    """Where an employer's number was assigned."""

    prefix: str
    campus: str


@cache
def _counties() -> dict[str, County]:
    """Counties by code."""
    rows = read_data("government", "counties.csv.gz")
    return {row["fips"]: County(county=row["name"], state=row["state"], fips_code=row["fips"], gnis_id=int(row["gnis"])) for row in rows}


@router.get(
    "/counties/{county}",
    operation_id="get_county_codes",
    summary="Look up the FIPS code and the GNIS identifier of a county of the United States.",
    openapi_extra=person_cannot("The Census Bureau's table has over 3,100 rows.", record=True),
)
async def get_county_codes(
    county: Annotated[
        str,
        Path(description="Name of the county, with or without the word county or parish.", examples=["Latah"], min_length=2, max_length=40),
    ],
    state: Annotated[
        str | None,
        Query(description="State that it lies in, to tell counties of one name apart.", examples=["Idaho"], min_length=2, max_length=30),
    ] = None,
) -> County:
    wanted = fold(county)
    exact = [one for one in _counties().values() if fold(one.county) == wanted]
    named = exact or [one for one in _counties().values() if fold(one.county).rpartition(" ")[0] == wanted]
    if not named:
        raise not_found("county", county, (one.county for one in _counties().values()))
    found = [one for one in named if state is None or one.state == state_row(state)["name"]]
    states = "; ".join(sorted(one.state for one in named))
    if not found:
        raise HTTPException(404, f"There is no {named[0].county} in '{state}', but in {states}.")
    if len(found) > 1:
        raise several_fit("counties", county, sorted(one.state for one in found), "state")
    return found[0]


@router.get(
    "/county-codes/{fips_code}",
    operation_id="find_county_by_code",
    summary="Find which county of the United States has a five-digit FIPS code, and its GNIS identifier.",
    openapi_extra=person_cannot("The Census Bureau's table has over 3,100 rows, and its identifiers have no order.", record=True),
)
async def find_county_by_code(
    fips_code: Annotated[str, Path(description="FIPS code of five digits.", examples=["16037"], pattern=r"^[0-9]{5}$")],
) -> County:
    found = _counties().get(fips_code)
    if found is None:
        raise not_found("county with the FIPS code", fips_code, hint="The first two digits are the state's.")
    return found


@router.get(
    "/employer-numbers/{prefix}",
    operation_id="get_employer_number_campus",
    summary="Look up which campus of the Internal Revenue Service assigns employer identification numbers that begin with two digits.",
    openapi_extra=person_cannot("The tax authority's list of prefixes has no order that a person could work out."),
)
async def get_employer_number_campus(
    prefix: Annotated[str, Path(description="First two digits of the number.", examples=["83"], pattern=r"^[0-9]{2}$")],
) -> Campus:
    from stdnum.exceptions import ValidationError
    from stdnum.us import ein

    try:
        return Campus(prefix=prefix, campus=ein.get_campus(f"{prefix}1234567"))
    except ValidationError:
        raise not_found("campus for the prefix", prefix) from None
