from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from talm_sim.judges.prompts import opening_label

LABELS = {"pass": r"pass(?:ed|es)?", "fail": r"fail(?:ed|s|ure)?"}


@pytest.mark.parametrize(
    ("raw", "label"),
    [
        ("Pass", "pass"),
        ("pass.", "pass"),
        ("FAIL - no elevation", "fail"),
        ("**Pass**\n\nBoth facts are given.", "pass"),
        ('"Fail"', "fail"),
        ("### Fail", "fail"),
        ("Verdict: Pass", "pass"),
        ("**Final grade:** Fail", "fail"),
        ("My verdict is Pass.", "pass"),
        ("<think>Fail? No, it is fine.</think>Pass", "pass"),
        ("\n\n  Passed: all is there", "pass"),
        ("Pass, as the answer names both", "pass"),
    ],
)
def test_a_label_is_read_through_its_decoration(raw: str, label: str) -> None:
    assert opening_label(raw, LABELS) == label


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "The answer is complete. Pass",
        "Pass or Fail",
        "Pass/Fail: Pass",
        "Passable",
        "I would let it pass",
        "<think>Pass",
        "1",
        "Failing that",
    ],
)
def test_anything_else_is_no_label(raw: str) -> None:
    assert opening_label(raw, LABELS) is None


@given(st.text(max_size=80), st.sampled_from(sorted(LABELS)))
def test_the_opening_decides_whatever_follows_on_the_next_lines(rest: str, label: str) -> None:
    assert opening_label(f"{label.title()}.\n\nReason: {rest}", LABELS) == label


@given(st.text(max_size=120))
def test_any_text_can_be_read(text: str) -> None:
    assert opening_label(text, LABELS) in {None, *LABELS}
