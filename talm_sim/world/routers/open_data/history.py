"""Old tables and a survey: Nightingale's deaths, Playfair's wheat, words of probability."""

from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Query
from pydantic import BaseModel

from talm_sim.world.stand_in import person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter()

CATEGORY = "open_data"
Phrase = Literal[
    "Almost Certainly",
    "Highly Likely",
    "Very Good Chance",
    "Probable",
    "Likely",
    "Probably",
    "We Believe",
    "Better Than Even",
    "About Even",
    "We Doubt",
    "Improbable",
    "Unlikely",
    "Probably Not",
    "Little Chance",
    "Almost No Chance",
    "Highly Unlikely",
    "Chances Are Slight",
]


class CrimeanDeaths(BaseModel):
    """Deaths in the British army in the East in a month."""

    year: int
    month: int
    army_size: int
    from_disease: int
    from_wounds: int
    from_other_causes: int


class WheatPrice(BaseModel):
    """What wheat cost and a good mechanic earned."""

    year: int
    wheat_shillings_per_quarter: float
    weekly_wage_shillings: float | None


class ProbabilityWords(BaseModel):
    """Which probabilities the people of a survey had in mind at a phrase."""

    phrase: str
    answer_count: int
    median_percent: float
    mean_percent: float
    lowest_percent: float
    highest_percent: float


@router.get(
    "/crimean-war",
    operation_id="get_crimean_war_deaths",
    summary="Get Florence Nightingale's figures of a month of the Crimean War: army size, deaths by disease, wounds and other causes.",
    openapi_extra=person_cannot("It is one row of a table printed in 1859.", record=True),
)
async def get_crimean_war_deaths(
    year: Annotated[int, Query(description="Year.", examples=[1854], ge=1854, le=1856)],
    month: Annotated[int, Query(description="Month as a number; from April 1854 to March 1856.", examples=[4], ge=1, le=12)],
) -> CrimeanDeaths:
    for row in read_data(CATEGORY, "crimean_war.csv"):
        if row["date"] == f"{year}-{month:02}-01":
            return CrimeanDeaths(
                year=year,
                month=month,
                army_size=int(row["army_size"]),
                from_disease=int(row["disease"]),
                from_wounds=int(row["wounds"]),
                from_other_causes=int(row["other"]),
            )
    raise HTTPException(404, f"There is no row for {year}-{month:02}; the table is from April 1854 to March 1856.")


@router.get(
    "/wheat-prices",
    operation_id="get_wheat_price",
    summary="Get William Playfair's price of a quarter of wheat in England and the weekly wage of a good mechanic, in shillings.",
    openapi_extra=person_cannot("It is one point of a chart drawn in 1821.", record=True),
)
async def get_wheat_price(
    year: Annotated[int, Query(description="Every fifth year from 1565 to 1820.", examples=[1565], ge=1565, le=1820)],
) -> WheatPrice:
    for row in read_data(CATEGORY, "wheat.csv"):
        if int(row["year"]) == year:
            wage = float(row["wages"]) if row["wages"] else None
            return WheatPrice(year=year, wheat_shillings_per_quarter=float(row["wheat"]), weekly_wage_shillings=wage)
    raise HTTPException(404, f"There is no price for {year}; the chart has every fifth year from 1565 to 1820.")


@router.get(
    "/probability-words",
    operation_id="get_probability_perception",
    summary="Get which probability people of a survey had in mind at a phrase: median, mean, lowest and highest.",
    openapi_extra=person_cannot("Only the answers of the survey say it.", record=True),
)
async def get_probability_perception(
    phrase: Annotated[Phrase, Query(description="Phrase of the survey.", examples=["Likely"])],
) -> ProbabilityWords:
    row = next(row for row in read_data(CATEGORY, "probability_words.csv") if row["phrase"] == phrase)
    return ProbabilityWords(
        phrase=phrase,
        answer_count=int(row["answers"]),
        median_percent=float(row["median"]),
        mean_percent=float(row["mean"]),
        lowest_percent=float(row["lowest"]),
        highest_percent=float(row["highest"]),
    )
