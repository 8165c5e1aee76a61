"""Invented people stay the same, and numbers for tests are valid."""

from __future__ import annotations

from typing import get_args

import pytest

from talm_sim.errors import ToolError
from talm_sim.world.routers.fake_data import Country, Network
from tests.in_process import direct_caller


def test_a_seed_gives_each_country_its_own_person() -> None:
    call = direct_caller()
    found = {call("make_person", {"seed": 7, "country": country})["full_name"] for country in get_args(Country)}
    assert len(found) == len(get_args(Country))


@pytest.mark.parametrize("network", get_args(Network))
def test_a_card_number_passes_the_luhn_check(network: str) -> None:
    card = direct_caller()("get_test_card", {"network": network})
    digits = [int(digit) for digit in reversed(card["number"])]
    assert sum(digits[::2]) % 10 == -sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2]) % 10
    assert len(digits) == card["digits"]


def test_a_range_of_numbers_is_counted_and_an_unknown_place_is_answered_by_a_sentence() -> None:
    assert direct_caller()("get_drama_phone_range", {"place": "mobile"})["count"] == 1000
    with pytest.raises(ToolError, match="Did you mean 'London'"):
        direct_caller()("get_drama_phone_range", {"place": "Londn"})
