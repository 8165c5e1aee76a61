"""Search for garbage rarely: a run makes very many objects that refer to each other, and frees nearly all of them without a search."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["rare_searches"]

_RARE = (50_000, 20, 20)
"""Python's default, (700, 10, 10), spends a quarter of a replay on looking through what stays: mostly modules, classes and functions."""
_lock = threading.Lock()
_blocks: list[tuple[int, int, int]] = []
"""What was set before the first of the blocks that run now, once for each: in several threads, or one within the other."""


@contextmanager
def rare_searches(first: int = _RARE[0]) -> Iterator[None]:
    """Let the process search for garbage less often during the block; a user's own, rarer searches are left as they are.

    Args:
        first: After how many new objects the first search comes; until then, most of them are modules, classes and functions.
    """
    with _lock:
        before = gc.get_threshold()
        _blocks.append(_blocks[0] if _blocks else before)
        if 0 < before[0] < _RARE[0]:
            gc.set_threshold(first, *_RARE[1:])
            if first > _RARE[0]:
                gc.callbacks.append(_end_the_first)
    try:
        yield
    finally:
        with _lock:
            if not _blocks[1:] and _end_the_first in gc.callbacks:
                gc.callbacks.remove(_end_the_first)
            before = _blocks.pop()
            if not _blocks:
                gc.set_threshold(*before)


def _end_the_first(_phase: str, _info: dict[str, int]) -> None:
    """Called at the first search: the next ones come as in every block."""
    gc.callbacks.remove(_end_the_first)
    gc.set_threshold(*_RARE)
