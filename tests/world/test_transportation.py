"""Transportation tools answer with known facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Ask = Callable[..., Any]
pytestmark = pytest.mark.live


@pytest.mark.parametrize("code", ["HAN", "han", "VVNB"])
def test_an_airport_is_found_by_either_code(ask: Ask, code: str) -> None:
    details = ask("get_airport_details", code=code)
    assert (details["iata"], details["icao"], details["city"], details["timezone"]) == ("HAN", "VVNB", "Hanoi", "Asia/Ho_Chi_Minh")
    assert (details["elevation_ft"], details["elevation_m"]) == (39, 12)


def test_airports_of_a_city_are_told_apart_by_country(ask: Ask) -> None:
    assert ask("find_city_airports", city="Queenstown")["count"] == 2
    assert [one["icao"] for one in ask("find_city_airports", city="queenstown", country_code="nz")["airports"]] == ["NZQN"]


def test_distance_agrees_with_published_great_circles(ask: Ask) -> None:
    result = ask("get_flight_distance", origin="JFK", destination="LHR")
    assert (result["distance_km"], result["distance_miles"]) == (pytest.approx(5540, rel=0.005), pytest.approx(3442, rel=0.005))
    assert ask("get_flight_distance", origin="LHR", destination="JFK")["distance_km"] == result["distance_km"]
    assert ask("get_flight_distance", origin="HAN", destination="VVNB")["distance_km"] == 0


def test_arrival_counts_time_zones_and_the_date_line(ask: Ask) -> None:
    west = ask("get_arrival_time", origin="HAN", destination="CDG", departure="2024-03-05T23:30", duration_minutes=790)
    assert (west["arrival_date"], west["arrival_time"], west["days_later"]) == ("2024-03-06", "06:40", 1)
    east = ask("get_arrival_time", origin="AKL", destination="LAX", departure="2024-03-05T20:00", duration_minutes=720)
    assert (east["arrival_date"], east["arrival_time"], east["days_later"]) == ("2024-03-05", "11:00", 0)


def test_arrival_counts_the_change_to_summer_time(ask: Ask) -> None:
    # London's clocks went from 01:00 to 02:00 on 31 March 2024.
    spring = ask("get_arrival_time", origin="LHR", destination="EDI", departure="2024-03-31T00:30", duration_minutes=80)
    assert (spring["arrival_date"], spring["arrival_time"]) == ("2024-03-31", "02:50")


def test_highest_and_lowest_airport_of_a_country(ask: Ask) -> None:
    bolivia, israel = ask("get_country_airports", country_code="bo"), ask("get_country_airports", country_code="IL")
    assert (bolivia["highest"]["iata"], bolivia["highest"]["elevation_ft"]) == ("LPB", 13355)
    assert (israel["lowest"]["iata"], israel["lowest"]["elevation_ft"]) == ("MTZ", -1266)


def test_unknown_keys_are_refused_with_advice(ask: Ask) -> None:
    assert ask("get_airport_details", 404, code="XXX").startswith("No airport 'XXX'. Give a three-letter IATA code")
    assert "Check the spelling" in ask("find_city_airports", 404, city="Atlantis")
    assert "two-letter ISO code" in ask("get_country_airports", 404, country_code="QQ")
    assert "is no date and time" in ask(
        "get_arrival_time", 422, origin="HAN", destination="CDG", departure="2024-13-05T23:30", duration_minutes=790
    )


def test_destinations_are_counted_for_all_airlines_or_one(ask: Ask) -> None:
    every, one = ask("get_us_destinations", code="atl"), ask("get_us_destinations", code="ATL", carrier="wn")
    assert every["destination_count"] == len(every["destinations"])
    assert one["carriers"] == ["WN"] and set(one["destinations"]) < set(every["destinations"])
    assert len(ask("get_us_destinations", code="ORD")["destinations"]) > 180
    assert "Airlines there: AA, AS" in ask("get_us_destinations", 404, code="ATL", carrier="ZZ")
    assert "scheduled flights" in ask("get_us_destinations", 404, code="LHR")
