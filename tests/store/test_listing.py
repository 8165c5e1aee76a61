from __future__ import annotations

from pathlib import Path

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.runs.batch import run_batch
from talm_sim.store.files.store import RunStore
from talm_sim.store.listing import unfinished_run, waiting_run
from tests.runs.scripted import ScriptedRunner, new_run


async def played(directory: Path, name: str, asks: int) -> Path:
    run = new_run(directory, 2, asks=asks, name=name)
    async with RunStore.open(run) as store:
        await run_batch(store, ScriptedRunner(), store.progress())
    return run


async def test_the_only_run_that_waits_need_not_be_named(tmp_path: Path) -> None:
    await played(tmp_path, "done", asks=0)
    waits = await played(tmp_path, "waits", asks=1)
    assert waiting_run(tmp_path).path == unfinished_run(tmp_path) == waits


async def test_a_run_that_somebody_runs_is_not_there_to_resume(tmp_path: Path) -> None:
    waits = await played(tmp_path, "waits", asks=1)
    async with RunStore.open(waits):
        assert waiting_run(tmp_path).path == waits
        with pytest.raises(PrerequisiteError, match=r"no run in .* is unfinished; name a run, or give --run-dir"):
            unfinished_run(tmp_path)


async def test_of_several_each_is_named(tmp_path: Path) -> None:
    for number in range(10):
        await played(tmp_path, f"run-{number}", asks=1)
    with pytest.raises(PrerequisiteError, match=r"10 runs in .* wait for answers: run-9, run-8, .*run-2, and 2 more; name one\.$"):
        waiting_run(tmp_path)
    with pytest.raises(PrerequisiteError, match=r"10 runs in .* are unfinished: run-9"):
        unfinished_run(tmp_path)


def test_of_none_it_is_said(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=r"no run in .* waits for an answer; name a run"):
        waiting_run(tmp_path / "nowhere")
