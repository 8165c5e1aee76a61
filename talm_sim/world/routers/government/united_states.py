"""States, presidents, amendments and Congresses of the United States; states from an extract of us 4.0.0 (BSD), the rest from own tables."""

from datetime import date
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found, several_fit
from talm_sim.world.stand_in import person_can
from talm_sim.world.vendored import read_data

router = APIRouter(prefix="/united-states")

STATE = Path(description="Name of a state of the United States, or its postal abbreviation.", examples=["Idaho"], min_length=2, max_length=30)
FIRST_JANUARY_CONGRESS = 74
"""Since then a Congress begins on 3 January (Twentieth Amendment), before on 4 March."""
CENSUS_OF = {
    "2004": "2000",
    "2008": "2000",
    "2012": "2010",
    "2016": "2010",
    "2020": "2010",
    "2024": "2020",
    "2028": "2020",
}


class State(BaseModel):
    """What an almanac says of a state."""

    state: str
    postal_abbreviation: str
    press_abbreviation: str
    fips_code: str
    capital: str
    statehood_year: int


class ElectoralVotes(BaseModel):
    """The weight of a state in the electoral college."""

    state: str
    election_year: int
    census_year: int
    electoral_votes: int
    house_seats: int


class President(BaseModel):
    """One president; who served two terms apart from each other is listed twice."""

    president: str
    number: int
    took_office: date
    left_office: date | None
    vice_presidents: list[str]


class Amendment(BaseModel):
    """An amendment to the Constitution."""

    number: int
    subject: str
    proposed: date
    ratified: date


class Congress(BaseModel):
    """The two years of a Congress."""

    number: int
    begins: date
    ends: date


def state_row(name: str) -> dict[str, Any]:
    """Find a state of the union by name or postal abbreviation."""
    rows = read_data("government", "states.csv")
    for row in rows:
        if fold(name) in (fold(row["name"]), fold(row["abbreviation"])):
            found: dict[str, Any] = row
            return found
    raise not_found("state", name, (row["name"] for row in rows), "Only the fifty states are known.")


@router.get(
    "/states/{state}",
    operation_id="get_us_state",
    summary="Look up a state of the United States: capital, FIPS code, year of statehood, postal and press abbreviations.",
    openapi_extra=person_can("An almanac or the state's own website says it on its first page."),
)
async def get_us_state(state: Annotated[str, STATE]) -> State:
    row = state_row(state)
    return State(
        state=row["name"],
        postal_abbreviation=row["abbreviation"],
        press_abbreviation=row["ap_abbreviation"],
        fips_code=row["fips"],
        capital=row["capital"],
        statehood_year=int(row["statehood_year"]),
    )


@router.get(
    "/states/{state}/electoral-votes",
    operation_id="get_electoral_votes",
    summary="Look up how many electoral votes and seats in the House of Representatives a state has at a presidential election.",
    openapi_extra=person_can("Every map of a presidential election shows the numbers."),
)
async def get_electoral_votes(
    state: Annotated[str, STATE],
    election_year: Annotated[
        Literal["2004", "2008", "2012", "2016", "2020", "2024", "2028"], Query(description="Year of the presidential election.")
    ],
) -> ElectoralVotes:
    name, census = state_row(state)["name"], CENSUS_OF[election_year]
    votes = next(int(row[census]) for row in read_data("government", "electoral_votes.csv") if row["state"] == name)
    return ElectoralVotes(state=name, election_year=int(election_year), census_year=int(census), electoral_votes=votes, house_seats=votes - 2)


@router.get(
    "/presidents/{surname}",
    operation_id="find_president",
    summary="Look up a president of the United States by surname: number, days of taking and leaving office, vice presidents.",
    openapi_extra=person_can("Any list of presidents says it, and many people know it from school."),
)
async def find_president(
    surname: Annotated[str, Path(description="Surname of the president.", examples=["Polk"], min_length=2, max_length=30)],
    given_name: Annotated[
        str | None,
        Query(description="Given name, to tell presidents of one surname apart.", examples=["James"], min_length=2, max_length=40),
    ] = None,
    number: Annotated[int | None, Query(description="Number of the presidency, for one who served twice.", ge=1, le=60)] = None,
) -> President:
    rows = read_data("government", "presidents.csv")
    named = [row for row in rows if fold(row["surname"]) == fold(surname)]
    if not named:
        raise not_found("president", surname, dict.fromkeys(row["surname"] for row in rows), "Give the surname alone.")
    found = [row for row in named if not given_name or fold(given_name) in (fold(row["given"]), fold(row["given"]).split(" ")[0])]
    found = [row for row in found if fold(row["given"]) == fold(given_name or "")] or found
    found = [row for row in found if number in (None, int(row["number"]))]
    if not found:
        known = " and ".join(f"{row['given']} {row['surname']} ({row['number']})" for row in named)
        raise HTTPException(404, f"No such president of that surname; there is {known}.")
    if len(found) > 1:
        argument = "given_name" if len({row["given"] for row in found}) > 1 else "number"
        candidates = [f"{row['given']}, number {row['number']}" for row in found]
        raise several_fit("presidents", found[0]["surname"], candidates, argument)
    row = found[0]
    return President(
        president=f"{row['given']} {row['surname']}",
        number=int(row["number"]),
        took_office=date.fromisoformat(row["from"]),
        left_office=date.fromisoformat(row["until"]) if row["until"] else None,
        vice_presidents=row["vice_presidents"].split("; ") if row["vice_presidents"] else [],
    )


@router.get(
    "/amendments/{number}",
    operation_id="get_amendment",
    summary="Look up an amendment to the Constitution of the United States: its subject, and when it was proposed and ratified.",
    openapi_extra=person_can("It is printed in every pocket edition of the Constitution."),
)
async def get_amendment(number: Annotated[int, Path(description="Number of the amendment.", examples=[9], ge=1, le=27)]) -> Amendment:
    row = read_data("government", "amendments.csv")[number - 1]
    return Amendment(
        number=number, subject=row["subject"], proposed=date.fromisoformat(row["proposed"]), ratified=date.fromisoformat(row["ratified"])
    )


@router.get(
    "/congresses/{number}",
    operation_id="get_congress_dates",
    summary="Find when a Congress of the United States begins and ends, by its number.",
    openapi_extra=person_can("The website of Congress lists all of them with their dates."),
)
async def get_congress_dates(number: Annotated[int, Path(description="Number of the Congress.", examples=[88], ge=1, le=150)]) -> Congress:
    def begins(congress: int) -> date:
        year = 1787 + 2 * congress
        return date(year, 1, 3) if congress >= FIRST_JANUARY_CONGRESS else date(year, 3, 4)

    return Congress(number=number, begins=begins(number), ends=begins(number + 1))
