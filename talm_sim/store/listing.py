"""List the runs of a directory, one line per run, read without its episodes; find the run that is meant if none is named."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from talm_sim.errors import PrerequisiteError, format_names
from talm_sim.store.files.lease import Owner
from talm_sim.store.files.manifest import run_names
from talm_sim.store.files.parts import MergedShard
from talm_sim.store.kept_shards import kept_runs
from talm_sim.store.stored_run import StoredRun
from talm_sim.types import Measure

__all__ = ["RunInfo", "list_runs", "unfinished_run", "waiting_run"]

_MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class RunInfo:
    """One line of a list of runs."""

    id: str
    path: Path
    created: str
    model: str
    split: str
    human: str
    finished: int
    total: int
    waiting: int
    """How many questions are open."""
    owner: Owner | None
    """The live process that is running it; None if there is none."""
    failed: int = 0
    """How many finished episodes failed; see `StoredRun.failed`."""
    task: str = ""
    agent: str = ""
    """Your agent; empty for the built-in one."""
    adapter: str = ""
    """The folder of the model's adapter; empty without one."""
    perturb: tuple[str, ...] = ()
    """The perturbations of the tools."""
    rate: Measure | None = None
    """The first measure of the run's table over all groups; None if it has not been judged."""
    shards: tuple[MergedShard, ...] = ()
    """The shards that it was merged from."""
    closed: bool = True
    """Whether the run is in use, or was closed properly; see `StoredRun.closed`."""
    problem: str = ""
    """Why the run cannot be read; empty if it can."""

    @property
    def state(self) -> str:
        """The state of the run in words: `done, 288 failed`."""
        if self.problem:
            return f"unreadable: {self.problem}"
        state = "running" if self.owner else "done" if self.finished == self.total else "unfinished"
        failed = f", {self.failed:,} failed" if self.failed else ""
        return state + failed + (f", {self.waiting:,} waiting" if self.waiting else "")


def list_runs(run_dir: Path) -> list[RunInfo]:
    """Return the runs in a directory, oldest first; a damaged one is listed with its problem."""
    return sorted((_info(run_dir / name) for name in run_names(run_dir)), key=lambda info: (info.created, info.id))


def _info(directory: Path) -> RunInfo:
    try:
        run = StoredRun(directory)
        config = run.manifest.config
        with run.at_once():
            return RunInfo(
                id=directory.name,
                path=directory,
                created=run.manifest.created,
                model=config.model,
                adapter=config.model_options.get("lora", ""),
                split=config.split,
                human=str(config.options.get("human", "none")),
                finished=run.finished,
                total=run.total,
                waiting=run.open_items.total(),
                owner=run.owner,
                failed=run.failed,
                task=config.task,
                agent=str(config.options.get("agent") or ""),
                perturb=tuple(map(str, config.options.get("perturb") or ())),
                rate=run.first_measure,
                shards=tuple(run.shards),
                closed=run.closed,
            )
    except PrerequisiteError as err:
        return RunInfo(directory.name, directory, "", "", "", "", 0, 0, 0, None, problem=str(err))


def waiting_run(run_dir: Path) -> StoredRun:
    """Return the run in `run_dir` that waits for answers.

    Raises:
        PrerequisiteError: No run waits, or several do; the message names them.
    """
    found = [info.path for info in list_runs(run_dir) if info.waiting]
    return StoredRun(_require_one(found, run_dir, "waits for an answer", "wait for answers"))


def unfinished_run(run_dir: Path) -> Path:
    """Return the run in `run_dir` that is unfinished and not being run; if all are finished, one with failed episodes.

    Of one that an engine plays, there may be shards only.

    Raises:
        PrerequisiteError: There is no such run, or there are several; the message names them.
    """
    idle = [info for info in list_runs(run_dir) if not info.problem and info.owner is None]
    found = [*kept_runs(run_dir), *(info.path for info in idle if info.finished < info.total)] or [info.path for info in idle if info.failed]
    return _require_one(found, run_dir, "is unfinished", "are unfinished")


def _require_one(found: list[Path], run_dir: Path, one_does: str, several_do: str) -> Path:
    if not found:
        raise PrerequisiteError(f"no run in {run_dir} {one_does}; name a run, or give --run-dir.")
    if len(found) > 1:
        named = format_names([path.name for path in reversed(found)], _MOST_NAMED)
        raise PrerequisiteError(f"{len(found)} runs in {run_dir} {several_do}: {named}; name one.")
    return found[0]
