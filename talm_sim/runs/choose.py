"""Which run is meant where none is named: the only one that wants what is done."""

from __future__ import annotations

from pathlib import Path

from talm_sim.errors import PrerequisiteError
from talm_sim.runs.load import RunInfo, StoredRun, list_runs

__all__ = ["unfinished_run", "waiting_run"]

_MOST_NAMED = 8


def waiting_run(run_dir: Path) -> StoredRun:
    """The run in `run_dir` that waits for answers.

    Raises:
        PrerequisiteError: None does, or several do; the message names them.
    """
    return _only([info for info in list_runs(run_dir) if info.waiting], run_dir, "waits for an answer", "wait for answers")


def unfinished_run(run_dir: Path) -> StoredRun:
    """The run in `run_dir` that is not finished and that nobody runs; where all are finished, one whose episodes failed.

    Raises:
        PrerequisiteError: None is, or several are; the message names them.
    """
    idle = [info for info in list_runs(run_dir) if not info.problem and info.owner is None]
    found = [info for info in idle if info.finished < info.total] or [info for info in idle if info.failed]
    return _only(found, run_dir, "is unfinished", "are unfinished")


def _only(found: list[RunInfo], run_dir: Path, one_does: str, several_do: str) -> StoredRun:
    if not found:
        raise PrerequisiteError(f"no run in {run_dir} {one_does}; name a run, or --run-dir.")
    if len(found) > 1:
        named = [info.id for info in reversed(found[-_MOST_NAMED:])]
        more = f" and {len(found) - len(named)} more" if len(found) > len(named) else ""
        raise PrerequisiteError(f"{len(found)} runs in {run_dir} {several_do}: {', '.join(named)}{more}; name one.")
    return StoredRun(found[0].path)
