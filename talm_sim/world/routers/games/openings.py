"""Chess openings, from an extract of ocn-chess 1.2.1 (MIT; its catalogue by Club d'Escacs Figueres, CC BY 4.0)."""

from functools import cache
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found, several_fit
from talm_sim.world.stand_in import person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter(prefix="/chess-openings")

MOST_NAMED = 5
"""Openings that are named when a variation is found in several."""


class ChessOpening(BaseModel):
    """One variation of an opening."""

    opening: str
    variation: str
    eco_code: str
    catalogue_code: str
    moves: str


@cache
def _by_variation() -> dict[str, list[ChessOpening]]:
    index: dict[str, list[ChessOpening]] = {}
    for row in read_data("games", "openings.csv.gz"):
        one = ChessOpening(
            opening=row["opening"], variation=row["variation"], eco_code=row["eco"], catalogue_code=row["code"], moves=row["moves"]
        )
        index.setdefault(fold(one.variation), []).append(one)
    return index


@router.get(
    "/{variation}",
    operation_id="get_chess_variation",
    summary="Look up a named variation of a chess opening: its ECO code, its catalogue code (OCN, of Club d'Escacs Figueres) and its moves.",
    openapi_extra=person_cannot("The catalogue has over a thousand variations, and hardly anyone knows its codes.", record=True),
)
async def get_chess_variation(
    variation: Annotated[
        str, Path(description="Name of the variation, gambit, attack or defence.", examples=["Velimirovic Attack"], min_length=2, max_length=60)
    ],
    opening: Annotated[
        str | None,
        Query(description="Opening that it belongs to, to tell variations of one name apart.", examples=["Sicilian Sozin"], max_length=60),
    ] = None,
) -> ChessOpening:
    named = _by_variation().get(fold(variation))
    if named is None:
        raise not_found("chess variation", variation, (one[0].variation for one in _by_variation().values()))
    found = [one for one in named if opening and fold(one.opening) == fold(opening)]
    found = found or [one for one in named if not opening or fold(opening) in fold(one.opening)]
    known = [one.opening for one in (found or named)][:MOST_NAMED]
    if not found:
        raise HTTPException(404, f"'{named[0].variation}' does not belong to '{opening}', but to {' and '.join(known)}.")
    if len(found) > 1:
        raise several_fit("chess variations", named[0].variation, known, "opening")
    return found[0]
