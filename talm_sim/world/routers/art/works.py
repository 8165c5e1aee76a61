"""Paintings of the Tate's collection (CC0), and palettes of works of the Metropolitan Museum, from MetBrewer (CC0)."""

from functools import lru_cache
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found
from talm_sim.world.stand_in import person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter()

MOST_LISTED = 12
LONGEST_LIST = 1200
"""Characters of a list of candidates; a longer one says nothing to anyone."""
Row = dict[str, str]


def _plain(text: str) -> str:
    """A title or name as its words alone: quotation marks and dashes are written in many ways."""
    return " ".join("".join(char if char.isalnum() else "" if char in "'\u2019" else " " for char in fold(text)).split())


def _has_words(text: str, words: str) -> bool:
    return set(_plain(words).split()) <= set(_plain(text).split())


@lru_cache(maxsize=1)
def _paintings() -> list[tuple[str, Row]]:
    """The paintings with their plain titles, in the order of their accession numbers."""
    return [(_plain(row["title"]), row) for row in read_data("art", "paintings.csv.gz")]


class Painting(BaseModel):
    """A painting as its museum catalogues it; only `several` is filled where more than one fits."""

    title: str | None = None
    artist: str | None = None
    date: str | None = None
    medium: str | None = None
    height_mm: int | None = None
    width_mm: int | None = None
    acquired: int | None = None
    accession_number: str | None = None
    several: list[str] = []


class PaintingPalette(BaseModel):
    """The colours of a work of art; only `several` is filled where more than one work fits."""

    artist: str | None = None
    work: str | None = None
    year: str | None = None
    colors: list[str] = []
    several: list[str] = []


def _painting(row: Row) -> Painting:
    return Painting(
        title=row["title"],
        artist=row["artist"],
        date=row["date"],
        medium=row["medium"],
        height_mm=int(row["height_mm"]),
        width_mm=int(row["width_mm"]),
        acquired=int(row["acquired"]),
        accession_number=row["number"],
    )


@router.get(
    "/paintings",
    operation_id="find_painting",
    summary="Find a painting of the Tate, London, by its title: artist, date, medium, size without frame, year of acquisition.",
    openapi_extra=person_cannot("Size and year of acquisition are in the museum's catalogue, which nobody knows by heart.", record=True),
)
async def find_painting(
    title: Annotated[str, Query(description="Title of the painting, or words of it.", examples=["Ophelia"], min_length=2, max_length=120)],
    artist: Annotated[
        str | None,
        Query(description="Name of the artist, to tell paintings of one title apart.", examples=["Millais"], min_length=2, max_length=60),
    ] = None,
) -> Painting:
    wanted = _plain(title)
    fitting = [row for plain, row in _paintings() if plain == wanted] or [
        row for _, row in _paintings() if wanted and _has_words(row["title"], title)
    ]
    if not fitting:
        raise not_found(
            "painting",
            title,
            sorted({row["title"] for _, row in _paintings()}),
            "Only paintings of the Tate by artists who died before 1956 are known.",
        )
    if artist is not None:
        known = sorted({row["artist"] for row in fitting})
        fitting = [row for row in fitting if _has_words(row["artist"], artist)]
        if not fitting:
            raise not_found(f"painting '{title}' by", artist, known, f"There are those by {', '.join(known[:MOST_LISTED])}.")
    listed = [f"{row['title']}, {row['artist']}, {row['date']}, {row['number']}" for row in fitting]
    if sum(map(len, listed)) > LONGEST_LIST:
        raise HTTPException(422, f"{len(fitting)} paintings have these words in their title; give more of the title.")
    if len(fitting) > 1:
        return Painting(several=listed)
    return _painting(fitting[0])


@router.get(
    "/paintings/{accession_number}",
    operation_id="get_painting_by_number",
    summary="Get the painting of the Tate, London, that has an accession number.",
    openapi_extra=person_cannot("Accession numbers are in the museum's inventory alone.", record=True),
)
async def get_painting_by_number(
    accession_number: Annotated[
        str, Path(description="Accession number: a letter and five digits.", examples=["N01506"], pattern=r"^[A-Za-z]{1,2}\d{5}$")
    ],
) -> Painting:
    wanted = accession_number.upper()
    for _, row in _paintings():
        if row["number"] == wanted:
            return _painting(row)
    raise not_found("painting", wanted, hint="Only paintings of the Tate by artists who died before 1956 are known.")


@router.get(
    "/palettes",
    operation_id="get_painting_palette",
    summary="Get the palette of a painter's work in the Metropolitan Museum of Art, New York: title, year and hex codes, as in MetBrewer.",
    openapi_extra=person_cannot("One designer picked the hex codes from the picture, and only a package lists them."),
)
async def get_painting_palette(
    artist: Annotated[str, Query(description="Name of the painter.", examples=["Claude Monet"], min_length=3, max_length=60)],
    work: Annotated[
        str | None,
        Query(description="Words of the title, to tell works of one painter apart.", examples=["Water Lilies"], min_length=2, max_length=120),
    ] = None,
) -> PaintingPalette:
    rows: list[Row] = read_data("art", "palettes.csv")
    fitting = [row for row in rows if _plain(artist) and _has_words(row["artist"], artist)]
    if not fitting:
        painters = sorted({row["artist"] for row in rows})
        raise not_found("palette of a painter", artist, painters, f"There are {len(painters)} painters, from {painters[0]} to {painters[-1]}.")
    if work is not None:
        titles = [row["work"] for row in fitting]
        fitting = [row for row in fitting if _has_words(row["work"], work)]
        if not fitting:
            raise not_found(f"palette of a work by {artist} called", work, titles, f"There is: {'; '.join(titles)}.")
    if len(fitting) > 1:
        return PaintingPalette(several=[f"{row['artist']}: {row['work']}" for row in fitting])
    (row,) = fitting
    return PaintingPalette(artist=row["artist"], work=row["work"], year=row["year"], colors=row["colors"].split())
