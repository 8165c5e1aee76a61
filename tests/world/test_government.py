"""Odd questions about governments, and seats."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.in_process import direct_caller

ODD: list[tuple[str, dict[str, Any], int, str]] = [
    ("get_us_state", {"state": "Ohoi"}, 404, "Did you mean 'Ohio'"),
    ("find_president", {"surname": "Adams"}, 422, "John, number 2; John Quincy, number 6"),
    ("find_president", {"surname": "Adams", "given_name": "Samuel"}, 404, "John Adams (2) and John Quincy Adams (6)"),
    ("find_president", {"surname": "Cleveland"}, 422, "by 'number'"),
    ("get_county_codes", {"county": "Orange"}, 422, "California; Florida; Indiana"),
    ("get_county_codes", {"county": "Orange", "state": "Ohio"}, 404, "no Orange County in 'Ohio'"),
    ("find_county_by_code", {"fips_code": "99999"}, 404, "No county"),
    ("get_employer_number_campus", {"prefix": "00"}, 404, "No campus"),
    ("get_region_code", {"name": "Limburg"}, 422, "Belgium; Netherlands"),
    ("get_region_code", {"name": "Limburg", "country": "Spain"}, 404, "but in Belgium and Netherlands"),
    ("get_austrian_postcode", {"postcode": "9999"}, 404, "No Austrian postcode"),
    ("find_austrian_postcodes", {"place": "Egg"}, 422, "Kärnten; Vorarlberg"),
    ("get_regional_holiday", {"country": "DE", "region": "Tirol", "holiday": "Epiphany", "year": 2026}, 404, "No region"),
    ("get_regional_holiday", {"country": "DE", "region": "Berlin", "holiday": "Epiphany", "year": 2026}, 404, "No holiday"),
    ("allocate_seats", {"votes": [0, 0], "seats": 5, "method": "hare"}, 422, "Somebody must have voted"),
]


@pytest.mark.parametrize(("tool", "arguments", "status", "said"), ODD)
def test_what_cannot_be_answered_gets_a_reason(tool: str, arguments: dict[str, Any], status: int, said: str) -> None:
    answer = asyncio.run(direct_caller().ask(tool, arguments))
    assert answer[0] == status and said in answer[1], answer


def test_an_exact_given_name_wins_over_one_that_begins_so() -> None:
    assert direct_caller()("find_president", {"surname": "Adams", "given_name": "John"})["number"] == 2
    assert direct_caller()("find_president", {"surname": "Harrison", "given_name": "William"})["number"] == 9
    assert direct_caller()("find_president", {"surname": "Cleveland", "number": 24})["took_office"] == "1893-03-04"


def test_seats_of_the_largest_remainder_are_those_of_a_published_example() -> None:
    votes = [47000, 16000, 15800, 12000, 6100, 3100]
    assert direct_caller()("allocate_seats", {"votes": votes, "seats": 10, "method": "hare"})["seats"] == [5, 2, 1, 1, 1, 0]
