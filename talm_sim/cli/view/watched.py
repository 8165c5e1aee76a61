"""Watch stored runs: read them without their leases, and only when their files have changed."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from talm_sim.cli.pages import build_index, build_transcript
from talm_sim.cli.pages.transcripts import PageTexts, comment_data
from talm_sim.cli.parsing.shared_arguments import short_name
from talm_sim.common.digests import digest
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.tool_sources import resume_command
from talm_sim.store.files.comments import COMMENTS
from talm_sim.store.files.in_flight import read_in_flight
from talm_sim.store.files.lease import Owner
from talm_sim.store.stored_run import StoredRun

_FILES: Final = ("run.db", "run.db-wal", COMMENTS)
_AT_ONCE_S: Final = 0.5
"""An index that took longer is built again beside all else."""


@dataclass(frozen=True, slots=True)
class State:
    """The data of a page besides its transcripts.

    Attributes:
        index: What `build_index` returns; of a large run that goes on, as it was a moment ago.
        index_version: It changes with the index.
        version: It changes with all of them.
    """

    index: dict[str, Any]
    index_version: str
    runs: list[dict[str, Any]]
    comments: list[list[dict[str, Any]]]
    version: str


@dataclass(frozen=True, slots=True)
class _Index:
    data: dict[str, Any]
    version: str
    seen: object
    """The state of the files, and which owners were alive, before it was built."""
    took: float


class WatchedRuns:
    """Reads runs for a page; any thread may call it."""

    def __init__(self, runs: Sequence[StoredRun]) -> None:
        self._indexed = tuple(runs)
        """Read by whoever builds the index."""
        self._runs = tuple(StoredRun(run.path) for run in runs)
        self._lock = threading.Lock()
        self._owners: list[Owner | None] = []
        self._seen: object = None
        self._now: tuple[list[dict[str, Any]], list[list[dict[str, Any]]]] = [], []
        self._index: _Index | None = None
        self._building: threading.Thread | None = None
        self._failure: PrerequisiteError | None = None

    def state(self) -> State:
        """Return what the runs are now."""
        with self._lock:
            # A killed owner changes no file. None is opened to see any of it: another process may want to close it.
            files = tuple(_stat(os.path.join(run.path, name)) for run in self._runs for name in _FILES)
            if (files, self._alive()) != self._seen:
                self._now = self._read()
                self._seen = files, self._alive()
            if self._index is None or (self._index.seen != self._seen and self._index.took < _AT_ONCE_S):
                self._index = self._build(self._seen)
            elif self._index.seen != self._seen and self._building is None:
                self._building = threading.Thread(target=self._build_beside, args=(self._seen,), daemon=True)
                self._building.start()
            if self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure
            index, (runs, comments) = self._index, self._now
            runs = [one | {"inFlight": _in_flight(run, owner)} for one, run, owner in zip(runs, self._runs, self._owners, strict=True)]
            return State(index.data, index.version, runs, comments, _digest([index.version, runs, comments]))

    def _alive(self) -> tuple[bool, ...]:
        return tuple(owner is not None and owner.alive for owner in self._owners)

    def _build(self, seen: object) -> _Index:
        begun = time.monotonic()
        data = build_index(self._indexed)
        return _Index(data, _digest(data), seen, time.monotonic() - begun)

    def _build_beside(self, seen: object) -> None:
        try:
            index = self._build(seen)
            with self._lock:
                self._index = index
        except PrerequisiteError as err:
            self._failure = err
        finally:
            self._building = None

    def transcript(self, run: int, episode: str) -> dict[str, Any]:
        """Return the transcript of a finished episode of the run in that place."""
        with self._lock:
            stored = self._at(run)
            with stored.at_once():
                return build_transcript(stored, episode)

    def comment(self, run: int, episode: str, text: str, name: str) -> None:
        """Add a comment; arguments and errors are those of `StoredRun.comment`."""
        with self._lock:
            self._at(run).comment(episode, text, name)

    def _at(self, run: int) -> StoredRun:
        if not 0 <= run < len(self._runs):
            raise PrerequisiteError(f"there is no run {run} on this page.")
        return self._runs[run]

    def _read(self) -> tuple[list[dict[str, Any]], list[list[dict[str, Any]]]]:
        """Return how far each run is, and the comments on it."""
        runs, comments, texts = [], [], PageTexts()
        self._owners = []
        for run in self._runs:
            with run.at_once():
                self._owners.append(run.owner)
                runs.append(_describe(run, self._owners[-1]))
                comments.append([comment_data(one, texts) for one in run.comments()])
        for run, owner in zip(self._runs, self._owners, strict=True):
            if owner is None:
                run.fold_log()  # an owner that ended while this process read could not do it
        return runs, comments


def _describe(run: StoredRun, owner: Owner | None) -> dict[str, Any]:
    finished, total = run.finished, run.total
    again = resume_command(run.job, short_name(run.path)) if owner is None and finished < total and not run.imported else ""
    return {"id": run.id, "finished": finished, "total": total, "waiting": run.waiting, "running": owner is not None, "again": again}


def _in_flight(run: StoredRun, owner: Owner | None) -> list[tuple[str, int]]:
    """Return the episodes in flight, each with its turn; 0 before the first."""
    texts = PageTexts()
    return [] if owner is None else [(texts.line(name, 200), turn) for name, turn in read_in_flight(run.path).items()]


def _digest(value: Any) -> str:
    return digest(json.dumps(value, sort_keys=True), 32)


def _stat(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
