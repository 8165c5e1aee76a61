"""Words cut out of sentences, and what a broken sentence looks like."""

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from talm_sim.tasks.awareness.making.cutting import cut, find_unnatural
from talm_sim.tasks.awareness.making.value_spellings import gives_value_away, spans_of
from tests.growth import check_growth
from tests.tables import labelled


@labelled
def test_words_go_with_what_leads_to_them(text: str, value: str, left: str, gone: str) -> None:
    spans = spans_of(text, value)
    assert spans
    assert cut(text, spans, ()) == (left, [gone])
    assert find_unnatural(left, text) == ""
    assert not gives_value_away(left, value)


@labelled
def test_words_that_carry_the_sentence_are_not_cut(text: str, value: object) -> None:
    spans = spans_of(text, value)
    assert spans
    assert cut(text, spans, ()) is None


@labelled
def test_a_broken_sentence_is_seen(text: str, before: str, fault: str) -> None:
    assert find_unnatural(text, before) == fault


@labelled
def test_a_value_is_found_in_the_spellings_of_people(text: str, value: object, known: list[str]) -> None:
    assert [text[start:end] for start, end in spans_of(text, value) or ()] == known


@pytest.mark.parametrize("value", [True, None, [], {}, " ", ["a"]])
def test_some_values_have_no_spelling(value: object) -> None:
    assert spans_of("True a None", value) is None


def test_a_part_of_several_words_gives_them_away() -> None:
    assert gives_value_away("Is Springfield big?", "Springfield Heights")
    assert not gives_value_away("Is it big?", "Springfield Heights")
    assert gives_value_away("David is there", ["David Wang", "Amy Chen"])


@given(
    st.text(alphabet="ab ,.'\"\n1é(", max_size=40),
    st.one_of(st.text(alphabet="ab 1'", max_size=5), st.integers(0, 20), st.floats(), st.dates().map(str)),
)
def test_any_text_can_be_searched_and_cut(text: str, value: object) -> None:
    spans = spans_of(text, value) or []
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    found = cut(text, spans, ())
    assert found is None or len(found[1]) == len(spans)


@pytest.mark.parametrize("piece", ["a", "the a b is 12, "])
def test_a_long_text_is_searched_and_cut_in_step_with_its_length(piece: str) -> None:
    def read(text: str) -> None:
        cut(f"{text} at 12.", spans_of(f"{text} at 12.", 12) or [], {"number"})
        cut(f"{text} at Hanoi.", [(len(text) + 4, len(text) + 9)], {"city"})
        find_unnatural(text, "A b.")

    check_growth(read, lambda size: piece * (size // len(piece)), 2**14)


def test_a_value_said_many_times_is_not_cut_out_and_a_very_long_one_has_no_spelling() -> None:
    text = "at 12, " * 51
    assert cut(text, spans_of(text, 12) or [], set()) is None
    assert spans_of("a" * 501, "a" * 501) is None
    assert spans_of("a" * 500, "a" * 500) == [(0, 500)]
