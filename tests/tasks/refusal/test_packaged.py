"""The packaged scenarios of task refusal are what the script makes of talm's, and each says of itself what holds."""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from talm_sim.tasks import find_task
from talm_sim.types import Calls, Scenario
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


def test_the_script_makes_them(packaged: list[Scenario], maker: ModuleType) -> None:
    made = maker.make(maker.read_perfect(), maker.read_seeds(), direct_caller().specs)
    assert [scenario for group in GROUPS for scenario in made if scenario.group == group] == packaged


def test_every_accepted_value_gives_the_facts_asked_for(maker: ModuleType) -> None:
    call = direct_caller()
    assert maker.check(maker.read_perfect(), maker.read_seeds(), call.specs, call) == []


def names(scenario: Scenario) -> list[str]:
    return [json.loads(text)["name"] for text in scenario.shown_tools]


def test_a_removed_row_shows_the_stand_ins_of_the_fitting_one_without_the_needed_tools(packaged: list[Scenario]) -> None:
    by_id = {scenario.id: scenario for scenario in packaged}
    english = [scenario for scenario in packaged if scenario.language == "en"]
    assert Counter(scenario.group for scenario in english) == dict.fromkeys(GROUPS, 72)
    for scenario in english:
        fitting = by_id[scenario.base]
        assert isinstance(fitting.target, Calls) and isinstance(scenario.target, Calls)
        needed = {call.name for call in fitting.target.accepted}
        assert len(needed) in (2, 3) and needed <= set(names(fitting))
        if scenario.group == "removed":
            assert set(names(fitting)) - needed <= set(names(scenario))
        if scenario.group != "fitting":
            assert scenario.target == Calls(expected="none") and not set(names(scenario)) & needed


def test_number_order_and_names_of_the_tools_do_not_tell_whether_one_fits(packaged: list[Scenario]) -> None:
    shown = {group: [names(scenario) for scenario in packaged if scenario.group == group] for group in GROUPS}
    for lists in shown.values():
        assert all(one == sorted(set(one)) and len(one) == 4 for one in lists)
    counts = {group: Counter(name for one in lists for name in one) for group, lists in shown.items()}
    assert counts["fitting"] == counts["unrelated"] and sorted(shown["fitting"]) == sorted(shown["unrelated"])
    # Some queries need three tools, so that one or two of the tools and stand-ins are not in the four of one group.
    differing = ((counts["fitting"] - counts["removed"]) + (counts["removed"] - counts["fitting"])).total()
    assert differing <= 0.1 * counts["fitting"].total()


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
        "get_us_destinations": {"get_airport_details", "get_flight_distance"},
        "build_iban": {"get_iban_format"},
        "get_iban_format": {"build_iban"},
    }
    fitting = {scenario.id: scenario.target for scenario in packaged if scenario.group == "fitting"}
    for scenario in packaged:
        if scenario.group != "fitting" and scenario.language == "en":
            target = fitting[scenario.base]
            assert isinstance(target, Calls)
            for call in target.accepted:
                assert not overlapping.get(call.name, set()) & set(names(scenario)), (scenario.id, call.name)


def test_every_number_and_value_of_a_request_stands_in_its_translations(maker: ModuleType) -> None:
    assert maker.check_translations(maker.read_perfect(), maker.read_seeds(), direct_caller().specs) == []


def test_a_translation_that_is_english_absent_or_of_no_query_is_named(maker: ModuleType) -> None:
    seeds, perfect = maker.read_seeds(), maker.read_perfect()
    seeds["translated"]["vi"]["queries"]["music-99"] = seeds["translated"]["vi"]["queries"].pop("music-01")
    seeds["translated"]["th"]["queries"]["music-03"] = next(one for one in perfect if one.id == "music-03").query
    found = [line for line in maker.check_translations(perfect, seeds, direct_caller().specs) if "music" in line]
    assert found[:2] == ["seeds/refusal/vi.toml: music-99: not a query of set quick", "seeds/refusal/vi.toml: music-01: has no translation"]
    assert "seeds/refusal/th.toml: music-03: has no Thai letters" in found
    assert len(found) == 4 and "keeps English words" in found[2]
