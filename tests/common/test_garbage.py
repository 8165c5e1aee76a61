from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from talm_sim.common.garbage import rare_searches


@pytest.fixture(autouse=True)
def threshold() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_searches_are_rare_in_the_block_alone() -> None:
    with rare_searches():
        assert gc.get_threshold()[0] > 700
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("own", [(0, 10, 10), (100_000, 5, 5)])
def test_a_users_own_setting_that_is_rarer_stays(own: tuple[int, int, int]) -> None:
    gc.set_threshold(*own)
    with rare_searches():
        assert gc.get_threshold() == own
    assert gc.get_threshold() == own


def test_a_late_first_search_is_followed_by_rare_ones() -> None:
    with rare_searches(first=1_000_000):
        assert gc.get_threshold()[0] == 1_000_000
        with rare_searches():
            assert gc.get_threshold()[0] == 1_000_000
        gc.collect(0)
        assert 700 < gc.get_threshold()[0] < 1_000_000
    assert gc.get_threshold() == (700, 10, 10)


def test_a_late_first_search_that_never_comes_leaves_nothing_behind() -> None:
    before = list(gc.callbacks)
    with rare_searches(first=1_000_000):
        assert gc.callbacks != before
    assert gc.callbacks == before and gc.get_threshold() == (700, 10, 10)
