"""Odd cases of the open data: rows that are missing, names that several have, cells that are empty."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.in_process import direct_caller

ODD: list[tuple[str, dict[str, Any], int, str]] = [
    ("get_country_indicators", {"country": "Vietnm", "year": 1997}, 404, "Did you mean 'Vietnam'"),
    ("get_country_indicators", {"country": "Canada", "year": 2006}, 404, "2002, 2007"),
    ("get_place_population", {"place": "World", "year": 2023}, 404, "every fifth year"),
    ("get_us_unemployment_rate", {"year": 2017, "month": 1}, 422, "2016"),
    ("get_county_unemployment", {"county": "Cook"}, 422, "Georgia; Illinois; Minnesota"),
    ("get_county_unemployment", {"county": "Cook County", "state": "Alaska"}, 404, "There is one in Georgia"),
    ("get_co2_concentration", {"year": 1958, "month": 1}, 404, "1958-01"),
    ("get_penguin", {"individual": "N12A1"}, 422, "2007-11-12 (Adelie); 2008-11-02 (Gentoo)"),
    ("get_penguin", {"individual": "N12A1", "egg_date": "2008-11-03"}, 404, "known are 2007-11-12"),
    ("get_penguin", {"individual": "N999A1"}, 404, "Did you mean"),
    ("get_crimean_war_deaths", {"year": 1854, "month": 3}, 404, "April 1854"),
    ("get_us_marriages", {"year": 1982}, 404, "did not count"),
    ("get_wheat_price", {"year": 1811}, 404, "every fifth year"),
]


@pytest.mark.parametrize(("tool", "arguments", "status", "said"), ODD)
def test_what_cannot_be_answered_gets_a_reason(tool: str, arguments: dict[str, Any], status: int, said: str) -> None:
    answer = asyncio.run(direct_caller().ask(tool, arguments))
    assert answer[0] == status and said in answer[1], answer


@pytest.mark.parametrize(("written", "place"), [("vietnam", "Viet Nam"), ("USA", "United States of America"), ("turkiye", "Türkiye")])
def test_places_are_found_by_their_common_names(written: str, place: str) -> None:
    assert direct_caller()("get_place_population", {"place": written, "year": 2000})["place"] == place


@pytest.mark.parametrize("state", ["OR", "oregon"])
def test_states_are_found_by_name_and_postal_code(state: str) -> None:
    assert direct_caller()("get_county_unemployment", {"county": "washington", "state": state})["state"] == "Oregon"
