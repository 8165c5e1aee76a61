"""Collect garbage rarely: a run makes very many objects that refer to each other, and frees nearly all of them without a search."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_RARE = (50_000, 20, 20)
"""Python's default, (700, 10, 10), spends a quarter of a replay on looking through what stays: mostly modules, classes and functions."""


@contextmanager
def rare_searches(first: int = _RARE[0]) -> Iterator[None]:
    """Let the process search for garbage less often during the block; in such a block, and in a user's own, rarer one, nothing changes.

    Args:
        first: After how many new objects the first search comes; until then, most of them are modules, classes and functions.
    """
    before = gc.get_threshold()
    if not 0 < before[0] < _RARE[0]:
        yield
        return
    gc.set_threshold(first, *_RARE[1:])
    if first > _RARE[0]:
        gc.callbacks.append(_end_the_first)
    try:
        yield
    finally:
        if _end_the_first in gc.callbacks:
            gc.callbacks.remove(_end_the_first)
        gc.set_threshold(*before)


def _end_the_first(_phase: str, _info: dict[str, int]) -> None:
    """Restore the thresholds at the first search, so that the next ones come as in every block."""
    gc.callbacks.remove(_end_the_first)
    gc.set_threshold(*_RARE)
