"""A run is killed (SIGKILL, a real process) and goes on; nothing finished is lost, nothing is repeated."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from talm_sim.errors import PrerequisiteError
from talm_sim.runs.batch import run_batch
from talm_sim.store.desk import AnswerStatus, answer
from talm_sim.store.files.store import RunStore
from talm_sim.store.questions import Question
from talm_sim.store.stored_run import load_run
from talm_sim.types import Decision
from tests.runs import scripted
from tests.runs.scripted import ALL_KINDS, ScriptedRunner, new_run
from tests.warm import warm_python

Facts = tuple[str, str]
PATIENCE_S = 100.0
"""Only what hangs takes so long."""
TELLING = "import os, runpy, sys; print(os.getpid(), flush=True); del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"
"""Runs a file and says first in which process: what we start only waits for that."""


def start(run: Path, *, epochs: int = 1, max_episodes: int = 4, delay: float = 0.002) -> subprocess.Popen[str]:
    command = [warm_python(), "-c", TELLING, scripted.__file__, str(run), str(epochs), str(max_episodes), str(delay)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def kill_after(run: Path, lines: int, **options: int) -> list[str]:
    """Run in a child until it has reported `lines` commits, kill it, and return all it reported."""
    child = start(run, **options)
    assert child.stdout is not None
    watchdog = threading.Timer(PATIENCE_S, child.kill)
    watchdog.start()
    try:
        pid = int(child.stdout.readline())
        reported = list(islice(child.stdout, lines + 1))
        os.kill(pid, signal.SIGKILL)
        reported += child.stdout.readlines()
    finally:
        watchdog.cancel()
        child.stdout.close()
        child.wait()
    assert reported[0] == "Owner\n", "the child did not run"
    return [line.strip() for line in reported if line.endswith("\n")]


def facts(run: Path) -> list[Facts]:
    """What a metric could depend on."""
    return sorted((episode.id, episode.answer) for episode in load_run(run).episodes())


def reply_to(question: Question) -> dict[str, Any]:
    """What is answered to an item, by its kind."""
    if question.kind == "question":
        return {"text": f"to {question.episode_id}"}
    action = Decision(action="accept", content={"nights": question.ask}) if question.kind == "form" else Decision(action="approve")
    return {"decision": action, "name": "Ada"}


async def finish(run: Path, *, epochs: int = 1) -> ScriptedRunner:
    runner = ScriptedRunner()
    async with RunStore.open(run) as store:
        await run_batch(store, runner, store.progress(), epochs=epochs)
    for question in load_run(run).pending():
        assert answer(run, question.episode_id, **reply_to(question)) is AnswerStatus.SAVED
    async with RunStore.open(run) as store:
        await run_batch(store, runner, store.progress(), epochs=epochs)
    return runner


@pytest.mark.timeout(300)
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(points=st.lists(st.integers(0, 25), min_size=1, max_size=3))
async def test_any_kills_give_the_same_final_set(points: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        plain = new_run(Path(folder), 20, asks=3, name="plain", epochs=2, kinds=ALL_KINDS)
        await finish(plain, epochs=2)
        run = new_run(Path(folder), 20, asks=3, name="killed", epochs=2, kinds=ALL_KINDS)
        reported: set[str] = set()
        for point in points:
            # No more lines than the child will print: the waiting ones never finish there.
            left = 40 - load_run(run).finished - len(load_run(run).pending())
            lines = kill_after(run, min(point, left), epochs=2)
            finished = [line.split()[1] for line in lines if line.startswith("EpisodeFinished")]
            assert reported.isdisjoint(finished), "a finished episode was repeated"
            reported.update(finished)
            stored = {episode.id for episode in load_run(run).episodes()}
            assert reported <= stored, "a finished episode was lost"
        kept = {episode.id for episode in load_run(run).episodes()}
        runner = await finish(run, epochs=2)
        assert kept.isdisjoint(episode_id for episode_id, _ in runner.calls)
        assert facts(run) == facts(plain)


def test_pending_questions_survive_a_kill(tmp_path: Path) -> None:
    run = new_run(tmp_path, 4, asks=2)
    kill_after(run, 4)
    stored = load_run(run)
    assert {question.episode_id for question in stored.pending()} == {"ask-000", "ask-001"}
    assert stored.owner is None
    assert answer(run, "ask-000", "Oslo") is AnswerStatus.SAVED


async def test_a_living_owner_keeps_others_out_and_gets_answers_from_them(tmp_path: Path) -> None:
    run = new_run(tmp_path, 2, asks=1)
    child = start(run)
    assert child.stdout is not None
    with child.stdout:
        pid = int(child.stdout.readline())
        assert sorted(child.stdout.readline().split()[0] for _ in range(3)) == ["EpisodeFinished", "EpisodeWaiting", "Owner"]
        with pytest.raises(PrerequisiteError, match=f"run 'a-run' is being run by process {pid} on "):
            RunStore.open(run)
        assert answer(run, "ask-000", "Oslo") is AnswerStatus.DELIVERED
        assert child.stdout.readline() == "EpisodeFinished ask-000\n"
        assert child.wait(PATIENCE_S) == 0
    assert load_run(run).owner is None
    assert load_run(run).episode("ask-000").answer == "done Oslo"


def test_ctrl_c_leaves_a_resumable_run(tmp_path: Path) -> None:
    run = new_run(tmp_path, 200, asks=1)  # it waits for the answer: however late Ctrl-C comes, it is not done before
    child = start(run, delay=0.02)
    assert child.stdout is not None
    with child.stdout:
        for _ in range(12):
            child.stdout.readline()
        child.send_signal(signal.SIGINT)
        child.stdout.read()
    assert child.wait(PATIENCE_S) in (1, -signal.SIGINT)
    stored = load_run(run)
    assert stored.owner is None
    assert 9 <= stored.finished < 200
