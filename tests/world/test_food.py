"""Food tools: names that fit several foods, and what is refused."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.in_process import direct_caller


def ask(tool: str, **arguments: Any) -> tuple[int, Any]:
    status, text = asyncio.run(direct_caller().ask(tool, arguments))
    assert len(text) < 1500
    return status, json.loads(text)


def test_a_food_is_found_by_the_words_of_its_name_in_any_order_and_number() -> None:
    assert ask("get_food_nutrition", food="lentil", form="raw")[1]["food"] == "Lentils, raw"
    assert ask("get_food_nutrition", food="raw lentils")[1]["food"] == "Lentils, raw"


@pytest.mark.parametrize(
    ("tool", "arguments", "status", "said"),
    [
        ("get_food_nutrition", {"food": "cheese"}, 422, "give more of it"),
        ("get_food_nutrition", {"food": "unobtainium"}, 404, "No food 'unobtainium'"),
        ("get_food_nutrition", {"food": "lentils", "form": "fried"}, 404, "Lentils, raw"),
        ("get_food_nutrition", {"food": "--"}, 404, "No food"),
        ("get_food_nutrition", {"food": "lentils", "grams": "nan"}, 422, "grams"),
        ("get_vitamin_or_mineral", {"food": "lentils, pink or red, raw", "nutrient": "choline"}, 404, "do not say how much"),
        ("find_richest_food", {"group": "Beef Products", "nutrient": "iron", "rank": 50}, 404, "Only"),
        ("convert_cooking_measure", {"amount": 1, "unit": "pint", "system": "metric"}, 404, "US and imperial"),
        ("convert_oven_temperature", {"temperature": 4.5, "scale": "gas mark"}, 422, "whole numbers"),
        ("get_food_additive", {"number": "E999"}, 404, "No food additive 'E999'"),
        ("translate_allergen", {"allergen": "walnuts", "language": "French"}, 404, "Known are"),
        ("get_beer_style", {"style": "stout"}, 404, "irish stout"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_what_is_near(tool: str, arguments: dict[str, Any], status: int, said: str) -> None:
    found, answer = ask(tool, **arguments)
    assert found == status and said in answer["detail"]


def test_a_measure_without_its_system_names_the_systems() -> None:
    assert ask("convert_cooking_measure", amount=2, unit="pint")[1]["several"] == ["US pint", "imperial pint"]
    assert ask("convert_cooking_measure", amount=2, unit="pint", system="imperial")[1]["millilitres"] == 1136.5


def test_an_oven_hotter_than_any_mark_has_none() -> None:
    assert ask("convert_oven_temperature", temperature=300, scale="celsius")[1]["gas_mark"] is None
    assert ask("convert_oven_temperature", temperature=4, scale="gas mark")[1] == {
        "celsius": 180,
        "fahrenheit": 350,
        "gas_mark": 4,
        "fan_celsius": 160,
    }
