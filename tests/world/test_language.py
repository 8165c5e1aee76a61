"""Language tools answer with known facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Ask = Callable[..., Any]


@pytest.mark.parametrize(
    ("noun", "plural"),
    [("child", "children"), ("attorney general", "attorneys general"), ("mother-in-law", "mothers-in-law"), ("oasis", "oases")],
)
def test_plural(ask: Ask, noun: str, plural: str) -> None:
    assert ask("get_plural", noun=noun) == {"singular": noun, "plural": plural}


def test_spelling_distance(ask: Ask) -> None:
    assert ask("compare_spelling", first="kitten", second="sitting")["edit_distance"] == 3
    swapped = ask("compare_spelling", first="MARTHA", second="MARHTA")
    assert (swapped["edit_distance"], swapped["edit_distance_with_swaps"], swapped["jaro_winkler_similarity"]) == (2, 1, 0.961)


@pytest.mark.parametrize(
    ("name", "soundex"), [("Robert", "R163"), ("Rupert", "R163"), ("Tymczak", "T522"), ("Pfister", "P236"), ("O'Hara", "O600")]
)
def test_soundex(ask: Ask, name: str, soundex: str) -> None:
    assert ask("get_phonetic_codes", name=name)["soundex"] == soundex


def test_other_phonetic_codes(ask: Ask) -> None:
    assert ask("get_phonetic_codes", name="Catherine")["match_rating_codex"] == "CTHRN"
    assert ask("get_phonetic_codes", name="Robert")["nysiis"] == "RABAD"
    assert ask("get_phonetic_codes", 422, name="Nguyễn").startswith("name: ")


@pytest.mark.parametrize(("text", "romanized"), [("Αθήνα", "Athina"), ("Москва", "Moskva"), ("თბილისი", "tbilisi"), ("Đà Nẵng", "Da Nang")])
def test_romanization(ask: Ask, text: str, romanized: str) -> None:
    assert ask("romanize_text", text=text) == {"text": text, "romanized": romanized}


def test_a_word_of_several_parts_of_speech_lists_them(ask: Ask) -> None:
    assert ask("define_word", word="Bank")["several"] == ["noun", "verb"]
    assert ask("define_word", word="bank", part_of_speech="verb")["senses"][0]["definition"] == "tip laterally"
    assert "It is known as: noun, verb." in ask("define_word", 404, word="bank", part_of_speech="adverb")
    assert "Did you mean 'bank'?" in ask("define_word", 404, word="banks")


def test_names_of_the_census(ask: Ask) -> None:
    leslie = ask("get_given_name_statistics", name="leslie")
    assert [(use["sex"], use["rank"]) for use in leslie["uses"]] == [("female", 143), ("male", 208)]
    assert "Did you mean 'Smith'?" in ask("get_surname_statistics", 404, surname="Smithh")


@pytest.mark.parametrize("key", ["Greek", "Modern Greek", "el", "ELL"])
def test_a_language_by_name_and_code(ask: Ask, key: str) -> None:
    assert ask("get_language_codes", language=key)["code"] == "ell"
