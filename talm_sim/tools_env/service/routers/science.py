"""Chemistry, particles and units, from molmass (BSD), particle (BSD; Particle Data Group tables) and pint (BSD)."""

from functools import lru_cache
from typing import Annotated, Any

import molmass
from fastapi import APIRouter, HTTPException, Path, Query
from particle import Particle
from pydantic import BaseModel

from talm_sim.tools_env.service.lookup import fold, not_found

__all__ = ["router"]

router = APIRouter(prefix="/science")

UNIT = r"^[A-Za-z_]+( [A-Za-z_]+)*([\^][23])?(/[A-Za-z_]+([\^][23])?)?$"
KELVIN_AT_ZERO_CELSIUS = 273.15
COMMON_NAMES = {
    "proton": "p",
    "neutron": "n",
    "electron": "e-",
    "positron": "e+",
    "muon": "mu-",
    "tau": "tau-",
    "photon": "gamma",
    "charged pion": "pi+",
    "neutral pion": "pi0",
    "charged kaon": "K+",
    "w boson": "W+",
    "z boson": "Z0",
    "higgs boson": "H0",
    "top quark": "t",
    "j/psi": "J/psi(1S)",
}


@lru_cache(maxsize=1)
def _units() -> Any:
    import pint

    return pint.UnitRegistry()


@lru_cache(maxsize=1)
def _elements() -> dict[str, molmass.Element]:
    """Elements by symbol and by name, in small letters."""
    every = list(molmass.ELEMENTS)
    return {element.name.casefold(): element for element in every} | {element.symbol.casefold(): element for element in every}


@lru_cache(maxsize=1)
def _particles() -> dict[str, Particle]:
    """Particles by their Particle Data Group name; the proton comes before the hydrogen nucleus of the same name."""
    return {found.name: found for found in sorted(Particle.all(), key=lambda found: -abs(int(found.pdgid)))}


def _element(key: str) -> molmass.Element:
    element = _elements().get(fold(key))
    if element is None:
        names = [name for name in _elements() if len(name) > 2]
        raise not_found("element", key, names, hint="Give its symbol or English name.")
    return element


def _figures(value: float, count: int = 6) -> float:
    return float(f"{value:.{count}g}")


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


class IsotopeProperties(BaseModel):
    """A naturally occurring isotope."""

    symbol: str
    mass_number: int
    mass_u: float
    natural_abundance_percent: float
    neutrons: int


class ParticleProperties(BaseModel):
    """A subatomic particle."""

    name: str
    pdg_id: int
    mass_mev: float | None
    charge: float
    spin: str
    lifetime_ns: float | None
    quark_content: str | None
    antiparticle: str


class ConvertedQuantity(BaseModel):
    """A quantity in another unit."""

    value: float
    from_unit: str
    to_unit: str
    result: float


@router.get(
    "/molar-mass",
    operation_id="compute_molar_mass",
    summary="Compute the molar mass and the monoisotopic mass of a compound from its chemical formula.",
    openapi_extra={"x-human-replaceable": False},
)
async def compute_molar_mass(
    formula: Annotated[str, Query(description="Chemical formula, case-sensitive.", examples=["C8H10N4O2"], min_length=1, max_length=80)],
) -> MolarMass:
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
    openapi_extra={"x-human-replaceable": True},
)
async def get_element(
    element: Annotated[str, Path(description="Symbol or English name of the element.", examples=["Au"], max_length=20)],
) -> ElementProperties:
    found = _element(element)
    return ElementProperties(
        symbol=found.symbol,
        name=found.name,
        atomic_number=found.number,
        group=found.group,
        period=found.period,
        atomic_mass_u=_figures(found.mass, 7),
        melting_point_k=found.tmelt or None,
        boiling_point_k=found.tboil or None,
        electronegativity=found.eleneg or None,
        electron_configuration=found.eleconfig,
    )


@router.get(
    "/isotopes/{element}/{mass_number}",
    operation_id="get_isotope",
    summary="Get the exact mass and the natural abundance of an element's isotope.",
    openapi_extra={"x-human-replaceable": False},
)
async def get_isotope(
    element: Annotated[str, Path(description="Symbol or English name of the element.", examples=["C"], max_length=20)],
    mass_number: Annotated[int, Path(description="Mass number of the isotope: protons plus neutrons.", examples=[13], ge=1, le=300)],
) -> IsotopeProperties:
    found = _element(element)
    isotope = found.isotopes.get(mass_number)
    if isotope is None:
        raise not_found(f"natural isotope of {found.name} with mass number", str(mass_number), map(str, found.isotopes))
    return IsotopeProperties(
        symbol=found.symbol,
        mass_number=mass_number,
        mass_u=round(isotope.mass, 5),
        natural_abundance_percent=_figures(isotope.abundance * 100),
        neutrons=mass_number - found.number,
    )


@router.get(
    "/particle",
    operation_id="get_particle",
    summary="Get a subatomic particle's mass, charge, spin, mean lifetime and quark content.",
    openapi_extra={"x-human-replaceable": False},
)
async def get_particle(
    name: Annotated[str, Query(description="Common name or Particle Data Group name.", examples=["muon", "K+", "D0"], max_length=30)],
) -> ParticleProperties:
    found = _particles().get(COMMON_NAMES.get(fold(name), name.strip()))
    if found is None:
        raise not_found("particle", name, COMMON_NAMES, hint="Give a name such as muon, pi+, K+, D0 or Lambda.")
    unknown_lifetime = found.lifetime is None or found.lifetime == float("inf")
    return ParticleProperties(
        name=found.name,
        pdg_id=int(found.pdgid),
        mass_mev=None if found.mass is None else _figures(found.mass, 7),
        charge=_figures(float(found.charge or 0)),
        spin=str(found.J),
        lifetime_ns=None if unknown_lifetime else _figures(found.lifetime or 0),
        quark_content=found.quarks or None,
        antiparticle=found.invert().name,
    )


@router.get(
    "/convert-units",
    operation_id="convert_units",
    summary="Convert a quantity from one unit of measurement to another.",
    openapi_extra={"x-human-replaceable": True},
)
async def convert_units(
    value: Annotated[float, Query(description="Number to convert.", examples=[60], ge=-1e12, le=1e12)],
    from_unit: Annotated[str, Query(description="Unit of the number, in words or as a symbol.", examples=["mph"], max_length=40, pattern=UNIT)],
    to_unit: Annotated[str, Query(description="Unit wanted.", examples=["km/h"], max_length=40, pattern=UNIT)],
) -> ConvertedQuantity:
    from pint import DimensionalityError

    source, target = _unit(from_unit), _unit(to_unit)
    try:
        result = _units().Quantity(value, source).to(target).magnitude
    except DimensionalityError:
        raise HTTPException(422, f"{from_unit} cannot be converted to {to_unit}: they measure different things.") from None
    return ConvertedQuantity(value=value, from_unit=from_unit, to_unit=to_unit, result=_figures(result))


def _unit(name: str) -> Any:
    from pint import PintError

    try:
        return _units().Unit(name)
    except (PintError, ValueError, AssertionError):
        raise not_found("unit", name, hint="Give a unit such as km/h, degC, stone or fluid_ounce.") from None
