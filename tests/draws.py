"""Fewer draws for an interval, where tests look at everything but its width."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from talm_sim.judges import stats


@pytest.fixture(scope="module", autouse=True)
def few_draws(request: pytest.FixtureRequest) -> Iterator[None]:
    """Draw 200 times, in all tests of a module that does not say `EVERY_DRAW = True`."""
    if getattr(request.module, "EVERY_DRAW", False):
        yield
        return
    kept = (stats._draws, stats._ratio_interval)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stats, "_MOST_DRAWS", 200)
        patch.setattr(stats, "_FEWEST_DRAWS", 200)
        for function in kept:
            function.cache_clear()
        yield
    for function in kept:
        function.cache_clear()
