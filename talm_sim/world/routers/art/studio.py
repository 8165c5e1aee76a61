"""What artists and printers look up: pigments by their Colour Index name, and sizes of paper."""

from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found
from talm_sim.world.stand_in import person_can
from talm_sim.world.vendored import read_data

router = APIRouter()

MM_PER_INCH = 25.4
Standard = Literal["ISO", "JIS", "ANSI", "ARCH"]


class Pigment(BaseModel):
    """A pigment of artists' paint."""

    index_name: str
    constitution_number: str
    name: str
    chemistry: str


class PaperSize(BaseModel):
    """A size of paper, upright; only `several` is filled where more than one standard has the name."""

    size: str | None = None
    standard: str | None = None
    width_mm: float | None = None
    height_mm: float | None = None
    width_inches: float | None = None
    height_inches: float | None = None
    several: list[str] = []


@router.get(
    "/pigments/{pigment}",
    operation_id="get_pigment",
    summary="Get a pigment's common name, Colour Index name and constitution number, and what it is chemically.",
    openapi_extra=person_can("It is printed on the tubes of artists' paint."),
)
async def get_pigment(
    pigment: Annotated[
        str, Path(description="Colour Index name, or common name of the pigment.", examples=["PB29"], min_length=2, max_length=60)
    ],
) -> Pigment:
    rows: list[dict[str, str]] = read_data("art", "pigments.csv")
    code = fold(pigment).replace(" ", "").removeprefix("c.i.")
    for row in rows:
        names = [fold(name) for name in row["names"].split("; ")]
        if code == row["index_name"].casefold() or fold(pigment) in names:
            return Pigment(
                index_name=row["index_name"],
                constitution_number=row["constitution_number"],
                name=row["names"].split("; ")[0],
                chemistry=row["chemistry"],
            )
    known = [name for row in rows for name in (row["index_name"], *row["names"].split("; "))]
    raise not_found("pigment", pigment, known, "Give a Colour Index name such as PB29, or a common name such as ultramarine blue.")


@router.get(
    "/paper-sizes/{size}",
    operation_id="get_paper_size",
    summary="Get the width and height of a paper size, in millimetres and inches.",
    openapi_extra=person_can("A person measures a sheet with a ruler, or reads the packet."),
)
async def get_paper_size(
    size: Annotated[str, Path(description="Name of the size.", examples=["A4"], min_length=2, max_length=20)],
    standard: Annotated[
        Standard | None, Query(description="Which standard defines it, to tell sizes of one name apart.", examples=["ISO"])
    ] = None,
) -> PaperSize:
    rows: list[dict[str, str]] = read_data("art", "paper_sizes.csv")
    fitting = [row for row in rows if fold(row["size"]) == fold(size)]
    if not fitting:
        raise not_found("paper size", size, sorted({row["size"] for row in rows}), "Give a name such as A4, C5, Letter or Arch D.")
    if standard is not None:
        known = [row["standard"] for row in fitting]
        fitting = [row for row in fitting if row["standard"] == standard]
        if not fitting:
            raise HTTPException(404, f"{standard} has no size {size}; it is one of {' and '.join(known)}.")
    if len(fitting) > 1:
        return PaperSize(several=[f"{row['size']} of {row['standard']}" for row in fitting])
    (row,) = fitting
    width, height = float(row["width_mm"]), float(row["height_mm"])
    return PaperSize(
        size=row["size"],
        standard=row["standard"],
        width_mm=width,
        height_mm=height,
        width_inches=round(width / MM_PER_INCH, 2),
        height_inches=round(height / MM_PER_INCH, 2),
    )
