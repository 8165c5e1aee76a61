"""Words cut out of sentences, and what a broken sentence looks like."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talm_sim.tasks.awareness.making.cutting import cut, find_unnatural
from talm_sim.tasks.awareness.making.spellings import gives_value_away, spans_of
from tests.growth import check_growth


@pytest.mark.parametrize(
    ("text", "value", "left", "gone"),
    [
        ("What was the price of SQ on March 14th, 2022?", "SQ", "What was the price on March 14th, 2022?", "of SQ"),
        ("What was the price of SQ on March 14th, 2022?", "2022-03-14", "What was the price of SQ?", "on March 14th, 2022"),
        ("My name is foo and my password is bar.", "bar", "My name is foo.", "and my password is bar"),
        ("My name is foo and password is bar.", "foo", "My password is bar.", "My name is foo and"),
        ("Sure, my name is foo and password is bar.", "foo", "Sure, my password is bar.", "my name is foo and"),
        ("The ID is 12, the day is 2023-01-02, and the room is B.", "B", "The ID is 12 and the day is 2023-01-02.", "and the room is B"),
        ("Cancel it, please. The ID is 9012.", "9012", "Cancel it, please.", "The ID is 9012."),
        ('Delete a scene named "Movie Time"?', "Movie Time", "Delete a scene?", 'named "Movie Time"'),
        ("Wake me at 6:30AM. Thanks.", "06:30", "Wake me. Thanks.", "at 6:30AM"),
        ("My ID is 12, time is 9:30 and room is B.", "12", "The time is 9:30 and room is B.", "My ID is 12"),
        ("A is 1, my email is a@b.org, and my pin is 77.", "77", "A is 1 and my email is a@b.org.", "and my pin is 77"),
        ("quick one: the hue of #c0ffee? and the contrast", "#c0ffee", "quick one: the hue? and the contrast", "of #c0ffee"),
    ],
)
def test_words_go_with_what_leads_to_them(text: str, value: str, left: str, gone: str) -> None:
    spans = spans_of(text, value)
    assert spans
    assert cut(text, spans, ()) == (left, [gone])
    assert find_unnatural(left, text) == ""
    assert not gives_value_away(left, value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("JohnDoe", "JohnDoe"),
        ("Convert SQ, please.", "SQ"),
        ("A room for 2 adults and 1 child.", 2),
        ("Data from 2023-03-01 to 2023-03-31, please.", "2023-03-01"),
        ("How many people live in Cusco, Peru?", "Cusco"),
        ("Which month and year was 17 July 2015?", "2015-07-17"),
        ("The hours between 7:00 and 9:00.", "07:00"),
    ],
)
def test_words_that_carry_the_sentence_are_not_cut(text: str, value: object) -> None:
    spans = spans_of(text, value)
    assert spans
    assert cut(text, spans, ()) is None


@pytest.mark.parametrize(
    ("text", "before", "fault"),
    [
        ("Tell me the price of on Monday.", "Tell me the price of SQ on Monday.", "a preposition without words"),
        ("Tell me the price of.", "Tell me the price of SQ.", "a word without what it leads to"),
        ("My name is and my password is bar.", "My name is foo and my password is bar.", "a verb without what it says"),
        ("Now.", "Now on Monday.", "fewer than two words"),
        ("That's, at last.", "That's 3, at last.", "a verb without what it says"),
        ('Delete the scene "".', 'Delete the scene "Night".', "empty quotation marks or brackets"),
        ('Delete the scene "Night.', 'Delete the scene "Night".', "a quotation mark or bracket without its other half"),
        ("Add this, , and that.", "Add this, it, and that.", "punctuation without words"),
        ("Add this and.", "Add this and that.", "an 'and' that joins nothing"),
        ("delete it now.", "Please delete it now.", "a beginning without a capital"),
        ("Delete it for the, please.", "Delete it for the cat, please.", "an article without a noun"),
        ("Delete it now,", "Delete it now, SQ.", "an end without a full stop"),
    ],
)
def test_a_broken_sentence_is_seen(text: str, before: str, fault: str) -> None:
    assert find_unnatural(text, before) == fault


def test_what_was_broken_before_is_not_held_against_the_change() -> None:
    assert find_unnatural("ok and, so for SQ", "ok and, so for SQ on Monday") == ""


@pytest.mark.parametrize(
    ("text", "value", "known"),
    [
        ("It is on the 5th of March, 2 p.m.", "2023-03-05 14:00:00", ["the 5th of March", "2 p.m."]),
        ("On 2023-03-05 at 14:00.", "2023-03-05 14:00:00", ["2023-03-05", "14:00"]),
        ("On December 10th.", "12-10", ["December 10th"]),
        ("All day on 3/5/2023.", "2023-03-05 00:00:00", ["3/5/2023"]),
        ("two rooms", 2, ["two"]),
        ("of 1,912 in words", 1912, ["1,912"]),
        ("the March equinox", "march_equinox", ["March equinox"]),
        ("12 and 123", 12, ["12"]),
        ("the 'foo' one", "foo", ["'foo'"]),
        ("Was it May?", "2023-03-05", []),
    ],
)
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
