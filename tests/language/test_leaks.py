from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

from talm_sim.language.leaks import find_leak, mentions, tokens
from talm_sim.language.question_words import STOP, stem
from tests.growth import check_growth


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("It lies 13,355 feet up.", 13355), ("The rate was 1.0500 then.", 1.05), ("about 0.00012 mol", 1.2e-4), ("-15 feet", -15),
        ("the third one", 3), ("my 3rd try", 3), ("on March 5th, 2024", "2024-03-05"), ("on 5 March 2024 at noon", "2024-03-05T23:30"),
        ("to SÃO paulo!", "Sao Paulo"), ("the code (han)", "HAN"),
    ],
)  # fmt: skip
def test_a_value_is_found_however_it_is_written(text: str, value: Any) -> None:
    assert mentions(text, value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("It lies 13,355 feet up.", 355), ("It lies 13.355 feet up.", 13), ("Hanover", "HAN"), ("Paulo is from Sao Tome", "Sao Paulo"),
        ("on 6 March 2024", "2024-03-05"), ("the thirteenth", 3), ("true", True),
    ],
)  # fmt: skip
def test_a_part_of_a_word_or_number_is_no_mention(text: str, value: Any) -> None:
    assert not mentions(text, value)


def test_other_spellings_count() -> None:
    assert mentions("Cracow in winter", "Kraków", ["Cracow"])
    assert mentions("it is true", True, ["true"])


AIRPORT = ["Get an airport's name and elevation by its code.", "code", "IATA or ICAO code of the airport."]


@pytest.mark.parametrize(
    ("query", "value", "removed", "leak"),
    [
        ("How high is the airport I fly to?", "IXL", "Leh airport (IXL)", ""),
        ("How high is the airport (ixl) I fly to?", "IXL", "Leh airport (IXL)", "IXL"),
        ("How high is the airport of LEH?", "IXL", "Leh airport (IXL)", "Leh"),
        ("How high is Leh airport (IXL)?", "IXL", "Leh airport (IXL)", "Leh airport (IXL)"),
        ("How far is York?", "New York", "New York", "york"),
        ("How far is it from New Delhi?", "Sao Paulo", "Sao Paulo", ""),
        ("Which city comes at the rank I picked, the 4th?", 4, "the fourth-largest", "4"),
        ("Which is the largest?", 4, "the fourth-largest", "largest"),
        ("When do I land in March?", "2024-03-05T23:30", "on 5 March 2024 at 23:30", "March"),
        ("When do I land in 2024?", "2024-03-05T23:30", "on 5 March at 23:30", "2024"),
        ("What are the notes of a chord?", ["C", "Eb", "Gmin"], "C, Eb and Gmin", ""),
        ("What is in it, with gmin?", ["C", "Eb", "Gmin"], "C, Eb and Gmin", "gmin"),
        ("Find the range", {"from": 120, "to": 345}, "between 120 and 345", ""),
        ("Find the range up to 345", {"from": 120, "to": 345}, "between 120 and 345", "345"),
    ],
)
def test_what_gives_a_removed_value_away(query: str, value: Any, removed: str, leak: str) -> None:
    assert find_leak(query, value, removed, AIRPORT) == leak


words = st.text(st.characters(categories=["Lu", "Ll"], max_codepoint=0x24F), min_size=3, max_size=9).filter(
    lambda word: len(tokens(word)) == 1 and stem(tokens(word)[0]) not in STOP
)
sentences = st.lists(words, min_size=1, max_size=6)


@given(sentences, st.lists(words, min_size=1, max_size=3), st.integers(0, 6), st.sampled_from([str.lower, str.upper, str.title, str]))
def test_a_value_put_anywhere_into_a_query_is_found(query: list[str], value: list[str], place: int, style: Any) -> None:
    text = " ".join([*query[:place], style(" ".join(value)), *query[place:]])
    assume(tokens(style(" ".join(value))) == tokens(" ".join(value)))
    assert mentions(text, " ".join(value))
    assert find_leak(text, " ".join(value), "")


@given(sentences, st.lists(words, min_size=1, max_size=3))
def test_a_query_that_shares_no_word_with_value_and_removed_text_gives_nothing_away(query: list[str], value: list[str]) -> None:
    shared = set(tokens(" ".join(query))) & set(tokens(" ".join(value)))
    assert bool(find_leak(" ".join(query), " ".join(value), f"for {' '.join(value)}")) == bool(shared)


@given(st.integers(0, 10**9), st.sampled_from(["{}", "{:,}", "x {}.", "({:,})", "{}.0"]))
def test_whole_numbers_are_found_with_and_without_separators(number: int, form: str) -> None:
    assert mentions(f"about {form.format(number)} or so", number)
    assert not mentions(f"about {form.format(number)} or so", number + 1)


@given(st.integers(-(10**9), 10**9))
def test_decimals_are_found_whatever_zeros_follow(thousandths: int) -> None:
    value = thousandths / 1000
    assert mentions(f"it is {value:,.3f} exactly", value)
    assert mentions(f"it is {value:.6f} exactly", value)


@given(st.text())
def test_tokens_never_fail_and_are_their_own_tokens(text: str) -> None:
    found = tokens(text)
    assert tokens(" ".join(found)) == found


@pytest.mark.parametrize("piece", ["a b ", "2024-05-05 "])
def test_long_texts_and_values_are_compared_in_step_with_their_length(piece: str) -> None:
    def read(text: str) -> None:
        mentions(text, f"{text[: len(text) // 2]} x")
        find_leak(text, text[: len(text) // 2], "x")

    check_growth(read, lambda size: piece * (size // len(piece)), 2**15)
