"""A gate is read as it is written, and any other text is refused with what to write."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from talm_sim.common.gate import Gate, read_gate

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="<>=@"), min_size=1).map(str.strip).filter(bool)


@given(NAMES, st.sampled_from(["", "@lower", "@upper"]), st.sampled_from([">=", "<="]), st.floats(allow_nan=False, allow_infinity=False))
def test_what_is_written_is_read(name: str, end: str, sign: str, bound: float) -> None:
    found = read_gate(f" {name}{end} {sign} {bound!r} ")
    assert (found.name, found.sign, found.bound) == (name, sign, bound)
    assert found.end == (end.removeprefix("@") or "value")
    assert found.holds(bound)
    assert read_gate(found.text) == found


@given(NAMES)
def test_a_gate_against_a_baseline_is_a_name_alone(name: str) -> None:
    assert read_gate(name) == Gate(name, name)


@given(st.text(st.sampled_from("ab.@<>= 01e-%\x00\n٣")) | st.text())
def test_any_other_text_is_a_value_error(text: str) -> None:
    try:
        found = read_gate(text)
    except ValueError as err:
        assert "is not a gate" in str(err)
    else:
        assert found.name and (found.sign or found.text == found.name)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names no measure"),
        (">=0.5", "names no measure"),
        ("x>0.5", "'>' is not a comparison"),
        ("x==0.5", "'==' is not a comparison"),
        ("x>=60%", "'60%' is not a number"),
        ("x>=nan", "'nan' is not a number"),
        ("x>=", "'' is not a number"),
        ("x@low>=0.5", "write @lower or @upper"),
        ("x@lower", "@lower needs a number"),
    ],
)
def test_what_is_wrong_is_said(text: str, said: str) -> None:
    with pytest.raises(ValueError) as caught:
        read_gate(text)
    assert said in str(caught.value)


def test_a_value_that_differs_from_the_bound_by_rounding_reaches_it() -> None:
    assert read_gate("x>=0.3").holds(0.1 + 0.2) and read_gate("x<=0.3").holds(0.1 + 0.2)
    assert read_gate("x>=0.3").holds(0.3 - 1e-15) and not read_gate("x>=0.3").holds(0.3 - 1e-9)
