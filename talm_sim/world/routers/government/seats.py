"""Seats of a parliament by votes, computed."""

from fractions import Fraction
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Query
from pydantic import BaseModel

from talm_sim.world.stand_in import person_cannot

router = APIRouter(prefix="/seats")


class Seats(BaseModel):
    """What each party gets, in the order of the votes."""

    method: str
    seats: list[int]


@router.get(
    "",
    operation_id="allocate_seats",
    summary="Share the seats of a parliament among parties by their votes; of equal claims, the party that is named first wins.",
    openapi_extra=person_cannot("It takes a table of quotients for every party."),
)
async def allocate_seats(
    votes: Annotated[
        list[Annotated[int, Query(ge=0, le=10**10)]],
        Query(description="Votes of each party.", examples=[[5400, 3100]], min_length=1, max_length=20),
    ],
    seats: Annotated[int, Query(description="Seats to share.", examples=[44], ge=1, le=800)],
    method: Annotated[Literal["d-hondt", "sainte-lague", "hare"], Query(description="How quotients or remainders are compared.")],
) -> Seats:
    total = sum(votes)
    if not total:
        raise HTTPException(422, "Somebody must have voted: the sum of votes is 0.")
    shares = [vote * seats // total for vote in votes] if method == "hare" else [0] * len(votes)

    def claim(party: int) -> Fraction:
        if method == "hare":
            return Fraction(votes[party] * seats, total) - shares[party]
        return Fraction(votes[party], shares[party] + 1 if method == "d-hondt" else 2 * shares[party] + 1)

    for _ in range(seats - sum(shares)):
        shares[max(range(len(votes)), key=lambda party: (claim(party), -party))] += 1
    return Seats(method=method, seats=shares)
