from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talm_sim.cli.text import clean, clip, count, one_line


@pytest.mark.parametrize(
    ("dirty", "expected"),
    [
        ("plain", "plain"),
        ("\x1b[31;1mred\x1b[0m", "red"),
        ("\x1b]0;a window title\x07text", "text"),
        ("\x1b]8;;http://evil.invalid\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;Y2xpcGJvYXJk\x07", ""),
        ("\x1b[2J\x1b[Hgone", "gone"),
        ("over\rwritten", "over\nwritten"),
        ("windows\r\nend", "windows\nend"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("bell\x07 back\x08space del\x7f", "bell backspace del"),
        ("c1 \x9b31m", "c1 31m"),
        ("turned \u202eevil\u202c", "turned evil"),
        ("lone \ud800 surrogate", "lone  surrogate"),
        ("\x1b", ""),
        ("naïve café 北京 🙂", "naïve café 北京 🙂"),
    ],
)
def test_clean(dirty: str, expected: str) -> None:
    assert clean(dirty) == expected


@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from("\x1b[]\\;m\x07\x9b\r\x00"))))
def test_nothing_that_steers_a_terminal_survives(text: str) -> None:
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", clean(text))


@given(st.text(alphabet=st.characters(categories=("L", "N", "P", "Zs"))))
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert clean(text) == text


def test_one_line_folds_and_clips() -> None:
    assert one_line("a\n  b\tc") == "a b c"
    assert one_line({"k": [1, "é"]}) == '{"k": [1, "é"]}'
    assert one_line("x" * 10, 5) == "xxxx…"
    assert clip("abc", 3) == "abc"


def test_count() -> None:
    assert [count(number, "episode") for number in (0, 1, 1200)] == ["0 episodes", "1 episode", "1,200 episodes"]
