"""Geography tools answer with known facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from talm_sim.types import ToolSpec

Ask = Callable[..., Any]
pytestmark = pytest.mark.live


def test_which_tools_a_person_can_replace(specs: dict[str, ToolSpec]) -> None:
    assert {name: spec.human_replaceable for name, spec in specs.items() if spec.category == "geography"} == {
        "get_country_facts": True,
        "get_country_borders": True,
        "get_city_details": False,
        "get_city_by_rank": False,
        "get_city_distance": False,
    }


@pytest.mark.parametrize("country", ["Ivory Coast", "ivory coast", "CI", "civ", "Côte d'Ivoire"])
def test_a_country_is_found_by_name_code_and_other_spelling(ask: Ask, country: str) -> None:
    facts = ask("get_country_facts", country=country)
    assert (facts["country_code"], facts["capital"], facts["calling_code"], facts["currency_code"]) == ("CI", "Yamoussoukro", "+225", "XOF")


def test_a_name_wins_over_another_country_s_spelling(ask: Ask) -> None:
    assert ask("get_country_facts", country="Niger")["demonym"] == "Nigerien"
    assert ask("get_country_facts", country="Guinea")["capital"] == "Conakry"


def test_borders(ask: Ask) -> None:
    kenya = ask("get_country_borders", country="Kenya")
    assert kenya["neighbours"] == ["Ethiopia", "Somalia", "South Sudan", "Tanzania", "Uganda"]
    assert kenya["neighbour_count"] == 5
    assert ask("get_country_borders", country="Iceland")["neighbours"] == []


@pytest.mark.parametrize("country", ["Albania", "Serbia"])
def test_a_neighbour_without_iso_code_is_named(ask: Ask, country: str) -> None:
    assert "Kosovo" in ask("get_country_borders", country=country)["neighbours"]


def test_the_largest_city_of_a_name_is_meant_unless_a_country_is_given(ask: Ask) -> None:
    assert ask("get_city_details", city="paris")["population"] == 2138551
    texan = ask("get_city_details", city="Paris", country="US")
    assert (texan["timezone"], texan["country_code"]) == ("America/Chicago", "US")


def test_a_city_is_found_by_its_own_language(ask: Ask) -> None:
    assert ask("get_city_details", city="München")["city"] == "Munich"
    assert ask("get_city_details", city="galway")["country_code"] == "IE"


def test_rank_counts_from_the_largest(ask: Ask) -> None:
    assert [ask("get_city_by_rank", country="Turkey", rank=rank)["city"] for rank in (1, 2, 3, 4)] == ["Istanbul", "Ankara", "İzmir", "Bursa"]
    assert ask("get_city_by_rank", 404, country="Andorra", rank=30).startswith("Andorra has only ")


def test_distance_agrees_with_published_values(ask: Ask) -> None:
    result = ask("get_city_distance", origin="Lisbon", destination="Tallinn")
    assert (result["distance_km"], result["distance_miles"]) == (pytest.approx(3312, rel=0.01), pytest.approx(2058, rel=0.01))


def test_unknown_keys_are_refused_with_advice(ask: Ask) -> None:
    assert ask("get_country_facts", 404, country="Kenyia").startswith("No country 'Kenyia'. Did you mean 'Kenya'?")
    assert "15,000 inhabitants" in ask("get_city_details", 404, city="Nowhereville")
    assert "15,000 inhabitants" in ask("get_city_details", 404, city="Paris", country="Japan")
