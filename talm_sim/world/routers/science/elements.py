"""Finds a chemical element, in molmass (BSD) and in the vendored tables alike."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Annotated

from fastapi import Path, Query

from talm_sim.world.lookup import fold, not_found

if TYPE_CHECKING:
    import molmass

ELEMENT_IN_PATH = Path(description="Symbol or English name of the element.", examples=["Au"], max_length=20)
Element = Annotated[str, Query(description="Symbol or English name of the element.", examples=["Cs"], min_length=1, max_length=20)]


@lru_cache(maxsize=1)
def _elements() -> dict[str, molmass.Element]:
    """Elements by symbol and by name, in small letters."""
    import molmass

    every = list(molmass.ELEMENTS)
    return {element.name.casefold(): element for element in every} | {element.symbol.casefold(): element for element in every}


def find_element(key: str) -> molmass.Element:
    """Find an element by symbol or name.

    Raises:
        HTTPException: 404, with the nearest name.
    """
    element = _elements().get(fold(key))
    if element is None:
        names = [name for name in _elements() if len(name) > 2]
        raise not_found("element", key, names, hint="Give its symbol or English name.")
    return element


def figures(value: float, count: int = 6) -> float:
    """Round to a number of significant figures."""
    return float(f"{value:.{count}g}")
