"""Calendar tools answer with known facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Ask = Callable[..., Any]


def test_find_holiday_lists_every_day_that_bears_the_name(ask: Ask) -> None:
    result = ask("find_holiday", country_code="vn", year=2024, name="lunar new year")
    assert {"date": "2024-02-10", "weekday": "Saturday", "name": "Lunar New Year"} in result["matches"]
    assert [one["date"] for one in result["matches"]] == sorted(one["date"] for one in result["matches"])


def test_find_holiday_refuses_unknown_names_countries_and_years(ask: Ask) -> None:
    assert "Did you mean 'Marine Day'?" in ask("find_holiday", 404, country_code="JP", year=2025, name="Marin Dey")
    assert "country 'QQ'" in ask("find_holiday", 404, country_code="QQ", year=2025, name="Christmas")
    assert ask("find_holiday", 422, country_code="JP", year=1800, name="Marine Day").startswith("year: ")


def test_list_month_holidays(ask: Ask) -> None:
    result = ask("list_month_holidays", country_code="BR", year=2025, month=11)
    assert result["count"] == 3
    assert [one["date"] for one in result["holidays"]] == ["2025-11-02", "2025-11-15", "2025-11-20"]
    assert ask("list_month_holidays", country_code="BR", year=2025, month=8) == {
        "country_code": "BR",
        "year": 2025,
        "month": 8,
        "count": 0,
        "holidays": [],
    }


def test_count_working_days_includes_both_ends(ask: Ask) -> None:
    december = ask("count_working_days", country_code="DE", start="2025-12-01", end="2025-12-31")
    assert (december["working_days"], december["holidays_on_weekdays"]) == (21, 2)
    assert ask("count_working_days", country_code="DE", start="2025-12-01", end="2025-12-01")["working_days"] == 1


def test_count_working_days_knows_other_weekends(ask: Ask) -> None:
    week = ask("count_working_days", country_code="SA", start="2025-11-02", end="2025-11-08")
    assert week["working_days"] == 5
    assert ask("count_working_days", country_code="SA", start="2025-11-02", end="2025-11-02")["working_days"] == 1


@pytest.mark.parametrize(("start", "end", "fault"), [("2025-02-02", "2025-02-01", "end: "), ("1960-01-01", "1960-01-31", "start, end: ")])
def test_working_days_refuse_impossible_periods(ask: Ask, start: str, end: str, fault: str) -> None:
    assert ask("count_working_days", 422, country_code="DE", start=start, end=end).startswith(fault)


@pytest.mark.parametrize(
    ("date", "hijri_date", "month_name"),
    [("2024-03-11", "1445-09-01", "Ramadan"), ("2015-07-17", "1436-10-01", "Shawwal"), ("2023-07-19", "1445-01-01", "Muharram")],
)
def test_hijri_month_begins(ask: Ask, date: str, hijri_date: str, month_name: str) -> None:
    result = ask("convert_to_hijri", date=date)
    assert (result["hijri_date"], result["month_name"], result["day"]) == (hijri_date, month_name, 1)


def test_clocks_that_were_never_changed_and_a_day_that_was_skipped(ask: Ask) -> None:
    assert ask("list_clock_changes", timezone="Asia/Tokyo", year=2011)["changes"] == []
    skipped = ask("list_clock_changes", timezone="pacific/apia", year=2011)["changes"][-1]
    assert (skipped["date"], skipped["minutes_forward"], skipped["utc_offset_after"]) == ("2011-12-30", 24 * 60, "+14:00")
    assert "Did you mean 'Europe/Dublin'?" in ask("list_clock_changes", 404, timezone="Europe/Dubln", year=2011)
