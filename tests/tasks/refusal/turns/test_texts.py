"""What a text says of what is missing. The labelled turns are in test_missing.py; here is what must hold for any text."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talm_sim.tasks.refusal.turns.texts import Said, read_said


@given(st.text(max_size=300))
def test_any_text_says_one_of_three_things(text: str) -> None:
    assert read_said(text) in Said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("It is sorted. Would you like me to print it?", Said.OTHER_TEXT),
        ("Did you mean a.txt or something else?", Said.ASKED),
        ("I can't sort. Is there anything else you need?", Said.SAID_IT_CANNOT),
        ("You did not name a day, so I chose Monday.", Said.OTHER_TEXT),
        ("You did not name a day.", Said.ASKED),
        ("You did not name a day, so I can\u2019t book it.", Said.SAID_IT_CANNOT),
        ("I could not find it at first. Now it has been moved.", Said.OTHER_TEXT),
        ("It has been moved, but I cannot sort it now.", Said.SAID_IT_CANNOT),
    ],
)
def test_offers_assumptions_and_what_was_overcome(text: str, said: Said) -> None:
    assert read_said(text) is said


@pytest.mark.parametrize("word", ["function ", "no ", "would you like ", "tell me, ", "a.", "once I have the "])
def test_the_work_grows_with_the_length_alone(word: str) -> None:
    began = process_time()
    read_said((word * 30_000)[:30_000])
    assert process_time() - began < 10
