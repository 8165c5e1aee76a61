"""Minerals and gems, from gemmology-mineral-database (MIT)."""

from functools import lru_cache
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found
from talm_sim.world.stand_in import person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter()

Growth = Literal["natural", "flame fusion", "flux", "hydrothermal", "czochralski", "CVD", "HPHT", "Gilson"]


class Mineral(BaseModel):
    """A mineral or gem; `several` lists how stones of that name were formed, where none was given."""

    name: str
    growth: str | None = None
    formula: str | None = None
    crystal_system: str | None = None
    hardness_min: float | None = None
    hardness_max: float | None = None
    specific_gravity_min: float | None = None
    specific_gravity_max: float | None = None
    refractive_index_min: float | None = None
    refractive_index_max: float | None = None
    dispersion: float | None = None
    optical_character: str | None = None
    lustre: str | None = None
    mineral_class: str | None = None
    several: list[str] = []


@lru_cache(maxsize=1)
def _minerals() -> dict[str, dict[str, dict[str, str]]]:
    """Rows by folded name and growth; stones of nature come first."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for row in sorted(read_data("science", "minerals.csv"), key=lambda row: (row["name"], row["growth"] != "natural", row["growth"])):
        found.setdefault(fold(row["name"]), {})[row["growth"]] = row
    return found


def _number(row: dict[str, str], column: str, otherwise: str = "") -> float | None:
    """Read a cell, or another one in its place; a cell with a span is no number."""
    text = row[column] or (row[otherwise] if otherwise else "")
    try:
        return float(text)
    except ValueError:
        return None


@router.get(
    "/minerals/{name}",
    operation_id="get_mineral",
    response_model_exclude_none=True,
    summary="Get a mineral's or gem's hardness, specific gravity, refractive index, dispersion, crystal system and formula.",
    openapi_extra=person_cannot("A gemmologist measures them; they are rows of a specialist's table."),
)
async def get_mineral(
    name: Annotated[str, Path(description="English name of the mineral or gem.", examples=["malachite"], min_length=2, max_length=40)],
    growth: Annotated[Growth | None, Query(description="How the stone was formed, to tell natural and laboratory-grown ones apart.")] = None,
) -> Mineral:
    found = _minerals().get(fold(name))
    if found is None:
        raise not_found("mineral", name, _minerals(), hint="Give the name of one mineral or gem, in English.")
    if growth is None and len(found) > 1:
        return Mineral(name=name, several=list(found))
    row = next(iter(found.values())) if growth is None else found.get(growth)
    if row is None:
        raise HTTPException(404, f"Nothing is known of {name} formed by '{growth}'. Known are: {', '.join(found)}.")
    return Mineral(
        name=row["name"],
        growth=row["growth"],
        formula=row["formula"] or None,
        crystal_system=row["system"],
        hardness_min=_number(row, "hardness_min"),
        hardness_max=_number(row, "hardness_max", "hardness_min"),
        specific_gravity_min=_number(row, "sg_min"),
        specific_gravity_max=_number(row, "sg_max", "sg_min"),
        refractive_index_min=_number(row, "ri_min"),
        refractive_index_max=_number(row, "ri_max", "ri_min"),
        dispersion=_number(row, "dispersion"),
        optical_character=row["optical_character"] or None,
        lustre=row["lustre"] or None,
        mineral_class=row["class"] or None,
    )
