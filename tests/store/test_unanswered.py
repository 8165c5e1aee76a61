"""What nobody answers in time is closed by the process that runs the run."""

from __future__ import annotations

import asyncio
import time
from contextlib import closing
from pathlib import Path

import pytest

from talm_sim.agent.ask_limits import NOBODY_ANSWERED
from talm_sim.runs.batch import run_batch
from talm_sim.store.desk import AnswerStatus, Desk, answer
from talm_sim.store.files.store import RunStore
from talm_sim.store.questions import FiledAnswer, number_put, open_questions
from tests.runs.scripted import ALL_KINDS, ScriptedRunner, new_run


async def _batch(run: Path, timeout: float | None) -> tuple[int, int]:
    async with RunStore.open(run) as store:
        counts = await run_batch(store, ScriptedRunner(), store.progress(), answer_timeout=timeout)
        return counts.finished, counts.waiting


def _filed(run: Path) -> list[FiledAnswer]:
    """Return the answers of a run in the order of its questions."""
    with closing(Desk(run)) as desk:
        keys = desk.reading.execute("SELECT episode_id, attempt, interrupt_id FROM questions ORDER BY number").fetchall()
        return [answered for key in keys if (answered := desk.answer_to(key)) is not None]


async def test_a_question_is_closed_when_its_time_is_over(tmp_path: Path) -> None:
    run = new_run(tmp_path, 4, asks=3, kinds=ALL_KINDS)
    begun = time.monotonic()
    assert await _batch(run, 0.5) == (4, 0)
    assert 0.5 <= time.monotonic() - begun < 10
    filed = _filed(run)
    assert [(one.declined, one.responder, one.decision and one.decision.action) for one in filed] == [
        ("timeout", "nobody", None),
        ("timeout", "nobody", "reject"),
        ("timeout", "nobody", "cancel"),
    ]
    assert filed[0].text == NOBODY_ANSWERED


async def test_the_time_is_counted_from_when_it_was_put_also_while_nobody_runs_the_run(tmp_path: Path) -> None:
    run = new_run(tmp_path, 2, asks=2)
    assert await _batch(run, None) == (0, 2)
    await asyncio.sleep(0.6)
    with closing(Desk(run)) as desk:
        first = open_questions(desk.reading)[0]
    assert answer(run, first.key, "It is 4.") is AnswerStatus.SAVED, "until somebody closes it, it can be answered"
    begun = time.monotonic()
    assert await _batch(run, 0.6) == (2, 0)
    assert time.monotonic() - begun < 5
    assert [one.declined for one in _filed(run)] == ["", "timeout"]


async def test_nobody_closes_what_is_not_due(tmp_path: Path) -> None:
    run = new_run(tmp_path, 1, asks=1)
    assert await _batch(run, None) == (0, 1)
    async with RunStore.open(run) as store:
        assert await store.close_unanswered(60) == 0
        assert await store.close_unanswered(0) == 1
        assert await store.close_unanswered(0) == 0
        (question,) = store.reader.execute("SELECT current FROM questions").fetchall()
        assert question == (4,)


@pytest.mark.parametrize("asks", [0, 3])
async def test_what_was_put_is_counted_once_whether_it_is_finished_or_waits(tmp_path: Path, asks: int) -> None:
    run = new_run(tmp_path, 4, asks=asks)
    assert await _batch(run, None) == (4 - asks, asks)
    put = {(f"ask-{number:03}", 1) for number in range(asks)}
    async with RunStore.open(run) as store:
        assert number_put(store.reader) == put
    if asks:
        answer(run, "ask-001", "It is 4.")
        await _batch(run, None)
        async with RunStore.open(run) as store:
            assert number_put(store.reader) == put
