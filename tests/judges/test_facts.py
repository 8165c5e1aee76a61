from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talm_sim.judges.facts import AnswerText, normalize
from talm_sim.types import Fact


def states(answer: str, value: str | int | float | bool, *accepted: str, name: str = "fact") -> bool:
    return AnswerText.of(answer).states(Fact(name=name, value=value, accepted=accepted))


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("It is called **Noi Bai International Airport**.", "Noi Bai International Airport"),
        ("it is called noi bai international airport", "Noi Bai International Airport"),
        ("O\u2019Hare is its name", "O'Hare"),
        ("In Sao Paulo", "São Paulo"),
        ("In São Paulo", "Sao Paulo"),
        ("the “well known” one", "well-known"),
        ("H₂O is water", "H2O"),
        ("the chord C#", "C#"),
        ("the colour is `#FF8800`.", "#ff8800"),
        ("code E11.9 it is", "E11.9"),
        ("use v1.2.3.", "1.2.3"),
        ("15.2km away", "15.2 km"),
        ("1,234 people", "1234 people"),
        ("Chopin's work", "Chopin"),
        ("the zip code is 10115", "10115"),
        ("it costs 2.5", "2.50"),
        ("on February 10, 2024", "2024-02-10"),
        ("on 10 February 2024 at 6:05 AM", "2024-02-10T06:05:00"),
        ("the sun rises at 5:42", "05:42"),
        ("agent 007 reporting", "007"),
        ("the mark is ♟", "♟"),
        ("Die Straße", "strasse"),
    ],
)
def test_a_text_fact_stands(answer: str, value: str) -> None:
    assert states(answer, value)


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("Parisian life", "Paris"),
        ("In Hanoi", "Noi"),
        ("the chord C", "C#"),
        ("the chord C#m7", "C#"),
        ("17.5", "17"),
        ("10115", "1011"),
        ("on 10 February", "2024-02-10"),
        ("on February 10, 2024", "2024-02-10T06:05:00"),
        ("", "Paris"),
        ("anything", ""),
        ("anything", "   "),
        ("Bai Noi", "Noi Bai"),
    ],
)
def test_a_text_fact_does_not_stand(answer: str, value: str) -> None:
    assert not states(answer, value)


def test_accepted_spellings_count() -> None:
    assert states("They use the euro.", "EUR", "euro", "€")
    assert states("It costs 5 €.", "EUR", "€")
    assert states("There are seven.", 7, "seven")
    assert not states("They use the dong.", "EUR", "euro", "€")


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("Yes, it is.", True),
        ("That is true.", True),
        ("No.", False),
        ("10 February is a public holiday in Viet Nam.", True),
        ("10 February is not a public holiday.", False),
        ("10 February isn't a public holiday.", False),
        ("Yes, I looked it up. It isn\u2019t a public holiday.", False),
    ],
)
def test_a_truth_is_read_from_its_sentence_or_a_bare_yes_or_no(answer: str, value: bool) -> None:
    assert states(answer, value, name="is_public_holiday")
    assert not states(answer, not value, name="is_public_holiday")


@pytest.mark.parametrize("answer", ["Yes and no.", "It rains.", ""])
def test_a_truth_that_is_not_said_stands_neither_way(answer: str) -> None:
    assert not states(answer, True, name="is_public_holiday")
    assert not states(answer, False, name="is_public_holiday")


def test_numbers_stand_by_value_and_a_truth_is_no_number() -> None:
    assert states("Its elevation is 39 feet", 39)
    assert not states("1", True)


@given(st.text(max_size=100))
def test_normal_form_is_stable(text: str) -> None:
    once = normalize(text)
    assert normalize(once) == once
    assert once.startswith(" ") and once.endswith(" ")


@given(st.lists(st.text("abcdefghijäöüßéøñ", min_size=1, max_size=8), min_size=1, max_size=4), st.text(max_size=40), st.text(max_size=40))
def test_a_text_stands_in_any_answer_that_holds_it_as_words(words: list[str], before: str, after: str) -> None:
    value = " ".join(words)
    assert states(f"{before} {value}, {after}", value)
    assert states(f"{before} **{value.upper()}** {after}", value)


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_answer_and_any_value_can_be_compared(answer: str, value: str) -> None:
    assert states(answer, value) in (True, False)
