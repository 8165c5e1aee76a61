from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, strategies as st

from talm_sim.cli.terminal.text import as_json, spreadsheet_cell, strip_control
from tests.growth import check_growth
from tests.tables import labelled


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
    assert strip_control(dirty) == expected


@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from("\x1b[]\\;m\x07\x9b\r\x00"))))
def test_nothing_that_steers_a_terminal_survives(text: str) -> None:
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", strip_control(text))


@given(st.text(alphabet=st.characters(categories=("L", "N", "P", "Zs"))))
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert strip_control(text) == text


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5))
def test_json_is_one_line_that_steers_nothing_and_reads_back(value: object) -> None:
    text = as_json(value)
    assert len(text.splitlines()) == 1 and strip_control(text) == text
    assert json.loads(text) == value == json.loads(as_json(value, indent=2))


@labelled
def test_a_cell_of_a_spreadsheet_is_no_formula(value: object, cell: object) -> None:
    assert spreadsheet_cell(value) == cell


@pytest.mark.parametrize("end", ["x", "e1x"])
def test_a_cell_of_many_digits_takes_time_in_step_with_its_length(end: str) -> None:
    check_growth(spreadsheet_cell, lambda size: f"-{'1' * size}{end}", 2**14)
    assert spreadsheet_cell(f"-{'1' * 100}{end}") == f"'-{'1' * 100}{end}"
