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


def test_other_values_of_a_value_that_no_query_has_are_named(maker: ModuleType) -> None:
    seeds = maker.read_seeds()
    seeds["also"]["from_unit"]["furlong"] = ["furlongs"]
    perfect = [one for one in maker.read_perfect() if one.id == "science-03"]
    call = direct_caller()
    found = [line for line in maker.check(perfect, seeds, call.specs, call) if "from_unit" in line]
    assert "seeds/refusal/scenarios.toml: also.from_unit furlong: no query needs it" in found
    assert not any("from_unit yard" in line for line in found)


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


def test_every_row_is_there_in_three_languages_and_says_whose_the_translation_is(packaged: list[Scenario]) -> None:
    assert len(packaged) == 648
    english = {scenario.id: scenario for scenario in packaged if scenario.language == "en"}
    for language in ("vi", "th"):
        rows = [scenario for scenario in packaged if scenario.language == language]
        assert Counter(scenario.group for scenario in rows) == dict.fromkeys(GROUPS, 72)
        assert len({scenario.query for scenario in rows}) == 72
        for scenario in rows:
            assert "not written or read by native speakers" in scenario.source.name and scenario.id == f"{scenario.original}.{language}"
            origin = english[scenario.original]
            assert (scenario.target, scenario.shown_tools, scenario.base) == (origin.target, origin.shown_tools, origin.base)


def test_the_form_of_a_request_does_not_tell_whether_a_tool_fits(packaged: list[Scenario]) -> None:
    """Every request is there once in each group, so that form is at chance."""
    groups: dict[tuple[str, str], list[str]] = {}
    for scenario in packaged:
        groups.setdefault((scenario.language, scenario.query), []).append(scenario.group)
    assert len(groups) == 216 and all(sorted(found) == sorted(GROUPS) for found in groups.values())


def test_every_number_and_value_of_a_request_stands_in_its_translations(maker: ModuleType) -> None:
    assert maker.check_translations(maker.read_perfect(), maker.read_seeds(), direct_caller().specs) == []


@pytest.mark.parametrize(
    ("language", "name", "old", "new", "reason"),
    [
        ("vi", "calendar-04", "30 tháng 11", "29 tháng 11", "changes the numbers: lacks 30 and has 29 in addition"),
        ("th", "finance-01", "ฟรังก์สวิส", "บาท", "does not say to_currency CHF"),
        ("vi", "calendar-04", "ở Tehran", "ở Tehran (Asia/Tehran)", "gives away timezone Asia/Tehran, which the English text does not say"),
        ("vi", "geo-03", "có bao nhiêu người sống", "How many people live in", "keeps English words: how many people live in"),
    ],
)
def test_a_translation_that_differs_is_named_with_its_reason(
    maker: ModuleType, language: str, name: str, old: str, new: str, reason: str
) -> None:
    seeds = maker.read_seeds()
    queries = seeds["translated"][language]["queries"]
    assert old in queries[name]
    queries[name] = queries[name].replace(old, new)
    found = maker.check_translations([one for one in maker.read_perfect() if one.id == name], seeds, direct_caller().specs)
    found = [line for line in found if "not a query of set quick" not in line]
    assert len(found) == 1 and found[0].startswith(f"seeds/refusal/{language}.toml: {name}: ") and reason in found[0]


def test_a_translation_that_is_english_absent_or_of_no_query_is_named(maker: ModuleType) -> None:
    seeds, perfect = maker.read_seeds(), maker.read_perfect()
    seeds["translated"]["vi"]["queries"]["music-99"] = seeds["translated"]["vi"]["queries"].pop("music-01")
    seeds["translated"]["th"]["queries"]["music-03"] = next(one for one in perfect if one.id == "music-03").query
    found = [line for line in maker.check_translations(perfect, seeds, direct_caller().specs) if "music" in line]
    assert found[:2] == ["seeds/refusal/vi.toml: music-99: not a query of set quick", "seeds/refusal/vi.toml: music-01: has no translation"]
    assert "seeds/refusal/th.toml: music-03: has no Thai letters" in found
    assert len(found) == 4 and "keeps English words" in found[2]
