"""Nearest texts: exact, in a fixed order, offline."""

import math
import sys
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from talm_sim.errors import PrerequisiteError
from talm_sim.retrieval import TextIndex, find_embedder

ALPHABET = "abcdef"


class Letters:
    """A text as the counts of its letters."""

    name = "letters"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        return np.array([[float(text.count(letter)) for letter in ALPHABET] for text in texts])


def brute_force(texts: Sequence[str], text: str, vectors: NDArray[np.floating]) -> list[tuple[int, float]]:
    """Every cosine by the definition, number by number."""
    *rows, wanted = [[float(value) for value in row] for row in vectors]
    found = []
    for place, row in enumerate(rows):
        lengths = math.sqrt(math.fsum(x * x for x in row)) * math.sqrt(math.fsum(x * x for x in wanted))
        cosine = math.fsum(x * y for x, y in zip(row, wanted, strict=True)) / lengths if lengths else 0.0
        found.append((place, round(cosine, 6) + 0.0))
    return sorted(found, key=lambda one: (-one[1], one[0]))


@settings(deadline=None)
@given(st.lists(st.text(ALPHABET, max_size=8), max_size=12), st.text(ALPHABET, max_size=8))
def test_the_order_is_that_of_brute_force(texts: list[str], text: str) -> None:
    found = list(TextIndex(texts, Letters()).nearest(text))
    expected = brute_force(texts, text, Letters().embed([*texts, text]))
    assert [one.cosine for one in found] == pytest.approx([cosine for _, cosine in expected], abs=2e-6)
    if len({round(cosine, 5) for _, cosine in expected}) == len(expected):
        assert [one.place for one in found] == [place for place, _ in expected]


def test_of_equally_near_texts_the_first_comes_first() -> None:
    index = TextIndex(["ab", "ba", "c", "aabb"], Letters())
    assert [one.place for one in index.nearest("ab")] == [0, 1, 3, 2]


def test_a_text_without_a_direction_is_near_nothing() -> None:
    index = TextIndex(["", "a"], Letters())
    assert [one.cosine for one in index.nearest("a")] == [1.0, 0.0]
    assert [one.cosine for one in index.nearest("zzz")] == [0.0, 0.0]
    assert list(TextIndex([], Letters()).nearest("a")) == []


def test_the_default_embeddings_know_what_is_alike() -> None:
    pytest.importorskip("wordllama")
    texts = ["get the weather of a city", "weather forecast for a place", "transfer money to a bank account", "play a song"]
    embedder = find_embedder()
    index = TextIndex(texts, embedder)
    assert [one.place for one in index.nearest("weather forecast for a city")][:2] == [1, 0]
    expected = brute_force(texts, "play music", embedder.embed([*texts, "play music"]))
    found = list(index.nearest("play music"))
    assert [one.place for one in found] == [place for place, _ in expected]
    assert [one.cosine for one in found] == pytest.approx([cosine for _, cosine in expected], abs=2e-6)


def test_a_text_is_embedded_alike_alone_and_among_others() -> None:
    pytest.importorskip("wordllama")
    embedder = find_embedder()
    alone, together = embedder.embed(["play a song"]), embedder.embed(["a much longer text that is not like it", "play a song"])
    assert np.array_equal(alone[0], together[1])


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(PrerequisiteError, match=r"need embeddings: pip install .*retrieval"):
        find_embedder()


def test_the_missing_library_of_a_model_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(PrerequisiteError, match=r"embedder 'some/model': needs sentence-transformers: pip install sentence-transformers"):
        find_embedder("some/model")
