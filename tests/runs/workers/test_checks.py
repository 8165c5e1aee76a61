"""What a process of a run with workers may have, and may not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talm_sim.config import RunConfig
from talm_sim.runs.workers.checks import AHEAD, connections_of


@given(workers=st.integers(2, 64), more=st.integers(0, 500), owner_plays=st.booleans())
def test_every_process_has_connections_and_all_are_given(workers: int, more: int, owner_plays: bool) -> None:
    config = RunConfig(workers=workers, max_connections=workers + more)
    found = [connections_of(config, number, owner_plays=owner_plays) for number in range(workers)]
    assert sum(found) == config.max_connections and min(found) >= 1
    others = found[1:] if owner_plays else found
    assert max(others) - min(others) <= 1


@pytest.mark.parametrize("workers", [2, 3, 5])
def test_a_worker_has_as_many_more_connections_as_it_has_more_episodes(workers: int) -> None:
    config = RunConfig(workers=workers, max_connections=10 * (1 + AHEAD * (workers - 1)))
    found = [connections_of(config, number, owner_plays=True) for number in range(workers)]
    assert found == [10, *[10 * AHEAD] * (workers - 1)]
