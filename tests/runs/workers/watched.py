"""What the tests of worker processes compare, and which processes there are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from talm_sim.runs.stored_run import StoredRun

__all__ = ["alive", "content", "tables", "workers_of"]

_TIMES: Any = {"started_at", "elapsed_s", "attempt", "events"}
_EVENT_TIMES: Any = {"elapsed_ms", "asked_at", "answered_at"}


def content(run: StoredRun) -> list[Any]:
    """Return all that was stored of the episodes and verdicts of a run, but for times and attempts."""
    found = [
        (episode.model_dump(exclude=_TIMES), [event.model_dump(exclude=_EVENT_TIMES) for event in episode.events]) for episode in run.episodes()
    ]
    assert run.unjudged == 0
    return [*found, *(verdict.model_dump() for verdict in run.verdicts())]


def tables(run: StoredRun) -> list[dict[str, Any]]:
    """Return the tables of a run, but for its name and times."""
    named = {"run", "elapsed_s", "seconds", "seconds_each", "waited_seconds"}
    return [{key: value for key, value in one.record().items() if key not in named} for one in run.summary()]


def workers_of(parent: int | None = None) -> list[int]:
    """Return the worker processes that a process has started; this one by default."""
    return [pid for pid in children_of(parent or os.getpid()) if "talm_sim.runs.workers" in _words(pid)]


def children_of(parent: int) -> list[int]:
    """Return the processes that a process has started and that are alive."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            state, owner = _state(int(entry.name))
            if owner == parent and state != "Z":
                found.append(int(entry.name))
    return sorted(found)


def alive(pids: list[int]) -> list[int]:
    """Return those of some processes that have not ended."""
    return [pid for pid in pids if _state(pid)[0] not in ("", "Z")]


def _state(pid: int) -> tuple[str, int]:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return "", 0
    return fields[0], int(fields[1])


def _words(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""
