"""The sets of packaged scenarios: perfect queries, each with all that is derived from it."""

from __future__ import annotations

from collections.abc import Iterable

from talm_sim.common.digests import digest

__all__ = ["CATEGORIES", "QUICK", "SAMPLE", "draw_sample"]

CATEGORIES = ("calendar", "art", "finance", "geo", "language", "music", "science", "transportation", "weather")
"""The categories of `quick`, which come first among the packaged scenarios."""
QUICK = frozenset(f"{category}-{number:02}" for category in CATEGORIES for number in range(1, 9))
"""Perfect queries of `quick`, by id: the first of nine categories."""
SAMPLE = 300
"""Perfect queries of `sample`: the interval of a rate over them is at most .12 wide."""
_SEED = 0


def draw_sample(queries: Iterable[str]) -> frozenset[str]:
    """Draw the queries of `sample` by seed, so that most of them stay when the package grows.

    Args:
        queries: Ids of all that are packaged.
    """
    return frozenset(sorted(queries, key=lambda query: digest([_SEED, query]))[:SAMPLE])
