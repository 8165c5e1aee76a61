"""The rule by which an answer is Yes, No or unreadable."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talm_sim.tasks.awareness.decision import read_decision
from tests.growth import check_growth


@pytest.mark.parametrize(
    "raw",
    [
        "Yes",
        "yes.",
        '"Yes"',
        "**Yes**, book_hotel does it.",
        "Answer: Yes",
        "Decision: Yes\nExplanation: book_hotel books rooms.",
        "**Decision:** Yes",
        "Thought: No API has the date, but none is needed.\nAnswer: Yes",
        "Thought: is the answer: No? It is not.\n**Answer**: Yes",
        "<think>No, the city is missing.</think>Yes",
        "Yes. Reason: or No",
        "Answer: maybe.\nAnswer: yes",
    ],
)
def test_these_are_a_yes(raw: str) -> None:
    assert read_decision(raw).said == "yes"


@pytest.mark.parametrize(
    "raw",
    [
        "No",
        " no, the city is missing",
        "NO.",
        "Thought: the tools fit.\nAnswer: No",
        "Decision: No. Explanation: no city.",
        "No\n\nUser: Book me a room.",
    ],
)
def test_these_are_a_no(raw: str) -> None:
    assert read_decision(raw).said == "no"


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "   ",
        "Yes or No",
        "Answer: Yes/No",
        "Answer: <Yes or No>",
        "I don't know.",
        "IDK",
        "No further information is needed.",
        "Nothing is missing.",
        "Yesterday it rained.",
        "Thought: there is a tool, and the answer is",
        "Sure! Which city?",
        '{"action": "book_hotel"}',
        "<think>Yes",
    ],
)
def test_these_cannot_be_read(raw: str) -> None:
    assert read_decision(raw).said == "unparsed"


@pytest.mark.parametrize(
    ("raw", "explanation"),
    [
        ("Decision: No\nExplanation: the city is missing.", "the city is missing."),
        ("No, the city is missing.", "the city is missing."),
        ("No. Reason: the city is missing.", "the city is missing."),
        ("**No**\n\nThe city is missing.", "The city is missing."),
        ("No.", ""),
        ("Who knows?", ""),
    ],
)
def test_the_explanation_is_what_is_said_besides(raw: str, explanation: str) -> None:
    assert read_decision(raw).explanation == explanation


@given(st.text())
def test_no_text_breaks_it(raw: str) -> None:
    assert read_decision(raw).said in {"yes", "no", "unparsed"}


@pytest.mark.parametrize("piece", ["answer: ", "'answer: ", "1s2 decision: ", "Answer: yes or no "])
def test_any_number_of_marks_is_read_in_step_with_the_length(piece: str) -> None:
    check_growth(read_decision, lambda size: piece * (size // len(piece)), 2**16)


def test_a_label_far_behind_its_mark_is_none_and_an_explanation_is_kept_whole() -> None:
    assert read_decision(f"So it is. Answer: {'*' * 600}No").said == "unparsed"
    assert read_decision(f"Answer: No. {'why ' * 600}").explanation == ("why " * 600).strip()
