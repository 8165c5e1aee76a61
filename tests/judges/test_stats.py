from __future__ import annotations

import random
from collections.abc import Sequence
from math import isclose, sqrt
from operator import mul
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from talm_sim.judges.stats import average_of_rates, bootstrap, mean_over, pool_rates, ratio_interval, share, share_of_counts, wilson
from talm_sim.types import Rate, Row

EVERY_DRAW = True


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


def test_an_average_needs_both_halves() -> None:
    assert average_of_rates(wilson(0, 0), wilson(1, 2)) is None
    assert average_of_rates(wilson(1, 2), wilson(0, 0)) is None


# --- bootstrap -------------------------------------------------------------------------------------------------------------------------------


def mean_of(values: Sequence[float], seed: int = 0) -> tuple[float, float] | None:
    return bootstrap(len(values), lambda times: sum(map(mul, times, values)) / len(values), seed)


def test_a_bootstrap_is_seeded_and_as_wide_as_the_figure_spreads() -> None:
    draw = random.Random(3)
    values = [draw.gauss(1, 2) for _ in range(200)]
    found = mean_of(values)
    assert found is not None and found == mean_of(values) != mean_of(values, 1)
    mean = sum(values) / 200
    spread = sqrt(sum((one - mean) ** 2 for one in values)) / 200
    assert found == pytest.approx((mean - 1.96 * spread, mean + 1.96 * spread), abs=0.15 * spread)


def test_a_bootstrap_is_nowhere_of_no_width() -> None:
    assert mean_of([0.1] * 9) is None and mean_of([]) is None and mean_of([3.0]) is None
    assert bootstrap(9, lambda times: None) is None
    assert ratio_interval([]) is None and ratio_interval([(0, 0), (0, 0)]) is None and ratio_interval([(1, 2)] * 5) is None


def test_a_draw_without_a_value_is_left_out() -> None:
    """Of two clusters one has the figure: a quarter of the draws lack it, and the others have one value or two."""
    found = bootstrap(2, lambda times: times[0] or None)
    assert found == (1, 2)


def test_more_clusters_are_drawn_less_often_but_never_less_than_a_thousand_times() -> None:
    def draws(clusters: int) -> int:
        seen: list[Sequence[int]] = []

        def keep(times: Sequence[int]) -> float:
            seen.append(times)
            return 0.0

        bootstrap(clusters, keep)
        assert all(sum(times) == clusters for times in seen)
        return len(seen)

    assert [draws(clusters) for clusters in (2, 5, 72, 600)] == [10_000, 10_000, 2_717, 1_000]


def test_scipys_bootstrap_agrees() -> None:
    stats: Any = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    numpy: Any = pytest.importorskip("numpy", reason="numpy is not installed")
    draw = random.Random(1)
    clusters = [(sum(draw.random() < 0.3 for _ in range(n)), n) for n in (draw.randint(1, 4) for _ in range(60))]
    over, under = (numpy.array(one) for one in zip(*clusters, strict=True))
    expected = stats.bootstrap(
        (over, under),
        lambda hits, sizes, axis: hits.sum(axis) / sizes.sum(axis),
        paired=True,
        vectorized=True,
        method="percentile",
        n_resamples=50_000,
        rng=numpy.random.default_rng(1),
    ).confidence_interval
    assert ratio_interval(clusters) == pytest.approx((expected.low, expected.high), abs=0.012)


# --- shares of rows --------------------------------------------------------------------------------------------------------------------------


def rows_of(*bases: Sequence[bool | None]) -> list[Row]:
    return [
        Row(episode=f"{base}.{place}", scenario=f"{base}.{place}", base=str(base), group="g", values={"right": value})
        for base, values in enumerate(bases)
        for place, value in enumerate(values)
    ]


def test_rows_of_their_own_requests_have_wilsons_interval() -> None:
    assert share(rows_of([True], [False], [True], [None]), "right") == wilson(2, 3)
    assert share([], "right") == wilson(0, 0)


def test_variants_of_one_request_are_drawn_together() -> None:
    bases = [[True, True, True]] * 12 + [[False, False, False]] * 28
    found, alone = share(rows_of(*bases), "right"), wilson(36, 120)
    assert (found.k, found.n, found.value) == (36, 120, 0.3)
    assert bounds(found)[2] - bounds(found)[0] > 1.5 * (bounds(alone)[2] - bounds(alone)[0])
    assert bounds(found) == pytest.approx(bounds(wilson(12, 40)), abs=0.03)


