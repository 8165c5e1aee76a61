"""What flowers, names and anniversaries stand for: lists of our own, after tradition."""

from functools import lru_cache
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found, several_fit
from talm_sim.world.stand_in import person_can
from talm_sim.world.vendored import read_data

router = APIRouter()

Row = dict[str, str]


@lru_cache(maxsize=2)
def _by_name(file: str, column: str) -> dict[str, list[Row]]:
    """Rows of a file by the folded name in a column."""
    index: dict[str, list[Row]] = {}
    for row in read_data("inspiration", file):
        index.setdefault(fold(row[column]), []).append(row)
    return index


class Flower(BaseModel):
    """What a flower says."""

    flower: str
    colour: str
    meaning: str


class Name(BaseModel):
    """What a first name means."""

    name: str
    origin: str
    meaning: str


class Gift(BaseModel):
    """What is given on a wedding anniversary."""

    anniversary: int
    list_name: str
    gift: str


@router.get(
    "/flowers/{flower}",
    operation_id="get_flower_meaning",
    summary="Get what a flower means in the Victorian language of flowers.",
    openapi_extra=person_can("A florist knows, and so does any book on the language of flowers."),
)
async def get_flower_meaning(
    flower: Annotated[str, Path(description="English name of the flower, in the singular.", examples=["Azalea"], min_length=2, max_length=40)],
    colour: Annotated[
        str | None,
        Query(description="Its colour or kind, where the meaning depends on it.", examples=["striped"], min_length=2, max_length=20),
    ] = None,
) -> Flower:
    index = _by_name("flowers.csv", "flower")
    found = index.get(fold(flower)) or index.get(fold(flower).removesuffix("s")) or []
    if not found:
        raise not_found("flower", flower, (rows[0]["flower"] for rows in index.values()), "Give its usual English name.")
    # A colour is of no matter where the meaning does not depend on it.
    fitting = [row for row in found if colour is None or fold(row["colour"]) in ("", fold(colour))]
    if len(fitting) > 1:
        raise several_fit("meanings", found[0]["flower"], (row["colour"] for row in fitting), "colour")
    if not fitting:
        raise HTTPException(
            404, f"A meaning of {found[0]['flower']} is known for {', '.join(row['colour'] for row in found)}, not for {colour}."
        )
    return Flower(flower=fitting[0]["flower"], colour=fitting[0]["colour"], meaning=fitting[0]["meaning"])


@router.get(
    "/names/{name}",
    operation_id="get_name_meaning",
    summary="Get the meaning and the origin of a first name.",
    openapi_extra=person_can("A person looks it up in a book of names."),
)
async def get_name_meaning(
    name: Annotated[str, Path(description="The first name.", examples=["Emma"], min_length=2, max_length=40)],
    origin: Annotated[
        str | None, Query(description="Language of its origin, where there are several.", examples=["Germanic"], min_length=3, max_length=30)
    ] = None,
) -> Name:
    index = _by_name("names.csv", "name")
    found = index.get(fold(name), [])
    if not found:
        raise not_found("name", name, (rows[0]["name"] for rows in index.values()), "About 150 names are known.")
    fitting = [row for row in found if origin is None or fold(row["origin"]) == fold(origin)]
    if len(fitting) > 1:
        raise several_fit("names", found[0]["name"], (f"a {row['origin']} one" for row in fitting), "origin")
    if not fitting:
        raise HTTPException(404, f"{found[0]['name']} is known as {' and '.join(row['origin'] for row in found)}, not as {origin}.")
    return Name(name=fitting[0]["name"], origin=fitting[0]["origin"], meaning=fitting[0]["meaning"])


@router.get(
    "/anniversaries/{year}",
    operation_id="get_anniversary_gift",
    summary="Get what is given on a wedding anniversary.",
    openapi_extra=person_can("Jewellers and stationers hand the list out."),
)
async def get_anniversary_gift(
    year: Annotated[int, Path(description="Years since the wedding.", examples=[25], ge=1, le=100)],
    list_name: Annotated[
        Literal["traditional", "modern", "gemstone"] | None,
        Query(description="Which list of gifts, where they differ.", examples=["traditional"]),
    ] = None,
) -> Gift:
    rows = {int(row["year"]): row for row in read_data("inspiration", "anniversaries.csv")}
    if year not in rows:
        near = min(rows, key=lambda one: (abs(one - year), one))
        raise HTTPException(404, f"No gift belongs to anniversary {year}; the nearest with one is {near}.")
    gifts = {name: rows[year][name] for name in ("traditional", "modern", "gemstone")}
    if list_name is None and len(set(gifts.values())) > 1:
        raise several_fit("gifts", f"anniversary {year}", (f"{name}: {gift}" for name, gift in gifts.items()), "list_name")
    name = list_name or "traditional"
    return Gift(anniversary=year, list_name=name, gift=gifts[name])
