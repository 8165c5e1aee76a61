"""The rule by which an answer is Yes, No or unreadable."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talm_sim.judges.decision import read_decision


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
