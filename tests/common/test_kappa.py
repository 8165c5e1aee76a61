"""Kappa and alpha: by hand, by definition in fractions, as scikit-learn and krippendorff give them, and over draws."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.common.kappa import alpha, alpha_of_drawn, kappa, kappa_of_drawn

LABELS = ("pass", "fail", "open")
ITEMS = st.lists(st.lists(st.sampled_from(LABELS), max_size=4), max_size=12)
PAIRS = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), max_size=20)
PUBLISHED = (
    "1 1 . 1", "2 2 3 2", "3 3 3 3", "3 3 3 3", "2 2 2 2", "1 2 3 4", "4 4 4 4", "1 1 2 1", "2 2 2 2", ". 5 5 5", ". . 1 1", ". . 3 .",
)  # fmt: skip
"""Four observers, twelve units and five values: example C of Krippendorff's 'Computing Krippendorff's Alpha-Reliability' (2011)."""


def alpha_by_definition(items: Sequence[Sequence[str]]) -> Fraction | None:
    """Return 1 less observed by expected disagreement, from the matrix of coincidences, pair by pair."""
    coincidences: dict[tuple[str, str], Fraction] = {}
    for labels in items:
        for one, other in permutations(range(len(labels)), 2):
            pair = labels[one], labels[other]
            coincidences[pair] = coincidences.get(pair, Fraction(0)) + Fraction(1, len(labels) - 1)
    size = {label: sum((value for pair, value in coincidences.items() if pair[0] == label), Fraction(0)) for label in LABELS}
    n = sum(size.values(), Fraction(0))
    observed = sum((value for (one, other), value in coincidences.items() if one != other), Fraction(0))
    expected = sum((size[one] * size[other] for one, other in permutations(LABELS, 2)), Fraction(0))
    return None if not expected else 1 - (n - 1) * observed / expected


@pytest.mark.parametrize(
    ("items", "value"),
    [
        ([], None), ([("pass",)], None), ([("pass", "pass"), ("pass", "pass", "pass")], None), ([("pass", "pass"), ("fail", "fail")], 1.0),
        ([("pass", "fail")], 0.0), ([("pass", "fail"), ("pass", "fail")], -0.5),
    ],
)  # fmt: skip
def test_alpha_by_hand(items: Sequence[Sequence[str]], value: float | None) -> None:
    assert alpha(items) == value


def test_alpha_of_the_published_example() -> None:
    assert alpha([[value for value in unit.split() if value != "."] for unit in PUBLISHED]) == pytest.approx(0.743, abs=5e-4)


@given(ITEMS)
def test_alpha_is_its_definition_whatever_the_order(items: list[list[str]]) -> None:
    expected, found = alpha_by_definition(items), alpha(items)
    assert (expected is None) is (found is None)
    if expected is not None:
        assert found == pytest.approx(float(expected), abs=1e-12)
        assert alpha([labels[::-1] for labels in reversed(items)]) == pytest.approx(found, abs=1e-12)


@given(ITEMS, st.integers(1, 4), st.randoms(use_true_random=False))
def test_a_draw_counts_each_cluster_as_often_as_it_was_drawn(items: list[list[str]], number: int, draw: random.Random) -> None:
    clusters = [items[start::number] for start in range(number)]
    times = [draw.randrange(4) for _ in clusters]
    drawn = [labels for own, often in zip(clusters, times, strict=True) for labels in own * often]
    assert alpha_of_drawn(clusters)(times) == pytest.approx(alpha(drawn), abs=1e-12)


@given(PAIRS, st.integers(1, 4), st.randoms(use_true_random=False))
def test_kappa_of_a_draw_is_that_of_the_pairs_drawn(pairs: list[tuple[str, str]], number: int, draw: random.Random) -> None:
    clusters = [pairs[start::number] for start in range(number)]
    times = [draw.randrange(4) for _ in clusters]
    drawn = [pair for own, often in zip(clusters, times, strict=True) for pair in own * often]
    assert kappa_of_drawn(clusters)(times) == kappa(drawn)


def label_sets() -> list[list[list[str | None]]]:
    """What two to five people say of up to 200 items, some of nothing and some nearly always the same."""
    draw = random.Random(11)
    found = []
    for people, size, often in ((2, 60, 1), (3, 12, 1), (4, 60, 9), (5, 200, 3)):
        weighed = [LABELS[0]] * often + [*LABELS]
        found.append([[draw.choice(weighed) if draw.random() < 0.9 else None for _ in range(people)] for _ in range(size)])
    return found


@pytest.mark.parametrize("items", label_sets())
def test_krippendorff_agrees(items: list[list[str | None]]) -> None:
    peer: Any = pytest.importorskip("krippendorff")
    table = [[float("nan") if label is None else float(LABELS.index(label)) for label in person] for person in zip(*items, strict=True)]
    expected = peer.alpha(reliability_data=table, level_of_measurement="nominal")
    assert alpha([[label for label in labels if label is not None] for labels in items]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("items", label_sets())
def test_scikit_learn_agrees(items: list[list[str | None]]) -> None:
    metrics: Any = pytest.importorskip("sklearn.metrics")
    pairs = [(one, other) for one, other, *_ in items if one is not None and other is not None]
    assert kappa(pairs) == pytest.approx(metrics.cohen_kappa_score(*zip(*pairs, strict=True)), abs=1e-12)
