"""The rule by which an answer is Yes, No or unreadable, and which free answers make a call, wherever it stands and in whatever form."""

from __future__ import annotations

from hypothesis import given, strategies as st

from talm_sim.tasks.awareness.decision import read_decision
from talm_sim.tasks.awareness.measures import makes_call
from talm_sim.types import ModelTurn, UnparsableCall
from tests.growth import check_growth
from tests.tables import labelled
from tests.tasks.awareness.crafted import turn

SAID = {
    "yes": (
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
    ),
    "no": (
        *("No", " no, the city is missing", "NO.", "Thought: the tools fit.\nAnswer: No"),
        *("Decision: No. Explanation: no city.", "No\n\nUser: Book me a room."),
    ),
    "unparsed": (
        *("", "   ", "Yes or No", "Answer: Yes/No", "Answer: <Yes or No>", "I don't know.", "IDK"),
        *("No further information is needed.", "Nothing is missing.", "Yesterday it rained."),
        *("Thought: there is a tool, and the answer is", "Sure! Which city?", '{"action": "book_hotel"}', "<think>Yes"),
    ),
}


def test_an_answer_is_a_yes_a_no_or_cannot_be_read() -> None:
    wrong = [(said, raw) for said, texts in SAID.items() for raw in texts if read_decision(raw).said != said]
    assert wrong == []


@labelled
def test_the_explanation_is_what_is_said_besides(raw: str, explanation: str) -> None:
    assert read_decision(raw).explanation == explanation


@given(st.text())
def test_no_text_breaks_it(raw: str) -> None:
    assert read_decision(raw).said in {"yes", "no", "unparsed"}


def test_it_is_read_in_step_with_the_length() -> None:
    check_growth(read_decision, lambda size: "Answer: yes or no " * (size // 18), 2**16)


def test_a_label_far_behind_its_mark_is_none_and_an_explanation_is_kept_whole() -> None:
    assert read_decision(f"So it is. Answer: {'*' * 600}No").said == "unparsed"
    assert read_decision(f"Answer: No. {'why ' * 600}").explanation == ("why " * 600).strip()


TOOLS = ("GetToday", "book_hotel")


@labelled
def test_a_written_call_is_a_call(text: str) -> None:
    assert makes_call(ModelTurn(raw_text=text, text=text), TOOLS)


@labelled
def test_a_word_about_calls_is_none(text: str) -> None:
    assert not makes_call(ModelTurn(raw_text=text, text=text), TOOLS)


def test_a_call_in_the_providers_form_is_one_also_where_it_cannot_be_read() -> None:
    broken = UnparsableCall(id="c", name="book_hotel", raw="{", reason="cut off")
    assert makes_call(turn("", calls=True)) and makes_call(ModelTurn(unparsable_calls=(broken,)))


def test_it_grows_with_the_text_alone() -> None:
    check_growth(lambda text: makes_call(ModelTurn(text=text)), lambda size: "[f(" * size, 2000)
