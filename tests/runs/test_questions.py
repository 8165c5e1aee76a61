from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.runs.batch import run_batch
from talm_sim.runs.load import load_run
from talm_sim.runs.questions import AnswerStatus, answer
from talm_sim.runs.store import RunStore
from tests.runs.scripted import ScriptedRunner, new_run


async def waiting_run(directory: Path, runner: ScriptedRunner | None = None) -> Path:
    run = new_run(directory, 3, asks=2)
    async with RunStore.open(run) as store:
        await run_batch(store, runner or ScriptedRunner())
    return run


async def test_the_first_answer_wins(tmp_path: Path) -> None:
    run = await waiting_run(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda n: answer(run, "ask-001", f"answer {n}"), range(8)))
    assert sorted(statuses) == sorted([AnswerStatus.SAVED, *[AnswerStatus.TAKEN] * 7])
    async with RunStore.open(run) as store:
        await run_batch(store, ScriptedRunner())
    assert load_run(run).episode("ask-001").answer == f"done answer {statuses.index(AnswerStatus.SAVED)}"


async def test_another_process_can_answer(tmp_path: Path) -> None:
    run = await waiting_run(tmp_path)
    code = f"from pathlib import Path; from talm_sim.runs.questions import answer; print(answer(Path({str(run)!r}), 'ask-000', declined='idk'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "saved"
    assert [question.episode_id for question in load_run(run).pending()] == ["ask-001"]


async def test_an_unknown_episode_is_named_with_the_nearest_open_one(tmp_path: Path) -> None:
    run = await waiting_run(tmp_path)
    with pytest.raises(PrerequisiteError, match=r"no open question of episode 'ask-01'\. Did you mean 'ask-001'\?"):
        answer(run, "ask-01", "x")
    with pytest.raises(PrerequisiteError, match="the answer is empty"):
        answer(run, "ask-001", " ")


async def test_an_answer_to_an_earlier_question_is_not_given_to_the_next(tmp_path: Path) -> None:
    run = await waiting_run(tmp_path, ScriptedRunner(questions=2))
    first = next(question for question in load_run(run).pending() if question.episode_id == "ask-000")
    assert answer(run, "ask-000", "one") is AnswerStatus.SAVED
    async with RunStore.open(run) as store:
        await run_batch(store, ScriptedRunner(questions=2))
    second = next(question for question in load_run(run).pending() if question.episode_id == "ask-000")
    assert (second.ask, second.question) == (2, "What is ask-000, part 2?")
    late = answer(run, "ask-000", "late", attempt=first.attempt, interrupt_id=first.interrupt_id)
    assert late is AnswerStatus.TAKEN
    assert second in load_run(run).pending()
