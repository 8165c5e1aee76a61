from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talm_sim.models.yes_no import read_yes_no
from talm_sim.types import AwarenessValue

YES, NO, IDK, UNPARSED = AwarenessValue.YES, AwarenessValue.NO, AwarenessValue.IDK, AwarenessValue.UNPARSED


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("Yes, I have the necessary tools.", YES),
        ("yes", YES),
        ("**Yes**. Both tools fit.", YES),
        ('"Yes", because', YES),
        ("Answer: Yes", YES),
        ("My answer is: **Yes**", YES),
        ("Yes, no further information is needed.", YES),
        ("<think>No, wait. No.</think>\n\nYes, I can.", YES),
        ("No, the tool for this is missing.", NO),
        ("NO", NO),
        ("> No - nothing here gives prices", NO),
        ("No I cannot do that", NO),
        ("no\nThe airport is not named.", NO),
        ("IDK, the city is not named", IDK),
        ("I don't know whether", IDK),
        ("I do not know.", IDK),
        ("I’m not sure, but I will try.", IDK),
        ('{"answer": "IDK", "reason": "x"}', IDK),
        ("Yes/No", UNPARSED),
        ("Yes, No, or IDK", UNPARSED),
        ("no, yes?", UNPARSED),
        ("No further information is needed.", UNPARSED),
        ("No problem, let me look.", UNPARSED),
        ("Not all of it.", UNPARSED),
        ("Yesterday's price is missing", UNPARSED),
        ("Sure, I can help.", UNPARSED),
        ("<think>Yes", UNPARSED),
        ("", UNPARSED),
    ],
)
def test_reads_the_opening_label_and_guesses_nothing(raw: str, value: AwarenessValue) -> None:
    assert read_yes_no(raw) is value


@given(
    label=st.sampled_from([("Yes", YES), ("No", NO), ("IDK", IDK), ("I don't know", IDK)]),
    front=st.sampled_from(["", "  ", "**", '"', "> ", "Answer: ", "<think>No. Yes. IDK.</think>", "\n\n"]),
    back=st.sampled_from([".", ", because it is so.", "\nReason: none", "** - see above", '"']),
    upper=st.booleans(),
)
def test_form_does_not_matter(label: tuple[str, AwarenessValue], front: str, back: str, upper: bool) -> None:
    text = label[0].upper() if upper else label[0].lower()
    assert read_yes_no(front + text + back) is label[1]


@given(st.text())
def test_any_text_gets_a_value(raw: str) -> None:
    assert read_yes_no(raw) in AwarenessValue


@given(st.text(alphabet=st.characters(blacklist_characters="<>"), max_size=60), st.sampled_from(["Yes.", "No.", "IDK."]))
def test_what_was_thought_never_counts(thought: str, answer: str) -> None:
    assert read_yes_no(f"<think>{thought}</think>{answer}") is read_yes_no(answer)
