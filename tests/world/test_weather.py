"""Weather and astronomy tools answer with known facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Ask = Callable[..., Any]


def test_sun_that_sets_after_midnight_still_gives_a_long_day(ask: Ask) -> None:
    result = ask("get_sun_times", city="Reykjavik", date="2024-06-21")
    assert (result["sunrise"], result["day_length"]) == ("02:56", "21 h 7 min")


def test_sun_times_refuse_unknown_and_misplaced_cities(ask: Ask) -> None:
    assert "Did you mean 'London'?" in ask("get_sun_times", 404, city="Lodon", date="2024-06-21")
    assert "No city 'Kingston'" in ask("get_sun_times", 404, city="Kingston", date="2024-06-21")
    assert ask("get_sun_times", 422, city="London", date="1700-06-21").startswith("date: ")


@pytest.mark.parametrize(
    ("phase", "after", "date", "time"),
    [("full_moon", "2024-01-01", "2024-01-25", "17:54"), ("new_moon", "2026-08-01", "2026-08-12", "17:37")],
)
def test_moon_phase(ask: Ask, phase: str, after: str, date: str, time: str) -> None:
    result = ask("find_moon_phase", phase=phase, after=after)
    assert (result["date"], result["time_utc"]) == (date, time)


@pytest.mark.parametrize(
    ("year", "event", "date", "time"),
    [
        (2024, "june_solstice", "2024-06-20", "20:51"),
        (2024, "march_equinox", "2024-03-20", "03:06"),
        (2024, "september_equinox", "2024-09-22", "12:44"),
        (2025, "december_solstice", "2025-12-21", "15:03"),
    ],
)
def test_season_start(ask: Ask, year: int, event: str, date: str, time: str) -> None:
    result = ask("get_season_start", year=year, event=event)
    assert (result["date"], result["time_utc"]) == (date, time)


def test_metar_is_decoded(ask: Ask) -> None:
    result = ask("decode_metar", report="METAR EGLL 191220Z 24013KT 9999 FEW030 18/09 Q1018")
    assert result == {
        "station": "EGLL",
        "day_of_month": 19,
        "time_utc": "12:20",
        "wind_direction_deg": 240,
        "wind_speed_kt": 13,
        "wind_gust_kt": None,
        "visibility_m": 10000,
        "temperature_c": 18.0,
        "dew_point_c": 9.0,
        "pressure_hpa": 1018,
        "sky": "a few clouds at 3000 feet",
        "weather": "",
    }


def test_metar_converts_foreign_units(ask: Ask) -> None:
    american = ask("decode_metar", report="KMSP 121853Z 31018G29KT 1 1/2SM -SN BKN015 OVC030 M04/M07 A2971")
    assert (american["visibility_m"], american["pressure_hpa"], american["wind_gust_kt"]) == (2414, 1006, 29)
    assert (american["temperature_c"], american["weather"]) == (-4.0, "light snow")
    assert ask("decode_metar", report="UUEE 151300Z 05007MPS 9999 BKN020 M02/M05 Q1009")["wind_speed_kt"] == 14


def test_station_that_is_unknown_or_has_no_position_is_not_found(ask: Ask) -> None:
    assert "No weather station 'ZZZZ'" in ask("get_weather_station", 404, code="ZZZZ")
    assert "No weather station 'KCIR'" in ask("get_weather_station", 404, code="KCIR")


def test_observations_are_known_for_four_years(ask: Ask) -> None:
    assert ask("get_seattle_daily_weather", date="2012-02-29")["precipitation_mm"] == 0.8
    assert "2012-01-01 to 2015-12-31" in ask("get_seattle_daily_weather", 404, date="2016-01-01")
    month = ask("get_seattle_monthly_weather", year=2014, month=8)
    assert (month["warmest_day"], month["temperature_max_c"]) == ("2014-08-11", 35.6)


@pytest.mark.parametrize(("temperature", "wind", "felt"), [(0, 20, -5), (-10, 40, -21), (-25, 60, -43), (5, 10, 3), (-40, 5, -47)])
def test_wind_chill_is_the_published_tables(ask: Ask, temperature: int, wind: int, felt: int) -> None:
    """Rows of the table of Environment and Climate Change Canada."""
    assert round(ask("compute_wind_chill", temperature_c=temperature, wind_speed_km_per_h=wind)["wind_chill_c"]) == felt
