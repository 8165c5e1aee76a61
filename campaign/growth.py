"""Time against length: pumped texts through everything that reads what a model, a tool, a server or a person wrote."""

from __future__ import annotations

import contextlib
import gc
import random
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import thread_time
from types import FrameType
from typing import Final

from campaign.base import Outcome, Part
from campaign.pumped import patterns_near, pumped, written
from campaign.readers import READERS, Reader
from talm_sim.errors import PrerequisiteError, ToolError
from tests.processor_time import time_loop

LENGTH: Final = 32_000
"""Characters of the longer text; the shorter one has half as many."""
_MOST_LOOPS: Final = 70
"""A reader may take as long as so many turns of the loop of `tests/processor_time.py`: one second on a quiet machine, more on a busy one."""
_MOST_GROWTH: Final = 3.25
"""Reading in quadratic time takes four times as long for twice the length."""
_FLAT: Final = 1.3
_QUICK_SECONDS: Final = 0.020
"""A text that is read within that is not measured again: so little time is measured too roughly for a ratio."""
_GIVEN_UP: Final = 6.0
"""Seconds after which a reader is stopped; regular expressions hear signals, too."""
_TRIES: Final = 6
_REFUSALS: Final = (ValueError, RecursionError, PrerequisiteError, ToolError, OSError)
"""How a reader may refuse a text."""
_FULL: Final = 250 * len(READERS)
_SHORT: Final = 8 * len(READERS)
_MOST_FAILED: Final = 5
"""A reader that failed so often is read no further."""


class _TooLong(BaseException):
    """A reader was stopped."""


def play(count: int, rng: random.Random, scratch: Path) -> Outcome:
    """Read so many texts, the same number with each reader; a reader's texts do not depend on the other readers."""
    outcome = Outcome(tried=0)
    slowest = (0.0, "")
    seed = rng.random()
    sys.setrecursionlimit(1_000)
    for reader in READERS:
        own, failed = random.Random(f"{seed} {reader.name}"), 0
        for _ in range(max(1, count // len(READERS))):
            outcome.tried += 1
            parts = pumped(own, reader.texts, patterns_near(reader.module))
            try:
                fault, took = fault_of(reader, partial(written, parts))
            except Exception as err:
                fault, took = f"raised {type(err).__name__}: {str(err)[:100]}", 0.0
            slowest = max(slowest, (took, reader.name))
            if fault:
                failed += 1
                outcome.failures.append(f"{reader.name}: {fault}: {parts!a}")
            if failed == _MOST_FAILED:
                break
    outcome.figures = {"readers": str(len(READERS)), "slowest": f"{slowest[0]:.2f} s, {slowest[1]}"}
    return outcome


def fault_of(reader: Reader, make: Callable[[int], str], size: int = LENGTH) -> tuple[str, float]:
    """What is wrong with the time a reader takes for a text of a size, empty where nothing is; and the least time of the longer text."""
    long, short = make(size), make(size // 2)
    took = seconds(reader, long)
    if took <= _QUICK_SECONDS:
        return "", took
    half = seconds(reader, short)
    most = _MOST_LOOPS * min(time_loop() for _ in range(3))
    # Where a text is cut can decide how it is read, as within a string or after it: a text of half the length may be the easier kind by chance.
    quarter = seconds(reader, make(size // 4))
    for _ in range(_TRIES):
        grows_little = took <= _MOST_GROWTH * half or took <= 2 * _MOST_GROWTH * quarter
        # What takes as long for half of the text is bounded: a longer text takes no longer.
        if took <= _QUICK_SECONDS or (took <= most and grows_little) or (took <= _FLAT * half and took <= 4 * most):
            return "", took
        if took >= _GIVEN_UP:
            break
        took = min(took, seconds(reader, long))
        half = min(half, seconds(reader, short)) if took > most else max(half, seconds(reader, short))
    if took > most:
        return f"{took:.2f} s for {len(long):,} characters, {half:.2f} s for half of them", took
    return f"{took / half:.1f} times as long for twice the length ({half:.3f} s, {took:.3f} s)", took


def seconds(reader: Reader, text: str) -> float:
    """Processor time of one reading; a reader may refuse a text with an error of its own."""

    def stop(_: int, __: FrameType | None) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    collects = gc.isenabled()
    gc.disable()
    began = thread_time()
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, _GIVEN_UP)
        with contextlib.suppress(*_REFUSALS):
            reader.read(text)
    except _TooLong:
        return max(_GIVEN_UP, thread_time() - began)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        if collects:
            gc.enable()
    return thread_time() - began


PARTS: Final = (Part("growth", "time against length, in all that reads foreign texts", "texts", _FULL, _SHORT, play),)
