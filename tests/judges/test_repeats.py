from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations
from statistics import fmean

import pytest
from hypothesis import given, strategies as st

from talm_sim.judges.repeats import outcomes_of, pass_at, pass_hat, repeat_measures, repeat_notes, shares_by_epoch
from talm_sim.judges.stats import share, wilson
from talm_sim.types import Measure, Row
from talm_sim.types.measures import Summary

EVERY_DRAW = True


def played(outcomes: Sequence[Sequence[bool | None]], bases: Sequence[str] = ()) -> list[Row]:
    """One scenario per entry, with what each of its epochs came to; None is an episode that is not scored."""
    return [
        Row(
            episode=f"s{place}@{epoch}",
            scenario=f"s{place}",
            base=bases[place] if bases else f"s{place}",
            epoch=epoch,
            group="g",
            not_scored="" if outcome is not None else "infrastructure_error",
            values={} if outcome is None else {"right": outcome},
        )
        for place, own in enumerate(outcomes)
        for epoch, outcome in enumerate(own, 1)
    ]


def right(row: Row) -> bool | None:
    return bool(row.values["right"]) if row.scored else None


def measured(rows: Sequence[Row], epochs: int) -> dict[str, Measure]:
    return {one.name: one for one in repeat_measures(outcomes_of(rows, right), epochs)}


@given(st.lists(st.booleans(), min_size=1, max_size=7), st.data())
def test_they_are_the_shares_of_all_ways_to_draw_k_epochs(outcomes: list[bool], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(outcomes)))
    drawn = list(combinations(outcomes, k))
    assert pass_at(k, sum(outcomes), len(outcomes)) == pytest.approx(fmean(map(any, drawn)))
    assert pass_hat(k, sum(outcomes), len(outcomes)) == pytest.approx(fmean(map(all, drawn)))


@pytest.mark.parametrize(("k", "successes", "epochs"), [(0, 0, 1), (2, 1, 1), (1, 2, 1), (1, -1, 2)])
def test_what_cannot_be_drawn_is_refused(k: int, successes: int, epochs: int) -> None:
    with pytest.raises(ValueError, match="cannot be drawn"):
        pass_at(k, successes, epochs)
    with pytest.raises(ValueError, match="cannot be drawn"):
        pass_hat(k, successes, epochs)


def test_the_figures_of_four_scenarios() -> None:
    found = measured(played([(True, True, True), (True, False, False), (False, False, False), (True, True, False)]), 3)
    assert [found[f"pass_at_{k}"].value for k in (1, 2, 3)] == pytest.approx([6 / 12, (1 + 2 / 3 + 0 + 1) / 4, 3 / 4])
    assert [found[f"pass_hat_{k}"].value for k in (1, 2, 3)] == pytest.approx([6 / 12, (1 + 0 + 0 + 1 / 3) / 4, 1 / 4])
    assert (found["flip_rate"].k, found["flip_rate"].n) == (2, 4)
    assert [found[f"epoch_{name}"].value for name in ("lowest", "highest", "spread")] == pytest.approx([1 / 4, 3 / 4, 1 / 2])
    assert found["fewer_epochs"].value == 0
    assert repeat_notes(outcomes_of(played([(True, False)]), right), 2) == []


def test_scenarios_with_fewer_scored_epochs_are_counted_beside() -> None:
    rows = played([(True, True, False), (True, None, False), (None, False, None), (None, None, None)])
    found = measured(rows, 3)
    assert [found[f"pass_at_{k}"].n for k in (1, 2, 3)] == [3, 2, 1]
    assert found["pass_at_2"].value == 1 and found["pass_at_1"].value == pytest.approx((2 / 3 + 1 / 2 + 0) / 3)
    assert (found["flip_rate"].n, found["epoch_spread"].n, found["fewer_epochs"].value) == (2, 1, 3)
    assert found["epoch_lowest"].value == 0, "over the one scenario with all epochs"
    (note,) = repeat_notes(outcomes_of(rows, right), 3)
    assert note.startswith("3 of 4 scenarios have fewer than 3 scored epochs (1 have none)")


def test_without_two_scored_epochs_of_one_scenario_there_is_a_note_alone() -> None:
    rows = played([(True, None), (None, None)])
    assert measured(rows, 2) == {}
    assert repeat_notes(outcomes_of(rows, right), 2) == ["no pass@k: no scenario has two scored epochs"]
    assert repeat_notes(outcomes_of(rows, lambda row: None), 2) == ["no pass@k: no episode says whether it succeeded"]


def test_the_intervals_are_those_of_shares_by_scenario() -> None:
    draw = random.Random(3)
    outcomes = [tuple(draw.random() < chance for _ in range(4)) for chance in (draw.random() for _ in range(40))]
    found, plain = measured(played(outcomes), 4), share(played(outcomes), "right")
    assert (found["pass_at_1"].value, found["pass_at_1"].low, found["pass_at_1"].high) == pytest.approx((plain.value, plain.low, plain.high))
    every = wilson(sum(map(all, outcomes)), 40)
    assert (found["pass_hat_4"].low, found["pass_hat_4"].high) == (every.low, every.high), "a share of scenarios"
    mixed = wilson(sum(any(one) and not all(one) for one in outcomes), 40)
    assert (found["flip_rate"].low, found["flip_rate"].high) == (mixed.low, mixed.high)


def test_variants_of_one_base_make_no_figure_surer() -> None:
    outcomes = [(True, True), (False, False), (True, False), (False, True)] * 5
    alone = measured(played(outcomes), 2)
    alike = measured(played(outcomes * 3, [f"b{place % 20}" for place in range(60)]), 2)
    for name in ("pass_at_1", "pass_hat_2", "flip_rate"):
        one, other = alone[name], alike[name]
        assert one.low is not None and one.high is not None and other.low is not None and other.high is not None
        assert other.high - other.low == pytest.approx(one.high - one.low, abs=0.03), name


def test_of_many_epochs_some_have_a_column_and_data_has_all() -> None:
    found = measured(played([(True,) * 12, (False,) * 12, (True, False) * 6]), 12)
    assert [name for name, one in found.items() if one.place == "column" and name.startswith("pass_at")] == [
        f"pass_at_{k}" for k in (1, 2, 3, 5, 10, 12)
    ]
    record = Summary(group="g", n=36, total=36, measures=tuple(found.values())).record()
    assert record["pass_at_7"] == pytest.approx((1 + 0 + 1 - 0) / 3, abs=0.01) and record["pass_at_7_n"] == 3
    assert "pass_at_7_k" not in record and record["flip_rate_k"] == 1


def test_epochs_are_compared_over_the_same_scenarios() -> None:
    assert shares_by_epoch([{1: 1.0, 2: 0.0}, {1: 1.0, 2: 1.0}], 2) == [1.0, 0.5]
    assert shares_by_epoch([], 2) == []
