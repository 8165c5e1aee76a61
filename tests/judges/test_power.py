from __future__ import annotations

import random

import pytest
from hypothesis import given, settings, strategies as st

from talm_sim.judges.paired import Cluster, flip_signs
from talm_sim.judges.power import Discordance, find_discordance, find_drop, pairs_needed, power


def test_a_drop_from_60_to_40_percent() -> None:
    apart = find_discordance(0.6, 0.2)
    assert (apart.first, apart.second) == pytest.approx((0.36, 0.16))
    assert power(72, apart) == pytest.approx(0.61, abs=0.005)
    assert pairs_needed(apart) == 107
    assert find_drop(107, 0.6) == pytest.approx(0.2, abs=0.002)


@given(st.integers(1, 60), st.floats(0.01, 0.99), st.floats(0.0, 1.0))
@settings(max_examples=40, deadline=None)
def test_it_is_what_enumeration_gives(pairs: int, total: float, part: float) -> None:
    """Every number of pairs that differ, and every split of them, with scipy's binomial distribution and its exact test."""
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    expected = 0.0
    for differing in range(1, pairs + 1):
        rejected = [k for k in range(differing + 1) if stats.binomtest(k, differing).pvalue < 0.05]
        expected += stats.binom.pmf(differing, pairs, total) * sum(stats.binom.pmf(k, differing, part) for k in rejected)
    assert power(pairs, Discordance(total * part, total * (1 - part))) == pytest.approx(expected, abs=1e-10)


def test_it_is_how_often_drawn_runs_are_told_apart() -> None:
    draw = random.Random(7)
    times, found = 4_000, 0
    for _ in range(times):
        differences = [Cluster((draw.random() < 0.5) - (draw.random() < 0.75)) for _ in range(60)]
        found += flip_signs(differences).p < 0.05
    assert power(60, find_discordance(0.75, 0.25)) == pytest.approx(found / times, abs=0.025)


@pytest.mark.parametrize("both", [0.36, 0.5, 0.6])
def test_epochs_that_agree_leave_fewer_pairs_that_differ(both: float) -> None:
    """A scenario of chance p fails the worse run where it passes the first with p (1 - r p), and the other way round with r p (1 - p)."""
    apart = find_discordance(0.6, 0.2, both)
    assert apart.first == pytest.approx(0.6 - 2 / 3 * both) and apart.second == pytest.approx(0.4 - 2 / 3 * both)
    assert apart.first - apart.second == pytest.approx(0.2)
    assert power(72, apart) >= power(72, find_discordance(0.6, 0.2)) - 1e-12


def test_runs_without_a_difference_are_told_apart_at_most_as_often_as_the_level_says() -> None:
    for pairs in (1, 5, 6, 40, 500):
        assert 0 <= power(pairs, find_discordance(0.5, 0.0)) <= 0.05
    assert power(50, Discordance(0.0, 0.0)) == 0 and pairs_needed(Discordance(0.0, 0.0)) is None


def test_the_n_is_the_one_from_which_on_the_power_is_reached() -> None:
    for share, drop in ((0.6, 0.2), (0.9, 0.1), (0.3, 0.3), (1.0, 0.5), (1.0, 1.0)):
        apart = find_discordance(share, drop)
        needed = pairs_needed(apart)
        assert needed is not None
        assert power(needed - 1, apart) < 0.8 <= min(power(needed + more, apart) for more in range(30)), (share, drop)


def test_few_pairs_find_no_drop_and_many_a_small_one() -> None:
    assert find_drop(5, 1.0) is None and find_drop(10, 0.0) is None
    drops = [find_drop(pairs, 0.6) or 1 for pairs in (20, 72, 500, 5_000, 50_000)]
    assert drops == sorted(drops, reverse=True) and drops[-1] < 0.01
