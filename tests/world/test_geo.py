"""Geography tools answer with known facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Ask = Callable[..., Any]
pytestmark = pytest.mark.live


@pytest.mark.parametrize("country", ["Ivory Coast", "ivory coast", "CI", "civ", "Côte d'Ivoire"])
def test_a_country_is_found_by_name_code_and_other_spelling(ask: Ask, country: str) -> None:
    facts = ask("get_country_facts", country=country)
    assert (facts["country_code"], facts["capital"], facts["calling_code"], facts["currency_code"]) == ("CI", "Yamoussoukro", "+225", "XOF")


def test_a_name_wins_over_another_country_s_spelling(ask: Ask) -> None:
    assert ask("get_country_facts", country="Niger")["demonym"] == "Nigerien"
    assert ask("get_country_facts", country="Guinea")["capital"] == "Conakry"


def test_the_largest_city_of_a_name_is_meant_unless_a_country_is_given(ask: Ask) -> None:
    assert ask("get_city_details", city="paris")["population"] == 2138551
    texan = ask("get_city_details", city="Paris", country="US")
    assert (texan["timezone"], texan["country_code"]) == ("America/Chicago", "US")


def test_distance_agrees_with_published_values(ask: Ask) -> None:
    result = ask("get_city_distance", origin="Lisbon", destination="Tallinn")
    assert (result["distance_km"], result["distance_miles"]) == (pytest.approx(3312, rel=0.01), pytest.approx(2058, rel=0.01))


def test_unknown_keys_are_refused_with_advice(ask: Ask) -> None:
    assert ask("get_country_facts", 404, country="Kenyia").startswith("No country 'Kenyia'. Did you mean 'Kenya'?")
    assert "15,000 inhabitants" in ask("get_city_details", 404, city="Nowhereville")
    assert "15,000 inhabitants" in ask("get_city_details", 404, city="Paris", country="Japan")


def test_a_calling_code_that_countries_share_gives_them_all(ask: Ask) -> None:
    assert ask("find_calling_code", code="7")["countries"] == ["Kazakhstan", "Russia"]
    assert ask("find_calling_code", code="+44")["countries"] == ["Guernsey", "Isle of Man", "Jersey", "United Kingdom"]
    assert "No calling code '999'" in ask("find_calling_code", 404, code="999")


def test_a_county_of_several_states_needs_its_state(ask: Ask) -> None:
    assert ask("get_us_county_code", 422, county="Harris County").startswith("state: several states have a Harris County: Georgia, Texas.")
    assert ask("get_us_county_code", county="harris", state="tx") == {"county": "Harris County", "state": "Texas", "fips": "48201"}
    assert ask("get_us_county_code", 422, county="Baltimore").startswith("county: Maryland has ")
    assert ask("get_us_county_code", county="Baltimore County")["fips"] == "24005"


def test_a_city_of_several_countries_needs_its_country_unless_the_others_are_far_smaller(ask: Ask) -> None:
    noon = "2025-07-31T12:00"
    assert "United Kingdom, United States" in ask("get_city_local_time", 422, city="Birmingham", utc_time=noon)
    assert ask("get_city_local_time", city="Birmingham", country="US", utc_time=noon)["local_time"] == "07:00"
    assert ask("get_city_local_time", city="London", utc_time=noon)["utc_offset"] == "+01:00"
    assert "is no date and time" in ask("get_city_local_time", 422, city="Hanoi", utc_time="2025-13-31T12:00")
    assert "too near the end" in ask("get_city_local_time", 422, city="Hanoi", utc_time="9999-12-31T23:59")


def test_direction_agrees_with_a_published_value_and_the_midpoint_lies_halfway(ask: Ask) -> None:
    # Ed Williams' Aviation Formulary: the initial course from Los Angeles to New York is 66 degrees.
    west_to_east = ask("get_city_direction", origin="Los Angeles", destination="New York City")
    assert west_to_east["bearing_degrees"] == pytest.approx(66, abs=1)
    assert west_to_east["compass_point"] == "ENE"
    halfway = {"latitude": west_to_east["midpoint_latitude"], "longitude": west_to_east["midpoint_longitude"]}
    assert ask("find_nearest_city", **halfway)["country"] == "United States"
    backwards = ask("get_city_direction", origin="New York City", destination="Los Angeles")
    assert (backwards["midpoint_latitude"], backwards["midpoint_longitude"]) == pytest.approx(tuple(halfway.values()), abs=0.02)


def test_the_nearest_city_counts_from_a_number_of_inhabitants(ask: Ask) -> None:
    assert ask("find_nearest_city", latitude=48.86, longitude=2.35)["city"] == "Paris"
    assert ask("find_nearest_city", latitude=90, longitude=180, min_population=20_000_000)["city"] == "Shanghai"
