"""The rate that labels give: by hand, its interval beside known ones, and how often that holds the truth."""

from __future__ import annotations

import random

import pytest

from scripts.labels_simulation import simulate
from talm_sim.store.people.labelled_rate import Member, labelled_rate, strata_without_labels


def stratum(name: str, size: int, *labels: bool, bases: int = 1_000) -> list[Member]:
    values = [*labels, *[None] * (size - len(labels))]
    return [Member(f"{name}-{n % bases}", name, 1.0, value) for n, value in enumerate(values)]


def test_a_rate_is_weighed_by_the_strata() -> None:
    run = [*stratum("passed", 100, True, True, True, False), *stratum("failed", 300, False, True)]
    found = labelled_rate(run)
    assert found is not None and found[0] == pytest.approx(0.25 * 0.75 + 0.75 * 0.5)
    assert labelled_rate(list(reversed(run))) == found and 0 <= found[1] < found[0] < found[2] <= 1
    assert labelled_rate([*run, *stratum("undecided", 5)]) is None is labelled_rate([])
    assert strata_without_labels([*run, *stratum("undecided", 5), *stratum("else", 1)]) == ["else", "undecided"]


@pytest.mark.parametrize("value", [True, False])
def test_labels_that_are_all_alike_are_no_proof(value: bool) -> None:
    found = labelled_rate(stratum("passed", 200, *[value] * 20))
    assert found is not None and found[0] == value
    assert 0.08 < found[2] - found[1] < 0.2, "Wilson's is .16 wide"


def test_labels_of_few_bases_say_less() -> None:
    labels = [random.Random(3).random() < 0.5 for _ in range(10) for _ in range(1)] * 6
    many, few = (labelled_rate(stratum("passed", 600, *labels, bases=bases)) for bases in (1_000, 10))
    assert many is not None and few is not None and few[2] - few[1] > 1.5 * (many[2] - many[1])


def test_of_two_runs_the_bases_are_drawn_together() -> None:
    chance = random.Random(1)
    passes = [chance.random() < 0.5 for _ in range(60)]
    first = stratum("passed", 60, *passes[:50])
    second = stratum("passed", 60, *(one if chance.random() < 0.9 else not one for one in passes[:50]))
    together, one, other = labelled_rate(first, second), labelled_rate(first), labelled_rate(second)
    assert together is not None and one is not None and other is not None
    assert together[0] == pytest.approx(other[0] - one[0]) and together[1] <= together[0] <= together[2]
    assert together[2] - together[1] < max(one[2] - one[1], other[2] - other[1]) * 1.3
    assert labelled_rate(first, stratum("passed", 60)) is None


@pytest.mark.parametrize(("labels", "rate"), [(30, 0.1), (60, 0.5), (150, 0.9)])
def test_the_interval_holds_the_truth(labels: int, rate: float) -> None:
    held, width = simulate(60, labels, rate)
    assert held >= 0.85, "0.93 and more over 2,000 runs: docs/validation.md"
    assert width < {30: 0.3, 60: 0.3, 150: 0.15}[labels]
