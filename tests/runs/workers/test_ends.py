"""A worker dies, or the run does: nothing finished is lost, nothing is repeated, and no process is left."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import talm_sim
from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.events import EpisodeFinished, RunEvent, WorkerReplaced
from talm_sim.runs.stored_run import load_run
from talm_sim.runs.workers.processes import start_early
from tests.runs.killed import until
from tests.runs.recorded_world import make_world
from tests.runs.workers.conftest import NAME
from tests.runs.workers.watched import alive, content, tables, workers_of
from tests.warm import warm_python

PATIENCE_S = 100.0
"""Only what hangs takes so long."""


@pytest.fixture
def world(tmp_path: Path) -> dict[str, Any]:
    """Options of 24 episodes that take a while."""
    slow = {"model_options": {"latency": "0.02"}, "epochs": 3, "max_episodes": 4, "progress": False}
    return {**make_world(tmp_path), **slow, "split": "all", "human": "none", "tools": "replay"}


class Killing:
    """Kills a worker after each of some numbers of finished episodes."""

    def __init__(self, moments: Callable[[int], bool]) -> None:
        self.moments = moments
        self.finished: list[str] = []
        self.replaced: list[str] = []

    def __call__(self, event: RunEvent) -> None:
        if isinstance(event, WorkerReplaced):
            self.replaced.append(event.reason)
        if isinstance(event, EpisodeFinished):
            self.finished.append(event.episode_id)
            for worker in workers_of()[:1] if self.moments(len(self.finished)) else ():
                os.kill(worker, signal.SIGKILL)


@pytest.mark.parametrize("plugin", [(), (NAME,)])
def test_episodes_of_a_worker_that_was_killed_start_again(world: dict[str, Any], plugin: tuple[str, ...]) -> None:
    alone = talm_sim.run(**world)
    killing = Killing(lambda finished: finished in (3, 12))
    run = talm_sim.run(**world, plugin=plugin, workers=2, on_event=killing)
    assert run.finished == run.total == len(killing.finished) == len({*killing.finished}), "none is lost, and none is there twice"
    assert (content(run), tables(run)) == (content(alone), tables(alone))
    again = [episode.id for episode in run.episodes() if episode.attempt > 1]
    # With code of the user's, only workers play, and all are there before the first episode; else the one that was killed may not have begun.
    assert bool(plugin) <= len(again) <= 8, "at most those in flight each time"
    assert killing.replaced == ["killed by SIGKILL"] * 2
    assert workers_of() == []


async def test_a_process_that_died_before_it_was_needed_is_no_error() -> None:
    async with start_early(RunConfig(model="sim/oracle", workers=2)) as early:
        (process,) = early
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
    assert early == [process], "it was left over"


def test_workers_that_die_again_and_again_end_the_run_which_is_kept(world: dict[str, Any], tmp_path: Path) -> None:
    killing = Killing(lambda finished: True)
    with pytest.raises(PrerequisiteError) as caught:
        talm_sim.run(**world, workers=2, on_event=killing, run_id="dying")
    assert str(caught.value) == (
        "4 workers have died; the last one was killed by SIGKILL: find out why, for example whether memory ran out. "
        f"The run is kept; continue with: talm-sim resume {tmp_path / 'runs' / 'dying'}"
    )
    assert workers_of() == []
    left = load_run(tmp_path / "runs" / "dying")
    assert len(killing.finished) <= left.finished < left.total and left.owner is None
    done = talm_sim.resume(left, workers=1, progress=False)
    assert content(done) == content(talm_sim.run(**world))


def test_a_run_waits_for_no_worker(world: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sleeper = tmp_path / "python"
    sleeper.write_text("#!/bin/sh\nwhile :; do sleep 0.1; done\n", encoding="utf-8")
    sleeper.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(sleeper))
    run = talm_sim.run(**world, workers=3)
    assert run.finished == run.total and run.unjudged == 0
    assert workers_of() == []


def test_no_worker_is_left_if_the_run_is_refused(world: dict[str, Any]) -> None:
    with pytest.raises(PrerequisiteError, match="no scenario 'nowhere'"):
        talm_sim.run(**world, workers=2, scenario=("nowhere",))
    assert workers_of() == []


def begin(folder: Path, world: dict[str, Any], *options: str) -> subprocess.Popen[str]:
    words = ["--scenarios", str(world["scenarios"]), "--cassettes", str(world["cassettes"]), "--model", "sim/oracle", "-M", "latency=.05"]
    words += ["--replay", "--human", "none", "--split", "all", "--epochs", "4", "--max-episodes", "4", "--run-id", "r"]
    command = [warm_python(), "-m", "talm_sim", "run", *words, "--workers", "2", *options]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def played(folder: Path) -> tuple[int, list[int]]:
    """Wait until some episodes are finished; return the process that owns the run, and its workers."""
    path = folder / "runs" / "r"
    until(lambda: path.is_dir() and load_run(path).finished >= 3)
    owner = load_run(path).owner
    assert owner is not None
    return owner.pid, workers_of(owner.pid)


@pytest.mark.parametrize("workers", [1, 3])
def test_workers_end_with_a_run_that_is_killed_and_any_number_continues_it(tmp_path: Path, world: dict[str, Any], workers: int) -> None:
    with begin(tmp_path, world) as child:
        owner, workers_then = played(tmp_path)
        assert len(workers_then) == 1, "the run plays as well"
        os.kill(owner, signal.SIGKILL)
        killed = time.monotonic()
        until(lambda: not alive(workers_then))
        assert time.monotonic() - killed < PATIENCE_S / 4
        child.kill()
    stored = load_run(tmp_path / "runs" / "r")
    kept = {episode.id: episode.started_at for episode in stored.episodes()}
    assert 3 <= len(kept) < stored.total
    done = talm_sim.resume(stored, workers=workers, progress=False)
    assert done.finished == done.total and kept.items() <= {episode.id: episode.started_at for episode in done.episodes()}.items()
    alone = talm_sim.run(**{**world, "epochs": 4})
    assert (content(done), tables(done)) == (content(alone), tables(alone))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_interrupted_says_how_to_continue(tmp_path: Path, world: dict[str, Any], number: signal.Signals) -> None:
    with begin(tmp_path, world) as child:
        owner, workers_then = played(tmp_path)
        os.kill(owner, number)
        _, err = child.communicate(timeout=PATIENCE_S)
    stored = load_run(tmp_path / "runs" / "r")
    said = re.search(r"interrupted: (\d+) of 32 episodes finished; everything is kept\.\nContinue with: talm-sim resume r\n", err)
    assert said and 0 < int(said[1]) <= stored.finished, "one may be committed at that moment"
    assert (child.returncode, "Traceback" in err, stored.owner, alive(workers_then)) == (128 + number, False, None, [])


def test_a_worker_that_cannot_end_is_ended_where_nobody_is_left_to_do_it() -> None:
    """It waits for the end of its orders, and a moment more, and needs no loop for it."""
    code = "from talm_sim.runs.workers.__main__ import _end_with; _end_with(0, 0)"
    with subprocess.Popen([warm_python(), "-c", code], stdin=subprocess.PIPE) as child:
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0.3)
        assert child.stdin is not None
        child.stdin.close()
        assert child.wait(PATIENCE_S) == 1
