"""The sample: at least 20 of each stratum or all it has, the rest in proportion, the same for equal seeds, and part of any larger one."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, strategies as st

from talm_sim.store.people.sample import LEAST, Sample, draw

POOLS = st.dictionaries(st.integers(0, 900).map("episode-{}".format), st.sampled_from(["passed", "failed", "failed", "undecided"]), min_size=1)


@given(POOLS, st.integers(0, 3), st.integers(1, 150))
def test_each_stratum_has_its_least_and_the_rest_is_in_proportion(pool: dict[str, str], seed: int, size: int) -> None:
    sample = draw(pool, seed, size)
    drawn, there = Counter(sample.episodes.values()), Counter(pool.values())
    assert len(sample.episodes) == min(size, len(pool)) and sample.sizes == dict(there) and sample.known == pool
    assert sample.whole == (size >= len(pool)) and sample.is_known
    most = max(drawn.values())
    assert all(drawn[one] >= min(most - 1, LEAST, there[one]) for one in there)
    above = {one for one in there if drawn[one] > LEAST}
    assert all(drawn[one] + 1 >= there[one] * (drawn[other] - 1) / there[other] for one in there for other in above)
    assert {one: of["chance"] for one, of in sample.strata().items()} == {one: drawn[one] / there[one] for one in there}


def test_sixty_of_a_run() -> None:
    said = {"passed": 40, "failed": 240, "undecided": 15}
    pool = {f"{stratum}-{n}": stratum for stratum, size in said.items() for n in range(size)}
    found = {size: Counter(draw(pool, 0, size).episodes.values()) for size in (30, 60, 150)}
    assert found[30] == dict.fromkeys(said, 10) and found[60] == {"passed": 20, "failed": 25, "undecided": 15}
    assert found[150] == {"passed": 20, "failed": 115, "undecided": 15}


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
def test_what_was_drawn_stands_for_the_whole_run(pool: dict[str, str], size: int) -> None:
    sample = draw(pool, 0, size)
    bases = {episode: episode for episode in pool}
    found = sample.members(bases, dict.fromkeys(sample.episodes, True))
    assert Counter(one.stratum for one in found) == sample.sizes and {one.weight for one in found} == {1.0}
    earlier = Sample(seed=0, sizes=sample.sizes, episodes=sample.episodes).members(bases, {})
    weights = {one.stratum: one.weight for one in earlier}
    drawn = Counter(sample.episodes.values())
    assert weights == {one: sample.sizes[one] / drawn[one] for one in drawn}, "an earlier version kept only those drawn"
