"""Paired differences: tests and intervals against enumeration, published figures, SciPy and statsmodels."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from operator import mul
from statistics import mean
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from talm_sim.judges.paired import (
    Cluster,
    SignFlips,
    correct_by_holm,
    difference_interval,
    flat_interval,
    flip_signs,
    newcombe_interval,
    swap_sides,
)
from talm_sim.judges.stats import draws_for

THIRDS = st.integers(-6, 6).map(lambda number: Fraction(number, 3))
WHOLE = st.integers(-3, 3)
TENTHS = st.integers(-9, 9).map(lambda number: number / 10)


def clusters_of(*totals: Fraction | float) -> list[Cluster]:
    return [Cluster(total) for total in totals]


def count_all_signs(totals: Sequence[Fraction | int]) -> Fraction:
    """The share of all signs whose sum is at least as far from 0, in fractions."""
    exact = [Fraction(total) for total in totals]
    found = abs(sum(exact, Fraction()))
    sums = [abs(sum(map(mul, signs, exact), Fraction())) for signs in product((-1, 1), repeat=len(exact))]
    return Fraction(sum(one >= found for one in sums), len(sums))


@given(st.lists(st.one_of(THIRDS, WHOLE), max_size=9))
def test_the_test_counts_what_all_signs_give(totals: list[Fraction | int]) -> None:
    test = flip_signs(clusters_of(*totals))
    assert test.exact
    assert test.p == pytest.approx(float(count_all_signs(totals)), abs=1e-12)


@given(st.lists(TENTHS, max_size=9))
def test_decimals_that_are_equal_but_for_rounding_are_counted_as_equal(totals: list[float]) -> None:
    exact = [Fraction(round(total * 10), 10) for total in totals]
    test = flip_signs(clusters_of(*totals))
    assert test.exact
    assert test.p == pytest.approx(float(count_all_signs(exact)), abs=1e-12)


def test_all_signs_are_counted_where_the_sums_repeat_though_there_are_many() -> None:
    draw = random.Random(3)
    for epochs in (3, 4, 5):
        totals = [Fraction(draw.randint(-epochs, epochs), epochs) for _ in range(1_000)]
        assert flip_signs(clusters_of(*totals)).exact
        kept = flip_signs(clusters_of(*totals[:12]))
        assert kept.p == pytest.approx(float(count_all_signs(totals[:12])), abs=1e-12)


@settings(max_examples=25)
@given(st.lists(st.floats(-5, 5), min_size=20, max_size=40), st.randoms(use_true_random=False))
def test_drawn_signs_depend_neither_on_the_order_nor_on_which_side_is_first(totals: list[float], shuffle: random.Random) -> None:
    test = flip_signs(clusters_of(*totals), seed=4)
    other = [*totals]
    shuffle.shuffle(other)
    assert test == flip_signs(clusters_of(*other), seed=4) == flip_signs(clusters_of(*(-total for total in other)), seed=4)
    assert 0 < test.p <= 1


def test_drawn_signs_come_close_to_counted_ones() -> None:
    draw = random.Random(5)
    for shift in (0.0, 0.2, 0.5):
        exact = [Fraction(round((draw.random() - 0.5 + shift) * 100), 100) for _ in range(30)]
        counted, drawn = flip_signs(clusters_of(*exact)), flip_signs(clusters_of(*map(float, exact)))
        assert counted.exact and not drawn.exact
        assert drawn.p == pytest.approx(counted.p, abs=0.015)


def test_differences_of_zero_say_nothing() -> None:
    assert flip_signs([]) == flip_signs(clusters_of(0, 0.0, Fraction(0))) == SignFlips(1.0, True)
    assert flip_signs(clusters_of(1, 1, 1, -1)) == flip_signs(clusters_of(1, 0, 1, 0, 1, -1))


def test_few_clusters_can_never_be_sure() -> None:
    assert [flip_signs(clusters_of(*[1] * n)).p for n in (1, 2, 5, 6)] == [1.0, 0.5, 0.0625, 0.03125]


def test_scipy_and_statsmodels_agree_on_pass_or_fail() -> None:
    stats: Any = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    draw = random.Random(1)
    for _ in range(60):
        up, down, same = draw.randint(0, 80), draw.randint(0, 80), draw.randint(0, 300)
        test = flip_signs(clusters_of(*[1] * up, *[-1] * down, *[0] * same))
        assert test.exact
        assert test.p == pytest.approx(stats.binomtest(up, up + down).pvalue if up + down else 1.0, abs=1e-12)
    tables: Any = pytest.importorskip("statsmodels.stats.contingency_tables", reason="statsmodels is not installed")
    for _ in range(60):
        up, down = draw.randint(0, 2_000), draw.randint(0, 2_000)
        expected = tables.mcnemar([[10, down], [up, 10]], exact=True).pvalue if up + down else 1.0
        assert flip_signs(clusters_of(*[1] * up, *[-1] * down)).p == pytest.approx(expected, abs=1e-12)


def test_scipys_permutation_test_agrees_on_epochs() -> None:
    stats: Any = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    draw = random.Random(1)
    thirds = [draw.randint(-2, 3) for _ in range(12)]
    expected = stats.permutation_test((thirds,), sum, permutation_type="samples", n_resamples=2**13, vectorized=False).pvalue
    assert flip_signs(clusters_of(*(Fraction(one, 3) for one in thirds))).p == pytest.approx(expected, abs=1e-12)


# --- sides that are swapped ------------------------------------------------------------------------------------------------------------------


@given(st.lists(WHOLE, min_size=1, max_size=8))
def test_sides_of_a_mean_are_swapped_as_signs_are_flipped(totals: list[int]) -> None:
    def difference(swapped: Sequence[int]) -> float:
        return sum(-one if swap else one for swap, one in zip(swapped, totals, strict=True)) / len(totals)

    assert swap_sides(len(totals), difference) == pytest.approx(flip_signs(clusters_of(*totals)), abs=1e-12)


def test_many_sides_are_drawn() -> None:
    draw = random.Random(1)
    totals = [draw.choice((-1, 0, 0, 1, 1)) for _ in range(60)]
    test = swap_sides(60, lambda swapped: float(sum(-one if swap else one for swap, one in zip(swapped, totals, strict=True))))
    assert test is not None and not test.exact
    assert test.p == pytest.approx(flip_signs(clusters_of(*totals)).p, abs=0.03)
    assert test.p >= 1 / (draws_for(60) + 1)


def test_a_figure_without_a_value_is_not_taken_for_a_small_one() -> None:
    assert swap_sides(3, lambda _: None) is None
    found = swap_sides(3, lambda swapped: None if any(swapped) else 0.5)
    assert found == SignFlips(1.0, True)


# --- intervals -------------------------------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.sampled_from([-1, 0, 0, 1]), st.integers(1, 3)), min_size=1, max_size=60), st.randoms(use_true_random=False))
def test_an_interval_has_a_width_and_is_the_same_in_any_order(totals: list[tuple[int, int]], shuffle: random.Random) -> None:
    clusters = [Cluster(total * size, size) for total, size in totals]
    limits = difference_interval(clusters, seed=2, draws=200)
    shuffle.shuffle(clusters)
    assert limits == difference_interval(clusters, seed=2, draws=200)
    if limits is not None:
        assert -1 <= limits[0] < limits[1] <= 1
    else:
        assert len({total for total, _ in totals}) == 1 or len(totals) == 1


def test_differences_that_are_all_alike_have_no_interval() -> None:
    assert difference_interval([]) is None
    assert difference_interval(clusters_of(*[0.5] * 40)) is None
    assert difference_interval(clusters_of(*[0] * 40)) is None


@pytest.mark.parametrize("kind", ["pass", "epochs", "numbers", "bases"])
def test_scipys_bootstrap_agrees(kind: str) -> None:
    stats: Any = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    numpy: Any = pytest.importorskip("numpy", reason="numpy is not installed")
    draw = random.Random(1)
    sizes = [draw.randint(1, 4) if kind == "bases" else 1 for _ in range(150)]
    one: dict[str, Any] = {
        "pass": lambda: draw.choice((-1, 0, 0, 0, 0, 1, 1)),
        "bases": lambda: draw.choice((-1, 0, 0, 0, 0, 1, 1)),
        "epochs": lambda: Fraction(draw.randint(-3, 4), 4),
        "numbers": lambda: draw.random() - 0.3,
    }
    clusters = [Cluster(sum(one[kind]() for _ in range(size)), size) for size in sizes]
    expected = stats.bootstrap(
        (numpy.array([float(each.total) for each in clusters]), numpy.array([each.size for each in clusters])),
        lambda totals, numbers, axis: totals.sum(axis) / numbers.sum(axis),
        paired=True,
        vectorized=True,
        method="percentile",
        n_resamples=10_000,
        rng=numpy.random.default_rng(1),
    ).confidence_interval
    assert difference_interval(clusters) == pytest.approx((expected.low, expected.high), abs=0.01)


@pytest.mark.parametrize("many", [False, True])
def test_both_ways_to_draw_have_the_spread_of_a_mean(many: bool) -> None:
    draw = random.Random(7)
    values = [draw.choice((-1, 0, 0, 1)) if many else draw.random() for _ in range(400)]
    limits = difference_interval(clusters_of(*values))
    assert limits is not None
    middle = mean(values)
    spread = (sum((value - middle) ** 2 for value in values) / 400**2) ** 0.5
    assert (limits[0] - middle, limits[1] - middle) == pytest.approx((-1.96 * spread, 1.96 * spread), rel=0.06)


counts = st.tuples(*[st.integers(0, 60)] * 4).filter(any)


@given(counts)
def test_newcombes_interval_has_a_width_contains_the_difference_and_mirrors(cells: tuple[int, int, int, int]) -> None:
    both, first, second, neither = cells
    low, high = newcombe_interval(*cells)
    assert -1 <= low <= (second - first) / sum(cells) <= high <= 1
    assert high - low > 1e-9
    assert newcombe_interval(both, second, first, neither) == pytest.approx((-high, -low), abs=1e-12)
    assert newcombe_interval(neither, second, first, both) == pytest.approx((-high, -low), abs=1e-12)  # what failed is counted


@pytest.mark.parametrize(
    ("cells", "low", "high"),
    [
        # Fagerland, Lydersen and Laake (2017), Statistical Analysis of Contingency Tables, chapter 8, and the R package contingencytables:
        ((1, 7, 1, 12), -0.5069, -0.0256),  # Bentur et al. (2009)
        ((59, 16, 6, 80), -0.1186, -0.0046),  # Cavo et al. (2012)
    ],
)
def test_newcombes_interval_is_the_published_one(cells: tuple[int, int, int, int], low: float, high: float) -> None:
    assert newcombe_interval(*cells) == pytest.approx((low, high), abs=6e-5)


def test_newcombes_interval_of_no_pairs_is_refused() -> None:
    with pytest.raises(ValueError, match="no pairs"):
        newcombe_interval(0, 0, 0, 0)


@given(st.floats(0, 1), st.floats(0, 1), st.integers(1, 500))
def test_a_flat_interval_has_a_width_and_contains_the_difference(first: float, second: float, n: int) -> None:
    low, high = flat_interval(first, second, n)
    assert -1 <= low <= second - first + 1e-12 and second - first - 1e-12 <= high <= 1
    assert high - low > 1e-6


# --- several tests at once -------------------------------------------------------------------------------------------------------------------


def test_holms_correction_is_that_of_statsmodels() -> None:
    multiple: Any = pytest.importorskip("statsmodels.stats.multitest", reason="statsmodels is not installed")
    draw = random.Random(2)
    for size in (1, 2, 5, 25):
        for _ in range(20):
            values = [draw.choice((draw.random(), draw.random() / 100, 0.01, 1.0)) for _ in range(size)]
            assert correct_by_holm(values) == pytest.approx(list(multiple.multipletests(values, method="holm")[1]), abs=1e-12)


@given(st.lists(st.floats(0, 1), max_size=12))
def test_corrected_values_keep_their_order_and_are_no_smaller(values: list[float]) -> None:
    found = correct_by_holm(values)
    assert all(raw <= corrected <= 1 for raw, corrected in zip(values, found, strict=True))
    ranked = [corrected for _, corrected in sorted(zip(values, found, strict=True))]
    assert ranked == sorted(ranked)
