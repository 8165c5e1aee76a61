"""Science tools answer with known facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Ask = Callable[..., Any]


@pytest.mark.parametrize("formula", ["Xx2", "((", "-"])
def test_molar_mass_refuses_what_is_no_formula(ask: Ask, formula: str) -> None:
    assert ask("compute_molar_mass", 422, formula=formula).startswith("formula: ")


@pytest.mark.parametrize("key", ["Au", "gold", "GOLD"])
def test_element_by_symbol_and_name(ask: Ask, key: str) -> None:
    gold = ask("get_element", element=key)
    assert (gold["symbol"], gold["atomic_number"], gold["group"], gold["period"]) == ("Au", 79, 11, 6)
    assert (gold["melting_point_k"], gold["electronegativity"]) == (1337.58, 2.54)
    assert gold["electron_configuration"] == "[Xe] 4f14 5d10 6s"


def test_particles_by_common_and_by_table_name(ask: Ask) -> None:
    muon = ask("get_particle", name="Muon")
    assert (muon["pdg_id"], muon["mass_mev"], muon["charge"], muon["spin"], muon["lifetime_ns"]) == (13, 105.6584, -1.0, "1/2", 2196.98)
    assert muon["antiparticle"] == "mu+"
    proton = ask("get_particle", name="proton")
    assert (proton["pdg_id"], proton["mass_mev"], proton["quark_content"], proton["lifetime_ns"]) == (2212, 938.2721, "uud", None)
    assert ask("get_particle", name="K+")["lifetime_ns"] == 12.3794
    assert ask("get_particle", name="t")["charge"] == 0.666667


@pytest.mark.parametrize(
    ("name", "spin"), [("Lambda(c)(2595)+", "1/2"), ("Lambda(c)(2625)+", "3/2"), ("Xi(c)(2790)+", "1/2"), ("Xi(c)(2815)~0", "3/2")]
)
def test_spins_of_charmed_baryons_are_the_measured_ones(ask: Ask, name: str, spin: str) -> None:
    assert ask("get_particle", name=name)["spin"] == spin


@pytest.mark.parametrize(
    ("value", "from_unit", "to_unit", "result"),
    [
        (60, "mph", "km/h", 96.5606),
        (350, "degF", "degC", 176.667),
        (5, "miles per hour", "m/s", 2.2352),
        (1, "light_year", "parsec", 0.306601),
        (9.81, "m/s^2", "ft/s^2", 32.185),
        (14, "furlong", "metre", 2816.35),
        (8, "fathom", "foot", 48),
    ],
)
def test_convert_units(ask: Ask, value: float, from_unit: str, to_unit: str, result: float) -> None:
    assert ask("convert_units", value=value, from_unit=from_unit, to_unit=to_unit)["result"] == result


def test_convert_units_refuses_unknown_and_unlike_units(ask: Ask) -> None:
    assert "No unit 'banana'" in ask("convert_units", 404, value=1, from_unit="banana", to_unit="kg")
    assert "different things" in ask("convert_units", 422, value=1, from_unit="mph", to_unit="kg")
    assert ask("convert_units", 422, value=1, from_unit="2**9", to_unit="m").startswith("from_unit: ")


def test_a_radius_that_is_not_told_apart_lists_the_choices(ask: Ask) -> None:
    assert ask("get_ionic_radius", element="thallium", coordination=6)["several"] == [
        {"charge": 1, "coordination": 6},
        {"charge": 3, "coordination": 6},
    ]
    assert ask("get_ionic_radius", element="Fe", charge=3, coordination=6, spin_state="high")["ionic_radius_pm"] == 64.5
    assert "charge 2, coordination 4" in ask("get_ionic_radius", 404, element="iron", charge=5)
    assert "No radii" in ask("get_ionic_radius", 404, element="helium")


def test_radioisotopes_of_an_element_are_listed_by_their_lives(ask: Ask) -> None:
    assert [one["mass_number"] for one in ask("get_radioisotope", element="cobalt")["several"][:2]] == [60, 57]
    assert ask("get_radioisotope", element="H")["half_life_unit"] == "years"
    assert "The longest-lived are: 14, 11." in ask("get_radioisotope", 404, element="C", mass_number=99)
    assert "No radioactive isotope of Helium" in ask("get_radioisotope", 404, element="He")


def test_a_gem_that_can_be_grown_asks_how_it_was(ask: Ask) -> None:
    assert ask("get_mineral", name="emerald") == {"name": "emerald", "several": ["natural", "flux", "hydrothermal"]}
    assert ask("get_mineral", name="Emerald", growth="flux")["specific_gravity_max"] == 2.66
    assert ask("get_mineral", 404, name="tanzanite", growth="CVD").endswith("Known are: natural.")
    assert "Did you mean 'tanzanite'?" in ask("get_mineral", 404, name="tanzanit")


def test_the_sky_is_known_for_two_centuries(ask: Ask) -> None:
    assert ask("get_planet_position", 422, planet="Mars", date="1899-12-31").startswith("date: ")
    assert ask("find_eclipse", 422, body="sun", after="2101-01-01").startswith("after: ")
    assert "Did you mean 'Betelgeuse'?" in ask("get_star", 404, name="Betelgeuze")
    assert ask("find_eclipse", body="moon", after="2025-03-01")["peak_latitude"] is None


def test_constants_of_pint_are_those_of_the_particle_data_group(ask: Ask) -> None:
    mev_in_kg = 1.602176634e-13 / 299792458**2
    for name, mev in (("electron mass", 0.51099895), ("proton mass", 938.272089), ("neutron mass", 939.565422)):
        assert ask("get_physical_constant", name=name)["value"] == pytest.approx(mev * mev_in_kg, rel=1e-7)
