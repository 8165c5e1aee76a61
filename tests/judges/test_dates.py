from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talm_sim.judges.dates import iso_parts, time_is_stated, written_dates, written_times

DAY = date(2024, 2, 10)


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-10",
        "2024/02/10",
        "2024-2-10",
        "10 February 2024",
        "10 Feb 2024",
        "10-Feb-2024",
        "10th of February, 2024",
        "the 10th February 2024.",
        "February 10, 2024",
        "February 10th, 2024",
        "FEBRUARY 10 2024",
        "Feb 10 2024",
        "Feb. 10, 2024",
        "Saturday, **February 10, 2024**",
        "2024 February 10",
        "10.02.2024",
        "10. 2. 2024",
        "2024-02-10T06:05:00Z",
    ],
)
def test_a_date_is_found_in_every_usual_form(text: str) -> None:
    assert DAY in written_dates(f"It is {text} then.")


@pytest.mark.parametrize(
    "text",
    ["10 February", "February 2024", "2024-02-11", "02/10/2024", "10/02/2024", "110 February 2024", "10 February 20245", "2024-13-10"],
)
def test_half_a_date_another_date_or_an_ambiguous_one_is_not(text: str) -> None:
    assert DAY not in written_dates(text)


def test_a_slashed_date_counts_when_it_has_one_reading() -> None:
    assert written_dates("25/12/2024") == written_dates("12/25/2024") == {date(2024, 12, 25)}
    assert written_dates("03/03/2024") == {date(2024, 3, 3)}


@given(st.dates(date(1000, 1, 1)), st.sampled_from(["%Y-%m-%d", "%d %B %Y", "%B %d, %Y", "%b %d %Y", "%d.%m.%Y", "%A, %d %b %Y"]))
def test_every_written_date_is_read_back(day: date, form: str) -> None:
    assert written_dates(day.strftime(form)) == {day}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("at 14:30", (14, 30, None)),
        ("at 2:30 PM", (14, 30, None)),
        ("at 2:30 p.m.", (14, 30, None)),
        ("at 2:30pm.", (14, 30, 0)),
        ("at 14:30:15", (14, 30, 15)),
        ("at 14:30", (14, 30, 15)),
        ("at 12:05 am", (0, 5, None)),
        ("at 12:05 PM", (12, 5, None)),
        ("at 05:42", (5, 42, None)),
        ("at 5:42", (5, 42, None)),
        ("14:30:00", (14, 30, None)),
    ],
)
def test_a_time_is_stated(text: str, wanted: tuple[int, int, int | None]) -> None:
    assert time_is_stated(wanted, written_times(text))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("at 2:30", (14, 30, None)),
        ("at 14:30:16", (14, 30, 15)),
        ("at 14:3", (14, 30, None)),
        ("114:30", (14, 30, None)),
        ("2:30 am", (14, 30, None)),
    ],
)
def test_another_time_is_not(text: str, wanted: tuple[int, int, int | None]) -> None:
    assert not time_is_stated(wanted, written_times(text))


def test_values_that_are_dates_or_times_are_recognised() -> None:
    assert iso_parts("2024-02-10") == (DAY, None)
    assert iso_parts("2024-02-10 06:05:09+00:00") == (DAY, (6, 5, 9))
    assert iso_parts("5:42") == (None, (5, 42, None))
    for text in ("2024-13-40", "10 February 2024", "", "14", "1:2"):
        assert iso_parts(text) is None
