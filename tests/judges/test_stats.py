from __future__ import annotations

from math import isclose, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talm_sim.judges.stats import average_of_rates, wilson
from talm_sim.types import Rate


@st.composite
def shares(draw: st.DrawFn) -> tuple[int, int]:
    n = draw(st.integers(1, 100_000))
    return draw(st.integers(0, n)), n


def bounds(rate: Rate) -> tuple[float, float, float]:
    assert rate.low is not None and rate.value is not None and rate.high is not None
    return rate.low, rate.value, rate.high


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        # Newcombe (1998), Statistics in Medicine 17:857-872, table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
        # Agresti and Coull (1998): 2 of 10 at 95 %
        (2, 10, 0.0567, 0.5098),
        (29, 29, 0.8830, 1.0),
    ],
)
def test_wilson_gives_the_published_intervals(k: int, n: int, low: float, high: float) -> None:
    rate = wilson(k, n)
    assert bounds(rate) == pytest.approx((low, k / n, high), abs=6e-5)


@given(shares(), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_wilsons_limits_are_the_roots_of_the_score_equation(share: tuple[int, int], confidence: float) -> None:
    k, n = share
    z = {0.8: 1.2815515655, 0.9: 1.6448536270, 0.95: 1.9599639845, 0.99: 2.5758293035}[confidence]
    low, value, high = bounds(wilson(k, n, confidence))
    for limit in (low, high):
        if 0 < limit < 1:
            assert isclose(abs(value - limit), z * sqrt(limit * (1 - limit) / n), rel_tol=1e-6, abs_tol=1e-9)


@given(shares())
def test_wilson_holds_its_share_and_mirrors(share: tuple[int, int]) -> None:
    k, n = share
    low, value, high = bounds(wilson(k, n))
    assert 0 <= low <= value <= high <= 1
    assert high > low
    other_low, _, other_high = bounds(wilson(n - k, n))
    assert (low, high) == pytest.approx((1 - other_high, 1 - other_low), abs=1e-12)


@given(shares())
def test_more_confidence_is_a_wider_interval(share: tuple[int, int]) -> None:
    narrow, wide = bounds(wilson(*share, 0.90)), bounds(wilson(*share, 0.99))
    assert wide[0] <= narrow[0] and narrow[2] <= wide[2]


def test_wilson_agrees_with_scipy() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    for k, n in ((0, 7), (3, 7), (29, 99), (95, 95)):
        interval = stats.binomtest(k, n).proportion_ci(0.95, method="wilson")
        assert bounds(wilson(k, n)) == pytest.approx((interval.low, k / n, interval.high))


def test_no_trials_have_no_value() -> None:
    assert wilson(0, 0) == Rate(k=0, n=0, value=None, low=None, high=None)


@pytest.mark.parametrize(("k", "n"), [(-1, 3), (4, 3), (1, 0)])
def test_impossible_counts_are_refused(k: int, n: int) -> None:
    with pytest.raises(ValueError, match="make no share"):
        wilson(k, n)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0])
def test_a_confidence_is_a_probability(confidence: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        wilson(1, 2, confidence)


@given(shares(), shares())
def test_the_average_lies_between_its_halves_and_is_surer_than_either_alone(first: tuple[int, int], second: tuple[int, int]) -> None:
    one, other = wilson(*first), wilson(*second)
    average = average_of_rates(one, other)
    assert average is not None
    assert average.n == one.n + other.n
    low, value, high = bounds(average)
    assert value == pytest.approx((bounds(one)[1] + bounds(other)[1]) / 2)
    assert 0 <= low <= value <= high <= 1
    assert high - low <= max(bounds(r)[2] - bounds(r)[0] for r in (one, other)) + 1e-12


def test_the_average_is_plain_not_pooled() -> None:
    average = average_of_rates(wilson(10, 10), wilson(0, 90))
    assert average is not None and average.value == 0.5 and (average.k, average.n) == (10, 100)


def test_an_average_needs_both_halves() -> None:
    assert average_of_rates(wilson(0, 0), wilson(1, 2)) is None
    assert average_of_rates(wilson(1, 2), wilson(0, 0)) is None
