"""The scores of Yes/No answers: by hand, by brute force, and as scikit-learn gives them."""

from __future__ import annotations

import random
import statistics
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.common.kappa import kappa
from talm_sim.tasks.awareness.intervals import (
    BINS,
    Chance,
    area_interval,
    auroc,
    bin_of,
    brier,
    brier_interval,
    calibration_error,
    calibration_interval,
    f1,
    f1_interval,
)

SMALL = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0]), st.booleans()), max_size=12)


@given(SMALL)
def test_the_area_is_the_share_of_pairs_in_the_right_order(pairs: list[tuple[float, bool]]) -> None:
    ups, downs = ([chance for chance, hit in pairs if hit is kind] for kind in (True, False))
    value = auroc([chance for chance, _ in pairs], [hit for _, hit in pairs])
    if not ups or not downs:
        assert value is None
        return
    wins = sum((up > down) + 0.5 * (up == down) for up in ups for down in downs)
    assert value == pytest.approx(wins / len(ups) / len(downs), abs=1e-12)


def test_probabilities_that_are_right_have_no_error_and_wrong_ones_all() -> None:
    assert (brier([1.0, 0.0], [True, False]), calibration_error([1.0, 0.0], [True, False])) == (0.0, 0.0)
    assert (brier([1.0, 0.0], [False, True]), calibration_error([1.0, 0.0], [False, True])) == (1.0, 1.0)
    assert calibration_error([0.75] * 4, [True, True, True, False]) == 0.0
    assert (brier([], []), calibration_error([], []), auroc([], [])) == (None, None, None)


def test_the_interval_is_blind_to_order_and_nowhere_of_no_width() -> None:
    clusters = [(1, 0)] * 30 + [(0, 1)] * 10 + [(1, 1)] * 5
    found = f1_interval(clusters, 7)
    assert found == f1_interval(clusters[::-1], 7)
    value = f1(35, 15, 0)
    assert found and value and found[0] < value < found[1]
    assert f1_interval([(1, 0)] * 9) is None and f1_interval([(0, 2)] * 9) is None and f1_interval([]) is None


def test_the_interval_covers_the_true_value_about_as_often_as_it_says() -> None:
    draw = random.Random(0)
    hits, times = 0, 100
    for _ in range(times):
        # True F1: 2 * .5 / (2 * .5 + .3) of 100 independent clusters.
        sample = [draw.choices([(1, 0), (0, 1), (0, 0)], [0.5, 0.3, 0.2])[0] for _ in range(100)]
        found = f1_interval(sample)
        hits += found is not None and found[0] <= 1 / 1.3 <= found[1]
    assert 0.9 <= hits / times <= 0.99


def test_intervals_of_probabilities_draw_an_original_with_what_was_made_of_it() -> None:
    draw = random.Random(0)
    chances = [
        Chance(round(min(max(draw.gauss(0.6 if complete else 0.45, 0.2), 0.0), 1.0), 1), complete, str(base))
        for base in range(40)
        for complete in (True, *[False] * draw.randint(1, 2))
    ]
    kept: dict[str, list[Chance]] = {}
    for one in chances:
        kept.setdefault(one.base, []).append(one)
    for figure, interval in ((auroc, area_interval), (brier, brier_interval), (calibration_error, calibration_interval)):
        values = []
        for _ in range(4000):
            drawn = [one for base in draw.choices(sorted(kept), k=len(kept)) for one in kept[base]]
            values.append(figure([one.value for one in drawn], [one.complete for one in drawn]) or 0.0)
        cuts = statistics.quantiles(values, n=40)
        found = interval(chances, 0)
        assert found == pytest.approx((cuts[0], cuts[-1]), abs=0.015), figure.__name__
        draw.shuffle(chances)
        assert interval(chances, 0) == found


@pytest.mark.parametrize("seed", range(8))
def test_scikit_learn_agrees(seed: int) -> None:
    metrics: Any = pytest.importorskip("sklearn.metrics")
    calibration: Any = pytest.importorskip("sklearn.calibration")
    draw = random.Random(seed)
    n = draw.choice([3, 10, 100, 1000])
    hits = [True, False, *(draw.random() < 0.6 for _ in range(n - 2))]
    chances = [round(draw.random(), draw.choice([1, 2, 9])) for _ in range(n)]
    close: Any = {"abs": 1e-12, "rel": 0}
    assert auroc(chances, hits) == pytest.approx(metrics.roc_auc_score(hits, chances), **close)
    assert brier(chances, hits) == pytest.approx(metrics.brier_score_loss(hits, chances), **close)
    gold = ["yes" if hit else "no" for hit in hits]
    said = [draw.choice(["yes", "no", "no", "unparsed"]) for _ in hits]
    right = sum(one == other == "no" for one, other in zip(gold, said, strict=True))
    value = f1(right, gold.count("no") - right, said.count("no") - right)
    assert value == pytest.approx(metrics.f1_score(gold, said, labels=["no"], average=None, zero_division=0)[0], **close)
    assert kappa(list(zip(gold, said, strict=True))) == pytest.approx(metrics.cohen_kappa_score(gold, said), **close)
    # Its bins hold their upper end, ours their lower one: no chance lies on one.
    chances = [draw.uniform(0.001, 0.999) for _ in hits]
    shares, means = calibration.calibration_curve(hits, chances, n_bins=BINS)
    sizes = [size for _, size in sorted(Counter(map(bin_of, chances)).items())]
    error = sum(size * abs(share - mean) for size, share, mean in zip(sizes, shares, means, strict=True)) / n
    assert calibration_error(chances, hits) == pytest.approx(error, **close)
