"""Units and constants of physics, from pint (BSD), whose constants are the CODATA 2022 values."""

from functools import lru_cache
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query
from pydantic import BaseModel

from talm_sim.world.lookup import not_found
from talm_sim.world.routers.science.elements import figures
from talm_sim.world.stand_in import person_can

router = APIRouter()

UNIT = r"^[A-Za-z_]+( [A-Za-z_]+)*([\^][23])?(/[A-Za-z_]+([\^][23])?)?$"
ConstantName = Literal[
    "atomic mass constant",
    "Avogadro constant",
    "Bohr radius",
    "Boltzmann constant",
    "classical electron radius",
    "conductance quantum",
    "electron mass",
    "elementary charge",
    "Faraday constant",
    "fine-structure constant",
    "gravitational constant",
    "impedance of free space",
    "Josephson constant",
    "magnetic flux quantum",
    "molar gas constant",
    "neutron mass",
    "Planck constant",
    "proton mass",
    "reduced Planck constant",
    "Rydberg constant",
    "speed of light",
    "standard atmosphere",
    "standard gravity",
    "Stefan-Boltzmann constant",
    "vacuum permeability",
    "vacuum permittivity",
    "von Klitzing constant",
    "Wien displacement constant",
]
CONSTANTS: dict[ConstantName, tuple[str, str]] = {
    "atomic mass constant": ("atomic_mass_constant", "kg"),
    "Avogadro constant": ("avogadro_constant", "1/mol"),
    "Bohr radius": ("bohr", "m"),
    "Boltzmann constant": ("boltzmann_constant", "J/K"),
    "classical electron radius": ("classical_electron_radius", "m"),
    "conductance quantum": ("conductance_quantum", "S"),
    "electron mass": ("electron_mass", "kg"),
    "elementary charge": ("elementary_charge", "C"),
    "Faraday constant": ("faraday_constant", "C/mol"),
    "fine-structure constant": ("fine_structure_constant", ""),
    "gravitational constant": ("newtonian_constant_of_gravitation", "m^3/(kg s^2)"),
    "impedance of free space": ("impedance_of_free_space", "ohm"),
    "Josephson constant": ("josephson_constant", "Hz/V"),
    "magnetic flux quantum": ("magnetic_flux_quantum", "Wb"),
    "molar gas constant": ("molar_gas_constant", "J/(mol K)"),
    "neutron mass": ("neutron_mass", "kg"),
    "Planck constant": ("planck_constant", "J s"),
    "proton mass": ("proton_mass", "kg"),
    "reduced Planck constant": ("dirac_constant", "J s"),
    "Rydberg constant": ("rydberg_constant", "1/m"),
    "speed of light": ("speed_of_light", "m/s"),
    "standard atmosphere": ("standard_atmosphere", "Pa"),
    "standard gravity": ("standard_gravity", "m/s^2"),
    "Stefan-Boltzmann constant": ("stefan_boltzmann_constant", "W/(m^2 K^4)"),
    "vacuum permeability": ("vacuum_permeability", "N/A^2"),
    "vacuum permittivity": ("vacuum_permittivity", "F/m"),
    "von Klitzing constant": ("von_klitzing_constant", "ohm"),
    "Wien displacement constant": ("wien_wavelength_displacement_law_constant", "m K"),
}
"""By its name, what pint calls a constant and the unit in which it is given."""
INTERNATIONAL = (
    "fathom = 6 * foot",
    "rod = 16.5 * foot = rd = pole = perch",
    "league = 3 * mile",
    "acre_foot = acre * foot = _ = acre_feet",
)
"""Units that pint derives from the survey foot, which the United States gave up in 2022; furlong, chain and acre follow from the rod."""


class ConvertedQuantity(BaseModel):
    """A quantity in another unit."""

    value: float
    from_unit: str
    to_unit: str
    result: float


class PhysicalConstant(BaseModel):
    """A constant of physics."""

    name: ConstantName
    value: float
    unit: str


@lru_cache(maxsize=1)
def _units() -> Any:
    import pint

    registry = pint.UnitRegistry(on_redefinition="ignore")
    for unit in INTERNATIONAL:
        registry.define(unit)
    return registry


def _unit(name: str) -> Any:
    from pint import PintError

    try:
        return _units().Unit(name)
    except (PintError, ValueError, AssertionError):
        raise not_found("unit", name, hint="Give a unit such as km/h, degC, stone or fluid_ounce.") from None


@router.get(
    "/convert-units",
    operation_id="convert_units",
    summary="Convert a quantity from one unit of measurement to another.",
    openapi_extra=person_can("A conversion table or a phone's converter gives it."),
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
    return ConvertedQuantity(value=value, from_unit=from_unit, to_unit=to_unit, result=figures(result))


@router.get(
    "/constant",
    operation_id="get_physical_constant",
    summary="Get the recommended value of a constant of physics in SI units.",
    openapi_extra=person_can("Any physics textbook prints it on its inside cover."),
)
async def get_physical_constant(
    name: Annotated[ConstantName, Query(description="Name of the constant.", examples=["speed of light"])],
) -> PhysicalConstant:
    constant, unit = CONSTANTS[name]
    value = _units().Quantity(1, constant).to(unit or "dimensionless").magnitude
    return PhysicalConstant(name=name, value=figures(value, 11), unit=unit)
