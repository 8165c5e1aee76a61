"""What both sides do, and what is counted while they do it. It imports the standard library alone: each side runs in an environment of its own.

An episode asks for a capital: the model calls a tool, waits for its result, and answers with it. That is two model calls and one tool call.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WITHOUT_LIVE_VIEW = "without-live-view"
"""Tells Inspect's side to write no events while an episode runs."""
WARM_UP = 20
"""Episodes before those that are measured: modules are imported when they are first used."""


@dataclass
class Work:
    """The model and the tool of one side."""

    latency: float = 0.0
    model_calls: int = 0
    tool_calls: int = 0
    under_way: int = 0
    most_under_way: int = 0
    """Model calls that were waited for at the same time."""

    async def generate(self, question: str, result: str | None) -> dict[str, Any]:
        """Take a model's time, and return the tool call that answers `question`, or, once there is a `result`, the text that does."""
        self.model_calls += 1
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        await asyncio.sleep(self.latency)
        self.under_way -= 1
        return {"country": question.rsplit(maxsplit=1)[-1]} if result is None else {"text": f"It is {result}."}

    async def look_up(self, country: str) -> str:
        """Return the capital of a country."""
        self.tool_calls += 1
        return capital(country)


def question(number: int) -> str:
    return f"Which city is the capital of country-{number}"


def capital(country: str) -> str:
    return country.replace("country", "city")


Play = Callable[[Work, int, int, Path], Callable[[], dict[str, int]]]
"""Plays so many episodes, so many at once, and keeps them in a directory; returns what counts them in what was kept."""


def measure(play: Play, package: str) -> None:
    """Play what the command line says, and print what it took as JSON: from the call that starts the episodes to its return."""
    episodes, in_flight, latency = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        play(Work(), WARM_UP, in_flight, Path(folder) / "warm")
        work = Work(latency)
        began, cpu = time.perf_counter(), time.process_time()
        count = play(work, episodes, in_flight, Path(folder) / "measured")
        took, cpu = time.perf_counter() - began, time.process_time() - cpu
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        size = sum(file.stat().st_size for file in (Path(folder) / "measured").rglob("*") if file.is_file())
        found = {
            "package": package,
            "seconds": took,
            "cpu": cpu,
            "at_once": work.most_under_way,
            "memory": memory,
            "bytes": size,
            "made": {"model_calls": work.model_calls, "tool_calls": work.tool_calls},
            "kept": count(),
        }
    print(json.dumps(found))
