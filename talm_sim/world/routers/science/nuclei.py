"""Isotopes and particles, from molmass (BSD), NUBASE2020 by way of mendeleev (MIT), and particle (BSD; Particle Data Group tables)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found
from talm_sim.world.routers.science.elements import Element, figures, find_element
from talm_sim.world.stand_in import person_cannot
from talm_sim.world.vendored import read_data

if TYPE_CHECKING:
    from particle import Particle

router = APIRouter()

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
UNITS = {"sec": "seconds", "minute": "minutes", "hour": "hours", "day": "days", "year": "years"}
DECAYS = {
    "B-": "beta minus",
    "B+": "beta plus or electron capture",
    "EC": "electron capture",
    "A": "alpha",
    "SF": "spontaneous fission",
    "2B-": "double beta minus",
}
MOST_ISOTOPES = 12
SPINS = {104122: "3/2", 104312: "3/2", 104322: "3/2", 104314: "1/2", 104324: "1/2"}
"""Spins of charmed baryons that differ from the last digit of their Particle Data Group number, from which the package takes them."""


class IsotopeProperties(BaseModel):
    """A naturally occurring isotope."""

    symbol: str
    mass_number: int
    mass_u: float
    natural_abundance_percent: float
    neutrons: int


class KnownIsotope(BaseModel):
    """What tells the radioactive isotopes of one element apart."""

    mass_number: int
    main_decay: str | None = None


class Radioisotope(BaseModel):
    """A radioactive isotope; `several` lists those that are known, the longest-lived first, where no mass number was given."""

    symbol: str
    mass_number: int | None = None
    half_life: float | None = None
    half_life_unit: str | None = None
    main_decay: str | None = None
    nuclear_spin: str | None = None
    discovered: int | None = None
    several: list[KnownIsotope] = []


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


@lru_cache(maxsize=1)
def _radioisotopes() -> dict[str, dict[int, dict[str, str]]]:
    """Rows by symbol and mass number."""
    found: dict[str, dict[int, dict[str, str]]] = {}
    for row in read_data("science", "radioisotopes.csv.gz"):
        found.setdefault(row["symbol"], {})[int(row["mass_number"])] = row
    return found


@lru_cache(maxsize=1)
def _particles() -> dict[str, Particle]:
    """Particles by their Particle Data Group name; the proton comes before the hydrogen nucleus of the same name."""
    from particle import Particle

    every: list[Any] = Particle.all()
    return {found.name: found for found in sorted(every, key=lambda found: -abs(int(found.pdgid)))}


@router.get(
    "/isotopes/{element}/{mass_number}",
    operation_id="get_isotope",
    summary="Get the exact mass and the natural abundance of an element's isotope.",
    openapi_extra=person_cannot("Exact masses and abundances are rows of a specialist's table."),
)
async def get_isotope(
    element: Annotated[str, Path(description="Symbol or English name of the element.", examples=["C"], max_length=20)],
    mass_number: Annotated[int, Path(description="Mass number of the isotope: protons plus neutrons.", examples=[13], ge=1, le=300)],
) -> IsotopeProperties:
    found = find_element(element)
    isotope = found.isotopes.get(mass_number)
    if isotope is None:
        raise not_found(f"natural isotope of {found.name} with mass number", str(mass_number), map(str, found.isotopes))
    return IsotopeProperties(
        symbol=found.symbol,
        mass_number=mass_number,
        mass_u=round(isotope.mass, 5),
        natural_abundance_percent=figures(isotope.abundance * 100),
        neutrons=mass_number - found.number,
    )


@router.get(
    "/radioisotope",
    operation_id="get_radioisotope",
    response_model_exclude_none=True,
    summary="Get the half-life, main decay, nuclear spin and year of discovery of a radioactive isotope that lives for a minute or longer.",
    openapi_extra=person_cannot("The evaluated half-lives are rows of a nuclear physicist's table.", record=True),
)
async def get_radioisotope(
    element: Element,
    mass_number: Annotated[
        int | None, Query(description="Mass number; without it, the answer lists those that are known.", examples=[137], ge=1, le=300)
    ] = None,
) -> Radioisotope:
    found = find_element(element)
    known = _radioisotopes().get(found.symbol, {})
    if not known:
        raise HTTPException(404, f"No radioactive isotope of {found.name} that lives for a minute or longer is known.")
    longest = sorted(known, key=lambda number: -float(known[number]["seconds"]))
    if mass_number is None and len(known) > 1:
        several = [KnownIsotope(mass_number=number, main_decay=DECAYS.get(known[number]["decay"])) for number in longest[:MOST_ISOTOPES]]
        return Radioisotope(symbol=found.symbol, several=several)
    number = longest[0] if mass_number is None else mass_number
    if number not in known:
        listed = ", ".join(map(str, longest[:MOST_ISOTOPES]))
        raise HTTPException(404, f"No radioactive isotope of {found.name} with mass number {number}. The longest-lived are: {listed}.")
    row = known[number]
    return Radioisotope(
        symbol=found.symbol,
        mass_number=number,
        half_life=float(row["half_life"]),
        half_life_unit=UNITS[row["unit"]],
        main_decay=DECAYS.get(row["decay"]),
        nuclear_spin=row["spin"],
        discovered=int(row["discovered"]) if row["discovered"] else None,
    )


@router.get(
    "/particle",
    operation_id="get_particle",
    summary="Get a subatomic particle's mass, charge, spin, mean lifetime and quark content.",
    openapi_extra=person_cannot("Measured masses and lifetimes are rows of the Particle Data Group's tables."),
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
        mass_mev=None if found.mass is None else figures(found.mass, 7),
        charge=figures(float(found.charge or 0)),
        spin=SPINS.get(abs(int(found.pdgid)), str(found.J)),
        lifetime_ns=None if unknown_lifetime else figures(found.lifetime or 0),
        quark_content=found.quarks or None,
        antiparticle=found.invert().name,
    )
