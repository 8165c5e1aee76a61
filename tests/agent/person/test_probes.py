"""What the checker says of answers that deny, bound, count and date a thing in words: of a hotel, arrival and guests are missing."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from talm_sim.agent.person.faults import find_faults
from talm_sim.agent.person.knowledge import Knowledge, KnownThing
from talm_sim.types import Fact, Missing, MissingKind

DAY, GUESTS, BALCONY = "On which date do you arrive?", "How many guests will stay?", "Would you like a room with a balcony?"


def thing(name: str, value: str | int, said: str, answer: str) -> KnownThing:
    gone = Missing(kind=MissingKind.ARGUMENT, name=name, value=value, removed_text=said, human_answer=answer)
    return KnownThing(gone, "", (Fact(name=name, value=value, accepted=(said.split(maxsplit=1)[1],)),), f"{value}\n{said}\n{answer}")


HOTEL = Knowledge(
    "Please book a room at the Alpina in Graz for Tanaka, two nights, breakfast included, and give me the confirmation code.",
    (
        thing("arrival", "2026-03-14", "from 14 March 2026", "We arrive on 14 March 2026."),
        thing("guests", 3, "for three people", "We are three people."),
    ),
)


def kinds(question: str, answer: str) -> set[str]:
    return {fault.kind for fault in find_faults(answer, [question], HOTEL)}


def answers(text: str) -> list[str]:
    return [one.strip() for line in text.strip().splitlines() for one in line.split(" | ")]


RIGHT = {
    DAY: """
        March 14th, 2026, in the afternoon I think. | 14 March 2026, by the forenoon train. | On 14 March 2026. We leave on 16 March.
        2026-03-14, until the 16th. | It's the 14th of March, a Saturday. | 14 March 2026, and it is 1 room. | the fourteenth of March
        14 March, two nights, with breakfast, as in my request. | I don't know yet, I'll tell you tomorrow. | 14 March, no need to hurry.
        \x1b[31m14 March 2026\x1b[0m
    """,
    GUESTS: """
        Two adults and one child. | 3 adults, 0 children | Me and two friends. | Two plus a baby. | My wife, my son and me.
        Three of us, two nights. | Four, no, three. | None of your business. | About three.
    """,
    BALCONY: "Yes, I'm 3 hours late. | Yes, on floor 3. | No balcony, thanks.",
}
CONTRADICTIONS = {
    DAY: """
        Not the 14th, later. | It's not on 14 March. | It is not the 14th. | 14 March 2026. Please make it three nights.
        14 March 2026, without breakfast. | 14 March 2026, no breakfast please. | 14 March 2026, one night only. | 14 March 2026, five nights.
        14 March 2026, not at the Alpina. | 14 March 2026, not for Tanaka. | The day after 14 March 2026. | The day after tomorrow.
        In two weeks. | In April. | in February 2026 | next Friday | Tomorrow. | Sunday, 14 March 2026. | The fifteenth. | 03/15
        14 March 2026? No, 15 March 2026.
    """,
    GUESTS: """
        Just me. | I travel alone. | At least three. | More than three. | Up to three. | Three or more. | 3+ | Three, no, four.
        Anything but three. | None. | Nobody. | No guests. | A dozen. | Three hundred | Two adults and two children.
        Three adults and a baby. | My wife and me.
    """,
    "Do you arrive on 15 March 2026?": "Yes. | We do. | That works. | \U0001f44d",
}
LEAKS = {
    GUESTS: "Three. We arrive on 14 March. | Three, arriving on the 14th.",
    BALCONY: "Yes; we arrive 14 March. | Yes, for three.",
    DAY: "There are 3 of us, arriving on 14 March.",
}
CLAIMS = """
    14 March 2026. My wife has booked the flights. | 14 March 2026. You told me yesterday that it is free. | 14 March 2026, as stated above.
"""


@pytest.mark.parametrize(
    ("labelled", "kind"), [(RIGHT, ""), (CONTRADICTIONS, "contradiction"), (LEAKS, "leak"), ({DAY: CLAIMS}, "false_claim")]
)
def test_each_answer_has_the_fault_that_it_was_labelled_with(labelled: dict[str, str], kind: str) -> None:
    said = {(question, answer): kinds(question, answer) for question, text in labelled.items() for answer in answers(text)}
    if kind == "contradiction":  # some are of another kind, too
        assert not {one: found for one, found in said.items() if kind not in found}
    else:
        assert not {one: found for one, found in said.items() if found != ({kind} if kind else set())}


def test_a_number_belongs_to_the_noun_beside_it() -> None:
    assert kinds(BALCONY, "Yes, at 3 pm.") == {"false_claim"}
    assert kinds(BALCONY, "3 nights, yes.") == {"contradiction"}


_WORDS = [*["14", "14th", "three", "no", "not", "March", "2026", "Monday", "and", "a", "my", "wife", "me", "nights"], *"+/,.?", "the"]


@given(st.one_of(st.text(max_size=120), st.lists(st.sampled_from(_WORDS), max_size=30).map(" ".join)))
def test_any_text_is_read_and_a_fault_is_about_something(answer: str) -> None:
    for fault in find_faults(answer, [DAY, GUESTS], HOTEL):
        assert fault.about in {"arrival", "guests", "request"} or fault.kind == "false_claim"
