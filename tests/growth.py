"""Whether work grows in step with its length: told by processor time, so that a busy machine fails no test and a squared growth does."""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import process_time
from typing import TypeVar

T = TypeVar("T")

TIMES = 16
"""How many times as long the large input is as the small one: work in step takes 16 times as long, squared growth 256 times."""
BOUND = 40
"""Between the two. What is squared must outweigh what is linear at the large size before the ratio gets here: choose sizes for that."""
ROUNDS = 8
QUICK_S = 0.01
"""A large input that takes less is read quickly, however it grows: so little time is measured too roughly for a ratio."""
ENOUGH_S = 10.0
"""Processor time after which the third round is the last one: work that is squared takes long."""


def check_growth(work: Callable[[T], object], of_size: Callable[[int], T], large: int) -> None:
    """Fail unless `work` on an input of size `large` takes about 16 times as long as on one of a sixteenth.

    Each round can only help: the least time of each size counts, and the first round whose ratio is within the bound is the last. A neighbour
    that slows a round down is met by another one.

    Args:
        work: What is measured; it may be done many times.
        of_size: Makes the input of a size.
        large: The larger size; one that linear work has done in some tens of milliseconds.

    Raises:
        AssertionError: The ratio stayed beyond the bound; the message holds the times.
    """
    inputs = of_size(large // TIMES), of_size(large)
    work(inputs[0])  # what is compiled or loaded once is no part of the growth
    least = [float("inf"), float("inf")]
    spent = 0.0
    for number in range(ROUNDS):
        for place, value in enumerate(inputs):
            took = _seconds(work, value)
            least[place] = min(least[place], took)
            spent += took
        if least[1] < max(QUICK_S, BOUND * least[0]):
            return
        if number >= 2 and spent > ENOUGH_S:
            break
    raise AssertionError(f"{TIMES} times the length took {least[1] / least[0]:.0f} times as long: {least[0]:.6f} s, then {least[1]:.6f} s")


def _seconds(work: Callable[[T], object], value: T) -> float:
    """Processor time of one go, without that of collecting garbage, which depends on what other tests left."""
    collects = gc.isenabled()
    gc.disable()
    try:
        started = process_time()
        work(value)
        return process_time() - started
    finally:
        if collects:
            gc.enable()
