"""The packaged scenarios of task refusal are what the script makes of talm's, and each says of itself what holds."""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from talm_sim.tasks import find_task
from talm_sim.types import Calls, Scenario, ToolSpec
from tests.in_process import direct_caller

ROOT = Path(__file__).resolve().parents[3]
GROUPS = ("fitting", "removed", "unrelated")


@pytest.fixture(scope="module")
def packaged() -> list[Scenario]:
    return find_task("refusal").read(GROUPS)


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_refusal", ROOT / "scripts" / "make_refusal.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def specs() -> dict[str, ToolSpec]:
    """Every tool, as task awareness shows it."""
    texts = {text for scenario in find_task("awareness").read(["complete"]) for text in scenario.shown_tools}
    return {spec.name: spec for spec in (ToolSpec.model_validate_json(text) for text in texts)}


def test_the_script_makes_them(packaged: list[Scenario], maker: ModuleType, specs: dict[str, ToolSpec]) -> None:
    assert len(specs) == 45
    made = maker.make(find_task("talm").read(["perfect"]), maker.read_seeds(), specs)
    assert [scenario for group in GROUPS for scenario in made if scenario.group == group] == packaged


def test_every_accepted_value_gives_the_facts_asked_for(maker: ModuleType) -> None:
    call = direct_caller()
    assert maker.check(find_task("talm").read(["perfect"]), maker.read_seeds(), call.specs, call) == []


def names(scenario: Scenario) -> list[str]:
    return [json.loads(text)["name"] for text in scenario.shown_tools]


def test_a_removed_row_shows_what_the_fitting_one_does_without_the_needed_tools(packaged: list[Scenario]) -> None:
    by_id = {scenario.id: scenario for scenario in packaged}
    english = [scenario for scenario in packaged if scenario.language == "en"]
    assert Counter(scenario.group for scenario in english) == dict.fromkeys(GROUPS, 72)
    for scenario in english:
        fitting = by_id[scenario.base]
        assert isinstance(fitting.target, Calls) and isinstance(scenario.target, Calls)
        needed = [call.name for call in fitting.target.accepted]
        assert len(needed) == 2 and len(names(fitting)) == 4 and names(scenario) == sorted(names(scenario))
        if scenario.group == "removed":
            assert names(scenario) == [name for name in names(fitting) if name not in needed]
        if scenario.group != "fitting":
            assert scenario.target == Calls(expected="none") and not set(names(scenario)) & set(needed)


def test_nothing_shown_where_no_call_is_right_is_a_neighbour_that_could_help(packaged: list[Scenario]) -> None:
    """Pairs that were judged to overlap: a tool, and those whose result holds some of what its requests ask for."""
    calendar = {"find_holiday", "list_month_holidays", "count_working_days", "add_working_days", "check_trading_day"}
    color = {"get_css_color", "check_color_contrast", "find_nearest_color_name", "get_color_harmony", "convert_color"}
    place = {"get_city_details", "get_city_distance", "get_city_by_rank", "find_city_airports", "get_airport_details", "get_flight_distance"}
    overlapping = {
        **{name: calendar for name in calendar if name != "check_trading_day"},
        **dict.fromkeys(color, color),
        "check_trading_day": {"find_holiday", "list_month_holidays", "add_working_days"},
        "convert_currency": {"get_exchange_rate_range"},
        "get_exchange_rate_range": {"convert_currency"},
        "get_city_distance": place,
        "get_city_details": {*place, "get_weather_station"},
        "get_flight_distance": place,
        "get_arrival_time": {"get_airport_details", "get_city_details"},
        "find_city_airports": {"get_airport_details", "get_weather_station"},
        "get_airport_details": {"find_city_airports", "get_country_airports"},
        "get_weather_station": {"get_airport_details", "find_city_airports", "get_city_details"},
        "decode_metar": {"convert_units", "get_weather_station"},
        "get_chord_notes": {"get_scale_notes", "transpose_chords", "identify_chord"},
        "identify_chord": {"get_chord_notes", "get_scale_notes"},
        "compute_molar_mass": {"get_element", "get_isotope"},
        "get_isotope": {"get_element", "get_particle", "compute_molar_mass"},
        "get_element": {"get_isotope", "compute_molar_mass"},
        "find_moon_phase": {"convert_to_hijri"},
        "convert_to_hijri": {"find_moon_phase"},
        "romanize_text": {"get_city_details"},
        "get_sun_times": {"get_city_details", "get_season_start"},
    }
    fitting = {scenario.id: scenario.target for scenario in packaged if scenario.group == "fitting"}
    for scenario in packaged:
        if scenario.group != "fitting" and scenario.language == "en":
            target = fitting[scenario.base]
            assert isinstance(target, Calls)
            for call in target.accepted:
                assert not overlapping.get(call.name, set()) & set(names(scenario)), (scenario.id, call.name)


def test_the_translated_sample_is_twenty_rows_a_language_and_says_whose_it_is(packaged: list[Scenario]) -> None:
    english = {scenario.id: scenario for scenario in packaged if scenario.language == "en"}
    for language, script in (("vi", "ấầẩẫậếềểễệốồổỗộớờởỡợứừửữựạảắằẳẵặẹẻẽịỉĩọỏụủũỳỷỹỵđơư"), ("th", "กขคงจชดตทนบปพมยรลวสหอ")):
        rows = [scenario for scenario in packaged if scenario.language == language]
        assert Counter(scenario.group for scenario in rows) == {"fitting": 7, "removed": 7, "unrelated": 6}
        assert len({scenario.query for scenario in rows}) == 20
        for scenario in rows:
            assert any(letter in scenario.query for letter in script), scenario.id
            assert scenario.source.name == "talm-sim (translated by its authors)" and scenario.id == f"{scenario.base}.{language}"
            origin = english[scenario.base]
            assert (scenario.target, scenario.shown_tools) == (origin.target, origin.shown_tools)


def test_codes_and_numbers_that_calls_need_stand_in_the_translations(packaged: list[Scenario]) -> None:
    for scenario in packaged:
        if scenario.language != "en" and scenario.group == "fitting" and isinstance(scenario.target, Calls):
            for call in scenario.target.accepted:
                for name, values in call.arguments.items():
                    if name in {"code", "account", "color", "chord", "note", "formula", "noun", "tonic", "name", "origin", "destination"}:
                        assert any(str(value).removesuffix(" Day") in scenario.query for value in values), (scenario.id, name, values)
