from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, strategies as st

from talm_sim.language.facts.dates import ClockTime, find_dates, find_times, iso_parts, time_is_stated

DAY = date(2024, 2, 10)


def days(text: str, language: str = "en") -> set[date]:
    return {date(day.year, day.month, day.day) for day in find_dates(text, language) if day.year}


def says_time(wanted: ClockTime, text: str, language: str = "en") -> bool:
    return any(time_is_stated(wanted, time.clock) for time in find_times(text, language))


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-10", "2024/02/10", "2024-2-10", "10 February 2024", "10 Feb 2024", "10-Feb-2024", "10th of February, 2024",
        "the 10th February 2024.", "February 10, 2024", "February 10th, 2024", "FEBRUARY 10 2024", "Feb 10 2024", "Feb. 10, 2024",
        "Saturday, **February 10, 2024**", "2024 February 10", "10.02.2024", "10. 2. 2024", "2024-02-10T06:05:00Z",
    ],
)  # fmt: skip
def test_a_date_is_found_in_every_usual_form(text: str) -> None:
    assert DAY in days(f"It is {text} then.")


@pytest.mark.parametrize(
    "text", ["10 February", "February 2024", "2024-02-11", "02/10/2024", "10/02/2024", "110 February 2024", "10 February 20245", "2024-13-10"]
)
def test_half_a_date_another_date_or_an_ambiguous_one_is_not(text: str) -> None:
    assert DAY not in days(text)


def test_a_slashed_date_counts_when_it_has_one_reading() -> None:
    assert days("25/12/2024") == days("12/25/2024") == {date(2024, 12, 25)}
    assert days("03/03/2024") == {date(2024, 3, 3)}
    assert days("10/02/2024", "de") == {DAY}


@pytest.mark.parametrize(
    "text",
    [
        "10 de febrero de 2024", "le 10 f\u00e9vrier 2024", "10. Februar 2024", "10 febbraio 2024", "10 de fevereiro de 2024",
        "2024\u5e742\u670810\u65e5", "10 \u0444\u0435\u0432\u0440\u0430\u043b\u044f 2024 \u0433\u043e\u0434\u0430",
        "10 th\u00e1ng 2 n\u0103m 2024",
    ],
)  # fmt: skip
def test_a_date_is_found_in_other_languages(text: str) -> None:
    assert days(text) == {DAY}


def test_a_date_without_a_year_has_none_and_is_no_piece_of_one_with_a_year() -> None:
    assert [(day.year, day.month, day.day) for day in find_dates("26 September, and 3 December solstice: 21 December 2028")] == [
        (None, 9, 26),
        (None, 12, 3),
        (2028, 12, 21),
    ]


@given(st.dates(date(1000, 1, 1)), st.sampled_from(["%Y-%m-%d", "%d %B %Y", "%B %d, %Y", "%b %d %Y", "%d.%m.%Y", "%A, %d %b %Y"]))
def test_every_written_date_is_read_back(day: date, form: str) -> None:
    assert days(day.strftime(form)) == {day}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("at 14:30", (14, 30, None)), ("at 2:30 PM", (14, 30, None)), ("at 2:30 p.m.", (14, 30, None)), ("at 2:30pm.", (14, 30, 0)),
        ("at 14:30:15", (14, 30, 15)), ("at 14:30", (14, 30, 15)), ("at 12:05 am", (0, 5, None)), ("at 12:05 PM", (12, 5, None)),
        ("at 05:42", (5, 42, None)), ("at 5:42", (5, 42, None)), ("14:30:00", (14, 30, None)),
    ],
)  # fmt: skip
def test_a_time_is_stated(text: str, wanted: tuple[int, int, int | None]) -> None:
    assert says_time(wanted, text)


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
    assert not says_time(wanted, text)


@pytest.mark.parametrize(
    ("text", "language", "wanted"),
    [
        ("at 7 a.m.", "en", (7, 0, None)), ("0700 hrs", "en", (7, 0, None)), ("at noon", "en", (12, 0, None)),
        ("7:50 in the evening", "en", (19, 50, None)), ("um 5.12 Uhr", "de", (5, 12, None)), ("7 Uhr abends", "de", (19, 0, None)),
        ("\u00e0 19 h 50", "fr", (19, 50, None)), ("alle 19.50", "it", (19, 50, None)), ("las 7:50 de la tarde", "es", (19, 50, None)),
        ("\u5348\u5f8c7\u664250\u5206", "ja", (19, 50, None)),
    ],
)  # fmt: skip
def test_a_time_is_read_as_people_say_it(text: str, language: str, wanted: ClockTime) -> None:
    assert says_time(wanted, text, language)


def test_values_that_are_dates_or_times_are_recognised() -> None:
    assert iso_parts("2024-02-10") == (DAY, None)
    assert iso_parts("2024-02-10 06:05:09+00:00") == (DAY, (6, 5, 9))
    assert iso_parts("5:42") == (None, (5, 42, None))
    for text in ("2024-13-40", "10 February 2024", "", "14", "1:2"):
        assert iso_parts(text) is None
