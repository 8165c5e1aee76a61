from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from talm_sim.language.facts.numbers import find_numbers, is_more_exact, states_number
from tests.growth import check_growth


def states(text: str, value: int | float | Decimal) -> bool:
    return any(states_number(number, value) for number in find_numbers(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("It has 7 runways.", 7),
        ("7", 7),
        ("It costs $7.", 7),
        ("7.0 metres", 7),
        ("15km away", 15),
        ("the 7th", 7),
        ("from 5-7 days", 7),
        ("**1,402,112,000** people", 1402112000),
        ("1 402\u00a0112\u202f000 people".replace("1 402", "1\u2009402"), 1402112000),
        ("1'402'112 Franken", 1402112),
        ("Rs 12,34,567", 1234567),
        ("1.402 billion people", 1402112000),
        ("8.05 million", 8053663),
        ("3 million", 3_000_000),
        ("17.46 km", 17.4567),
        ("17.4567 km", 17.4567),
        ("17.457", 17.4565),
        ("17.456", 17.4565),
        ("8849 m", 8848.86),
        ("0.30", 0.1 + 0.2),
        ("-5 degrees", -5),
        ("\u22125°C", -5),
        ("lies at 21.2° S", -21.2),
        ("105.8 W", -105.8),
        ("21.2°S", -21.2),
        ("contrast 7.18:1", 7.18),
        ("12.64k kroner", 12640.62),
        ("3455K", 3455),
        ("1204,44 Grad", 1204.44),
        ("12 640,62 couronnes", 12640.62),
        ("12.640,62 Kronen und 12,005", 12.005),
        (".5", 0.5),
        ("6.022e23", 6.022e23),
        ("6.02 \u00d7 10²³ per mole", 6.02214076e23),
        ("1.67 x 10^-27 kg", 1.67262192e-27),
        ("120m²", 120),
        ("a score of 45/50", 45),
        ("UTC time: 5.", 5),
    ],
)
def test_a_number_that_says_the_value_states_it(text: str, value: float) -> None:
    assert states(text, value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("17", 7), ("7.5", 7), ("0.7", 7), ("1,007", 7), ("70", 7), ("A7", 7), ("B-7", 7), ("version 1.7.3", 7), ("at 7:30", 7),
        ("on 2024-07-05", 7), ("seven", 7), ("-7", 7), ("7", -7), ("#7788ff", 7788), ("x^7", 7), ("17", 17.4567), ("17.5", 17.44),
        ("17.45", 17.4567), ("0.00", 0.001), ("1.4 billion people", 1402112000), ("12,300", 12345), ("21.2°S", 21.2), ("12,005", 12.005),
        ("", 0), ("no number", 0),
    ],
)  # fmt: skip
def test_a_number_inside_another_or_too_coarse_does_not(text: str, value: float) -> None:
    assert not states(text, value)


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("6,097 km", 6097, "km"), ("3,788 miles", 6097, "km"), ("3.788 Meilen", 6097, "km"), ("1.67245 GeV/c\u00b2", 1672.45, "MeV"),
        ("12.3794 \u00d7 10\u207b\u2079 s", 12.3794, "ns"), ("7 h 35 min", 455, "min"), ("5 feet 10 inches", 177.8, "cm"),
        ("907 \u00b0C", 1180, "K"), ("NOK 12,640.62", 12640.62, "NOK"), ("12,640.62 kroner", 12640.62, "NOK"),
        ("\u00a31,434.01", 1434.01, "GBP"), ("1,434.01 pounds", 1434.01, "GBP"), ("3,256メートル", 3256, "m"), ("a share of 0.625", 62.5, "%"),
        ("1,204 degrees", 1204, "\u00b0C"), ("6,097 in all", 6097, "km"),
    ],
)  # fmt: skip
def test_a_number_in_another_unit_is_converted(text: str, value: float, unit: str) -> None:
    assert any(states_number(number, value, unit) for number in find_numbers(text, "de" if "Meilen" in text else "en"))


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("6,097 miles", 6097, "km"), ("1180 \u00b0C", 1180, "K"), ("1672.45 GeV", 1672.45, "MeV"),
        ("12,640.62 Swedish kronor", 12640.62, "NOK"), ("$12,640.62", 12640.62, "NOK"), ("7 h 36 min", 455, "min"), ("39 kg", 39, "m"),
    ],
)  # fmt: skip
def test_a_number_in_a_wrong_unit_does_not_state(text: str, value: float, unit: str) -> None:
    assert not any(states_number(number, value, unit) for number in find_numbers(text))


def test_a_value_that_is_no_number_is_never_stated() -> None:
    assert not states("nan inf 1", float("nan"))
    assert not states("nan inf 1", float("inf"))


@given(st.integers(-(10**15), 10**15))
def test_an_integer_is_stated_plain_and_with_separators(value: int) -> None:
    assert states(f"The result is {value}.", value)
    assert states(f"The result is {value:,}, as computed.", value)


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_an_integer_is_stated_only_by_an_equal_one(value: int, other: int) -> None:
    assert states(f"({other})", value) == (value == other)


@given(st.decimals(-(10**6), 10**6, places=6), st.integers(0, 6))
def test_rounding_to_three_or_more_digits_states_a_decimal(value: Decimal, places: int) -> None:
    rounded = round(value, places)
    significant = len(str(abs(rounded)).replace(".", "").lstrip("0"))
    assert states(f"about {rounded:f} units", value) == (significant >= 3 or rounded == value)


@given(st.integers(1, 10**6).filter(lambda n: n % 10), st.integers(1, 5), st.integers(-999, 999).filter(lambda n: n % 500))
def test_a_more_exact_number_states_what_it_rounds_to(steps: int, places: int, beyond: int) -> None:
    exact = (steps + Decimal(beyond) / 1000).scaleb(-places)
    (number,) = find_numbers(f"about {exact:f} units")
    assert is_more_exact(number, Decimal(steps).scaleb(-places)) is (steps >= 100 and abs(beyond) < 500)


@pytest.mark.parametrize(
    ("text", "value", "unit", "right"),
    [
        ("178.234 g/mol", 178.23, "g/mol", True), ("178.234 g/mol", 178.24, "g/mol", False), ("48.1", 48, "", False), ("4.81", 4.8, "", False),
        ("23.41", 23.4, "", True), ("1,500.52 euros", 1500.5, "EUR", False), ("1,500.503 euros", 1500.5, "EUR", True),
        ("178.234 km", 178.23, "miles", False), ("178.234", 1e300, "", False),
    ],
)  # fmt: skip
def test_how_exact_a_number_may_be(text: str, value: float, unit: str, right: bool) -> None:
    assert is_more_exact(find_numbers(text)[0], value, unit) is right


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    for number in find_numbers(text):
        assert number.value.is_finite()
        states_number(number, 1.5)


def test_a_very_long_number_is_read_without_harm() -> None:
    assert not states("9" * 5000 + "." + "3" * 5000, 3)
    assert not states("1e999 1e-999", 3)


def test_groups_of_two_digits_are_read_in_step_with_their_number() -> None:
    check_growth(lambda text: find_numbers(text, "en"), lambda size: "6,7" * (size // 3), 2**14)
    assert [number.value for number in find_numbers("Rs 12,34,56,789", "en")] == [123456789]
