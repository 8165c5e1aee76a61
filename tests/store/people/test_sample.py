"""The sample: as many of each stratum as there are, the same for equal seeds, and part of any larger one."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, strategies as st

from talm_sim.store.people.sample import draw, weights

POOLS = st.dictionaries(st.integers(0, 400).map("episode-{}".format), st.sampled_from(["a, passed", "a, failed", "b, passed", "b"]), min_size=1)


@given(POOLS, st.integers(0, 3), st.integers(1, 60))
def test_strata_have_equal_parts_as_far_as_they_go(pool: dict[str, str], seed: int, size: int) -> None:
    sample = draw(pool, seed, size)
    drawn, there = Counter(sample.episodes.values()), Counter(pool.values())
    assert len(sample.episodes) == min(size, len(pool)) and sample.sizes == dict(there)
    assert all(pool[episode] == stratum for episode, stratum in sample.episodes.items())
    most = max(drawn.values())
    assert all(number >= min(most - 1, there[stratum]) for stratum, number in ((one, drawn[one]) for one in there))
    assert sample.whole == (size >= len(pool))


@given(POOLS, st.integers(0, 3), st.integers(1, 40), st.integers(0, 40))
def test_a_larger_sample_holds_a_smaller_one(pool: dict[str, str], seed: int, size: int, more: int) -> None:
    small, large = draw(pool, seed, size), draw(pool, seed, size + more)
    assert small.episodes.keys() <= large.episodes.keys()
    assert draw(pool, seed, size + more, tuple(small.episodes)) == large
    assert draw(dict(reversed(pool.items())), seed, size) == small, "the order of the run decides nothing"


def test_another_seed_draws_others_and_all_are_drawn_without_a_size() -> None:
    pool = {f"e-{n}": "one" for n in range(100)}
    assert draw(pool, 0, 10).episodes.keys() != draw(pool, 1, 10).episodes.keys()
    assert draw(pool, 0, None).episodes == pool and draw(pool, 0, None).whole


@given(POOLS, st.integers(1, 60))
def test_what_was_judged_stands_for_the_whole_run(pool: dict[str, str], size: int) -> None:
    sample = draw(pool, 0, size)
    found = weights(sample, sample.episodes)
    judged = {pool[episode] for episode in found}
    assert sum(found.values()) == pytest.approx(sum(stratum in judged for stratum in pool.values()))