def test_repeats_that_all_say_the_same_prove_no_more_than_one_of_each() -> None:
    for said, times in ((True, 4), (False, 4)):
        found = share(rows_of(*[[said] * 30] * times), "right")
        assert bounds(found) == bounds(wilson(said * times, times)) and found.n == 120
    even = share(rows_of(*[[True, False]] * 10), "right")
    assert bounds(even) == bounds(wilson(5, 10))


def test_a_row_counts_by_the_measure_it_has() -> None:
    rows = [row.model_copy(update={"values": {name: row.values["right"]}}) for row, name in zip(rows_of([True], [False]), "ab", strict=True)]
    assert (share(rows, "a"), share(rows, "a", "b")) == (wilson(1, 1), wilson(1, 2))


def test_groups_whose_intervals_are_wilsons_are_pooled_to_wilsons() -> None:
    assert pool_rates([wilson(3, 9), wilson(0, 0), wilson(5, 20)]) == wilson(8, 29)
    assert pool_rates([]) == wilson(0, 0)


def test_repeats_do_not_make_pooled_groups_surer() -> None:
    groups = [[bool(place % 2) for place in range(40)], [place < 6 for place in range(30)]]
    once = pool_rates(wilson(sum(group), len(group)) for group in groups)
    rows = [
        [
            Row(episode="", scenario=str(place), base=str(place), epoch=epoch, group="g", values={"a": said})
            for place, said in enumerate(group)
            for epoch in (1, 2, 3)
        ]
        for group in groups
    ]
    thrice = pool_rates(share(group, "a") for group in rows)
    assert (thrice.k, thrice.n, thrice.value) == (3 * once.k, 3 * once.n, once.value)
    low, _, high = bounds(once)
    assert bounds(thrice)[2] - bounds(thrice)[0] == pytest.approx(high - low, abs=0.03)
    assert bounds(wilson(thrice.k, thrice.n))[0] > bounds(thrice)[0], "as if all were independent"


def test_shares_of_counts_draw_the_epochs_of_a_scenario_together() -> None:
    def rows(epochs: int) -> list[Row]:
        counts = [(place % 3, 2) for place in range(30)]
        return [
            Row(episode="", scenario=str(place), base=str(place), epoch=epoch + 1, group="g", values={"part": part, "whole": whole})
            for place, (part, whole) in enumerate(counts)
            for epoch in range(epochs)
        ]

    assert share_of_counts(rows(1), "part", "whole") == wilson(30, 60)
    twice, more = share_of_counts(rows(2), "part", "whole"), share_of_counts(rows(6), "part", "whole")
    assert bounds(more) == pytest.approx(bounds(twice)) and (more.k, more.n) == (180, 360)
    assert share_of_counts([], "part", "whole") == wilson(0, 0)
    left = Row(episode="", scenario="a", base="a", group="g", not_scored="replay_miss", values={"part": 1, "whole": 1})
    assert share_of_counts([left], "part", "whole").n == 0


def test_a_mean_of_values_is_a_share_where_they_are_ones_and_zeros() -> None:
    plain = wilson(2, 3)
    assert mean_over([("a", 1), ("b", 0), ("c", 1)]) == (plain.value, plain.low, plain.high)
    assert mean_over([]) is None
    same = mean_over([("a", 0.5)] * 9)
    assert same is not None and same[0] == 0.5 and same[1:] == pytest.approx(bounds(wilson(1, 2))[::2], abs=0.16), "the width of one base"


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=4), st.lists(st.integers(1, 12), min_size=5, max_size=5))
def test_clusters_that_are_alike_are_counted_as_if_each_were_alone(kinds: list[tuple[int, int]], sizes: list[int]) -> None:
    clusters = sorted(kind for kind, size in zip(kinds, sizes, strict=False) for _ in range(size))

    def ratio(times: Sequence[int]) -> float | None:
        size = sum(n * time for (_, n), time in zip(clusters, times, strict=True))
        return sum(k * time for (k, _), time in zip(clusters, times, strict=True)) / size if size else None

    assert ratio_interval(clusters) == bootstrap(len(clusters), ratio)
