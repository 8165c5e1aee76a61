"""Processor time of the tests, by room, in units of a fixed loop that is timed in the same run: the machine's load and speed cancel out.

With TALM_TEST_TIMES=FILE, the times are written to FILE as JSON; `scripts/budget.py` compares them with `tests/budget.toml`.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import time
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

_FILE = "TALM_TEST_TIMES"
_KEY = "processor_time"
_BETWEEN_S = 20.0
"""Seconds of processor time between two timings of the loop."""


def _used() -> float:
    """Return the processor seconds of this process and of the children that it has waited for."""
    parts = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in parts)


def time_loop() -> float:
    """Return the processor seconds of one unit: a fixed loop of dictionary, string and integer work."""
    began = time.process_time()
    counts: dict[str, int] = {}
    for number in range(100_000):
        key = f"{number % 997}"
        counts[key] = counts.get(key, 0) + number
    return time.process_time() - began


def _room(nodeid: str) -> str:
    parts = nodeid.partition("::")[0].split("/")
    return parts[1] if len(parts) > 2 else "(loose)"


class ProcessorTime:
    """A pytest plugin: measures in each process that runs tests, and gathers in the one that started them."""

    def __init__(self) -> None:
        self._rooms: Counter[str] = Counter()
        self._longest: dict[str, float] = {}
        self._loops = [time_loop() for _ in range(3)]
        self._due = _used() + _BETWEEN_S
        self._gathered: list[dict[str, Any]] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Count the time of a test, its fixtures included, for its room."""
        began = _used()
        result = yield
        used = _used() - began
        self._rooms[_room(item.nodeid)] += used  # type: ignore[assignment]  # Counter's values are typed as integers
        self._longest[item.nodeid] = used
        if len(self._longest) > 20:
            del self._longest[min(self._longest, key=self._longest.__getitem__)]
        if _used() > self._due:
            self._loops.append(time_loop())
            self._due = _used() + _BETWEEN_S
        return result

    def _measured(self) -> dict[str, Any]:
        loop = statistics.median([*self._loops, time_loop()])
        in_units = {room: used / loop for room, used in self._rooms.items()}
        return {"loop_s": loop, "rooms": in_units, "tests": {name: used / loop for name, used in self._longest.items()}}

    def pytest_testnodedown(self, node: Any) -> None:
        """Gather what a process of pytest-xdist has measured."""
        if (measured := getattr(node, "workeroutput", {}).get(_KEY)) is not None:
            self._gathered.append(measured)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand the times on, or write them."""
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_KEY] = self._measured()
        elif self._rooms:
            self._gathered.append(self._measured())

    def pytest_unconfigure(self) -> None:
        """Write what was gathered; by now every process has ended."""
        if not self._gathered or not (file := os.environ.get(_FILE)):
            return
        rooms: Counter[str] = Counter()
        tests: dict[str, float] = {}
        for measured in self._gathered:
            rooms.update(measured["rooms"])
            tests |= measured["tests"]
        loops = [measured["loop_s"] for measured in self._gathered]
        Path(file).write_text(json.dumps({"loop_s": statistics.mean(loops), "rooms": rooms, "tests": tests}, indent=1), encoding="utf-8")
