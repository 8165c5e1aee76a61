"""Stored runs as they are now, read without their leases, and only when their files have changed."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final

from talm_sim.cli.pages import build_index, build_transcript
from talm_sim.cli.pages.cleaning import PageTexts
from talm_sim.cli.pages.transcripts import comment_data
from talm_sim.cli.parsing.arguments import short_name
from talm_sim.common.digests import digest
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.files.comments import COMMENTS
from talm_sim.runs.files.lease import Owner
from talm_sim.runs.stored_run import StoredRun
from talm_sim.runs.tool_sources import resume_command

__all__ = ["State", "WatchedRuns"]

_FILES: Final = ("run.db", "run.db-wal", COMMENTS)
_SHARE: Final = 4
"""How many times as long as an index took to build, nothing is built again: a large run that goes on leaves time for all else."""


@dataclass(frozen=True, slots=True)
class State:
    """What a page shows besides transcripts.

    Attributes:
        index: What `build_index` returns.
        runs: How far each run is, and whether a process runs it.
        comments: The comments on each run, in the order of the runs.
        version: It changes with all of them.
    """

    index: dict[str, Any]
    runs: list[dict[str, Any]]
    comments: list[list[dict[str, Any]]]
    version: str


class WatchedRuns:
    """Reads runs for a page; any thread may call it.

    Args:
        runs: The runs.
    """

    def __init__(self, runs: Sequence[StoredRun]) -> None:
        self._runs = tuple(runs)
        self._lock = threading.Lock()
        self._seen: list[tuple[int, int] | None] = []
        self._owners: list[Owner | None] = []
        self._alive: list[bool] = []
        self._state: State | None = None
        self._not_before = 0.0

    def state(self) -> State:
        """Return what the runs are now; of runs that change all the time, what they were a moment ago.

        Raises:
            PrerequisiteError: One cannot be read.
        """
        with self._lock:
            begun = time.monotonic()
            # A killed owner changes no file. None is opened to see any of it: another process may want to close it.
            seen = [_stat(os.path.join(run.path, name)) for run in self._runs for name in _FILES]
            changed = seen != self._seen or self._alive != [*map(_is_alive, self._owners)]
            if self._state is None or (changed and begun >= self._not_before):
                self._state, self._seen, self._alive = self._read(), seen, [*map(_is_alive, self._owners)]
                now = time.monotonic()
                self._not_before = now + _SHARE * (now - begun)
            return self._state

    def transcript(self, run: int, episode: str) -> dict[str, Any]:
        """Return the transcript of a finished episode of the run in that place.

        Raises:
            PrerequisiteError: There is none.
        """
        with self._lock:
            stored = self._at(run)
            with stored.at_once():
                return build_transcript(stored, episode)

    def comment(self, run: int, episode: str, text: str, name: str) -> None:
        """Add a comment; arguments and errors are those of `StoredRun.comment`."""
        with self._lock:
            self._at(run).comment(episode, text, name)
            self._not_before = 0.0

    def _at(self, run: int) -> StoredRun:
        if not 0 <= run < len(self._runs):
            raise PrerequisiteError(f"there is no run {run} on this page.")
        return self._runs[run]

    def _read(self) -> State:
        with ExitStack() as stack:
            for run in self._runs:
                stack.enter_context(run.at_once())
            self._owners = [run.owner for run in self._runs]
            index = build_index(self._runs)
            runs = [_describe(*one) for one in zip(self._runs, self._owners, index["runs"], strict=True)]
            texts = PageTexts()
            comments = [[comment_data(one, texts) for one in run.comments()] for run in self._runs]
        for run, owner in zip(self._runs, self._owners, strict=True):
            if owner is None:
                run.fold_log()  # an owner that ended while this process read could not do it
        return State(index, runs, comments, digest(json.dumps([index, runs, comments], sort_keys=True), 32))


def _describe(run: StoredRun, owner: Owner | None, known: Mapping[str, Any]) -> dict[str, Any]:
    finished, total = known["finished"], known["total"]
    again = resume_command(run.job, short_name(run.path)) if owner is None and finished < total and not run.imported else ""
    return {"id": run.id, "finished": finished, "total": total, "waiting": run.waiting, "running": owner is not None, "again": again}


def _is_alive(owner: Owner | None) -> bool:
    return owner is not None and owner.alive


def _stat(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
