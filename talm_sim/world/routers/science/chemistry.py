"""Compounds, elements and ions, from molmass (BSD) and tables of mendeleev (MIT): radii of Shannon 1976, ionization energies of NIST."""

from functools import lru_cache
from typing import Annotated, Literal, NamedTuple

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import not_found
from talm_sim.world.routers.science.elements import ELEMENT_IN_PATH, Element, figures, find_element
from talm_sim.world.stand_in import person_can, person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter()

MOST_RADII = 12


class MolarMass(BaseModel):
    """Mass of a chemical compound."""

    formula: str
    hill_formula: str
    atoms: int
    molar_mass_g_per_mol: float
    monoisotopic_mass_u: float


class ElementProperties(BaseModel):
    """A chemical element."""

    symbol: str
    name: str
    atomic_number: int
    group: int
    period: int
    atomic_mass_u: float
    melting_point_k: float | None
    boiling_point_k: float | None
    electronegativity: float | None
    electron_configuration: str


class IonKind(BaseModel):
    """What tells the radii of one element apart."""

    charge: int
    coordination: int
    spin_state: str | None = None


class IonicRadius(BaseModel):
    """The radius of an ion; `several` lists the choices where more than one fits."""

    symbol: str
    charge: int | None = None
    coordination: int | None = None
    spin_state: str | None = None
    ionic_radius_pm: float | None = None
    crystal_radius_pm: float | None = None
    several: list[IonKind] = []


class IonizationEnergy(BaseModel):
    """The energy that takes one more electron from an atom or ion."""

    symbol: str
    charge_before: int
    ionization_energy_ev: float
    ionization_energy_kj_per_mol: float


class Radius(NamedTuple):
    """A row of the table of radii."""

    charge: int
    coordination: int
    spin: str
    ionic_pm: float
    crystal_pm: float


KJ_PER_MOL_PER_EV = 96.48533212
"""The Faraday constant in kilocoulombs per mole."""


@lru_cache(maxsize=1)
def _radii() -> dict[str, list[Radius]]:
    found: dict[str, list[Radius]] = {}
    for row in read_data("science", "ionic_radii.csv"):
        radius = Radius(int(row["charge"]), int(row["coordination"]), row["spin"], float(row["ionic_pm"]), float(row["crystal_pm"]))
        found.setdefault(row["symbol"], []).append(radius)
    return found


@lru_cache(maxsize=1)
def _ionization() -> dict[tuple[str, int], float]:
    return {(row["symbol"], int(row["charge"])): float(row["energy_ev"]) for row in read_data("science", "ionization.csv")}


@router.get(
    "/molar-mass",
    operation_id="compute_molar_mass",
    summary="Compute the molar mass and the monoisotopic mass of a compound from its chemical formula.",
    openapi_extra=person_cannot("Adding up the masses of all atoms by hand is slow and goes wrong."),
)
async def compute_molar_mass(
    formula: Annotated[str, Query(description="Chemical formula, case-sensitive.", examples=["C8H10N4O2"], min_length=1, max_length=80)],
) -> MolarMass:
    import molmass

    try:
        compound = molmass.Formula(formula)
        if not compound.atoms:
            raise HTTPException(422, "formula: no chemical formula: it holds no atoms")
        return MolarMass(
            formula=formula,
            hill_formula=compound.formula,
            atoms=compound.atoms,
            molar_mass_g_per_mol=round(compound.mass, 3),
            monoisotopic_mass_u=round(compound.monoisotopic_mass, 4),
        )
    except molmass.FormulaError as error:
        raise HTTPException(422, f"formula: no chemical formula: {str(error).splitlines()[0]}") from None


@router.get(
    "/elements/{element}",
    operation_id="get_element",
    summary="Get a chemical element's atomic number, mass, melting and boiling points, electronegativity and electron shells.",
    openapi_extra=person_can("A periodic table on the wall or in a book shows them."),
)
async def get_element(element: Annotated[str, ELEMENT_IN_PATH]) -> ElementProperties:
    found = find_element(element)
    return ElementProperties(
        symbol=found.symbol,
        name=found.name,
        atomic_number=found.number,
        group=found.group,
        period=found.period,
        atomic_mass_u=figures(found.mass, 7),
        melting_point_k=found.tmelt or None,
        boiling_point_k=found.tboil or None,
        electronegativity=found.eleneg or None,
        electron_configuration=found.eleconfig,
    )


@router.get(
    "/ionic-radius",
    operation_id="get_ionic_radius",
    response_model_exclude_none=True,
    summary="Get Shannon's ionic radius and crystal radius of an ion; where several fit, the answer lists the choices.",
    openapi_extra=person_cannot("The radii are rows of a specialist's table.", record=True),
)
async def get_ionic_radius(
    element: Element,
    charge: Annotated[int | None, Query(description="Charge of the ion in elementary charges.", examples=[-1], ge=-3, le=8)] = None,
    coordination: Annotated[int | None, Query(description="Number of nearest neighbours in the crystal.", examples=[12], ge=1, le=14)] = None,
    spin_state: Annotated[Literal["high", "low"] | None, Query(description="Spin state, where an ion has two.")] = None,
) -> IonicRadius:
    found = find_element(element)
    rows = [
        radius
        for radius in _radii().get(found.symbol, [])
        if charge in {None, radius.charge} and coordination in {None, radius.coordination} and spin_state in {None, radius.spin}
    ]
    if not rows:
        known = sorted({(radius.charge, radius.coordination) for radius in _radii().get(found.symbol, [])})
        listed = "; ".join(f"charge {one}, coordination {other}" for one, other in known[:MOST_RADII])
        raise HTTPException(404, f"No such ion of {found.name}. " + (f"Known are: {listed}." if listed else "No radii of it are known."))
    if len(rows) > 1:
        kinds = [IonKind(charge=row.charge, coordination=row.coordination, spin_state=row.spin or None) for row in rows]
        return IonicRadius(symbol=found.symbol, several=kinds[:MOST_RADII])
    (row,) = rows
    return IonicRadius(
        symbol=found.symbol,
        charge=row.charge,
        coordination=row.coordination,
        spin_state=row.spin or None,
        ionic_radius_pm=row.ionic_pm,
        crystal_radius_pm=row.crystal_pm,
    )


@router.get(
    "/ionization-energy/{element}/{electron}",
    operation_id="get_ionization_energy",
    summary="Get the energy that removes an element's first, second or further electron, by the tables of NIST.",
    openapi_extra=person_cannot("The evaluated values of higher steps are rows of a spectroscopist's table.", record=True),
)
async def get_ionization_energy(
    element: Annotated[str, ELEMENT_IN_PATH],
    electron: Annotated[int, Path(description="Which electron is removed, counted from one.", examples=[1], ge=1, le=8)],
) -> IonizationEnergy:
    found = find_element(element)
    energy = _ionization().get((found.symbol, electron - 1))
    if energy is None:
        known = [str(charge + 1) for symbol, charge in _ionization() if symbol == found.symbol]
        raise not_found(f"ionization energy of {found.name} for electron", str(electron), hint=f"Known are: {', '.join(known) or 'none'}.")
    return IonizationEnergy(
        symbol=found.symbol,
        charge_before=electron - 1,
        ionization_energy_ev=energy,
        ionization_energy_kj_per_mol=round(energy * KJ_PER_MOL_PER_EV, 1),
    )
