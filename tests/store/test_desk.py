from __future__ import annotations

import asyncio
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.runs import api
from talm_sim.runs.batch import run_batch
from talm_sim.store.desk import AnswerStatus, Desk, answer
from talm_sim.store.files.database import connect_writer
from talm_sim.store.files.store import RunStore
from talm_sim.store.questions import Key, answered_episodes, next_open_question, number_unanswered
from talm_sim.store.stored_run import load_run
from tests.runs.recorded_world import make_world
from tests.runs.scripted import ScriptedRunner, finished, new_run


async def waiting_run(directory: Path, runner: ScriptedRunner | None = None) -> Path:
    run = new_run(directory, 3, asks=2)
    async with RunStore.open(run) as store:
        await run_batch(store, runner or ScriptedRunner(), store.progress())
    return run


def withdraw(run: Path, key: Key) -> bool:
    with closing(Desk(run)) as desk:
        return desk.withdraw(key)


async def test_the_first_answer_wins(tmp_path: Path) -> None:
    run = await waiting_run(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda n: answer(run, "ask-001", f"answer {n}"), range(8)))
    assert sorted(statuses) == sorted([AnswerStatus.SAVED, *[AnswerStatus.TAKEN] * 7])
    async with RunStore.open(run) as store:
        await run_batch(store, ScriptedRunner(), store.progress())
    assert load_run(run).episode("ask-001").answer == f"done answer {statuses.index(AnswerStatus.SAVED)}"


async def test_an_answer_reads_no_question_but_its_own(tmp_path: Path) -> None:
    run = await waiting_run(tmp_path)
    with closing(connect_writer(run)) as conn:
        conn.execute("UPDATE waiting SET body = x'00' WHERE episode_id = 'ask-001'")
    assert (load_run(run).open_items.total(), load_run(run).waiting) == (2, 2)
    assert answer(run, "ask-000", "x") is AnswerStatus.SAVED
    assert (load_run(run).open_items.total(), load_run(run).waiting) == (1, 1)
    with pytest.raises(PrerequisiteError, match="Did you mean 'ask-001'"):
        answer(run, "ask-01", "x")


async def test_an_answer_to_an_earlier_question_is_not_given_to_the_next(tmp_path: Path) -> None:
    run = await waiting_run(tmp_path, ScriptedRunner(questions=2))
    first = next(question for question in load_run(run).pending() if question.episode_id == "ask-000")
    assert answer(run, "ask-000", "one") is AnswerStatus.SAVED
    async with RunStore.open(run) as store:
        await run_batch(store, ScriptedRunner(questions=2), store.progress())
    second = next(question for question in load_run(run).pending() if question.episode_id == "ask-000")
    assert (second.ask, second.question) == (2, "What is ask-000, part 2?")
    late = answer(run, first.key, "late")
    assert late is AnswerStatus.TAKEN
    assert second in load_run(run).pending()


async def test_an_answer_can_be_withdrawn_until_its_episode_goes_on(tmp_path: Path) -> None:
    run = await waiting_run(tmp_path)
    first, second = load_run(run).pending()
    answer(run, first.episode_id, "wrong")
    answer(run, second.episode_id, "right")
    assert withdraw(run, first.key)
    assert [question.key for question in load_run(run).pending()] == [first.key]
    assert not withdraw(run, first.key)
    assert answer(run, first.episode_id, "better") is AnswerStatus.SAVED
    async with RunStore.open(run) as store:
        await run_batch(store, ScriptedRunner(), store.progress())
    assert not withdraw(run, first.key)
    assert [load_run(run).episode(item.episode_id).answer for item in (first, second)] == ["done better", "done right"]


async def test_an_answer_withdrawn_before_its_episode_was_taken_up_is_asked_for_again(tmp_path: Path) -> None:
    run = await waiting_run(tmp_path)
    question = load_run(run).pending()[0]
    async with RunStore.open(run) as store:
        answer(run, question.episode_id, "one")
        assert answered_episodes(store.reader) == [question.episode_id]
        withdraw(run, question.key)
        assert await store.take_answers(question.episode_id, question.attempt) is None
        answer(run, question.episode_id, "two")
        replies = await store.take_answers(question.episode_id, question.attempt)
    assert replies is not None
    assert [reply.answer for reply in replies.values()] == ["two"]


async def test_a_held_answer_waits_to_be_released_but_not_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = await waiting_run(tmp_path)
    first, second = load_run(run).pending()
    with closing(Desk(run)) as desk, closing(Desk(run)) as other:
        conn = desk.reading
        desk.answer(first.key, "held", held=True)
        assert answered_episodes(conn) == []
        assert other.answer(first.key, "late", held=True) is AnswerStatus.TAKEN
        other.release()
        assert answered_episodes(conn) == [], "only the desk that holds an answer lets it go"
        desk.answer(second.key, "held", held=True)
        assert answered_episodes(conn) == [first.episode_id], "the next answer lets the one before go"
        with monkeypatch.context() as later:
            later.setattr("talm_sim.store.questions.HELD_SECONDS", 0.0)
            assert answered_episodes(conn) == [first.episode_id, second.episode_id]
        assert answered_episodes(conn) == [first.episode_id]
        desk.release()
        assert answered_episodes(conn) == [first.episode_id, second.episode_id]


async def test_the_queue_is_read_one_question_at_a_time(tmp_path: Path) -> None:
    run = await waiting_run(tmp_path)
    first, second = load_run(run).pending()
    with closing(Desk(run)) as desk:
        conn = desk.reading
        assert (next_open_question(conn), next_open_question(conn, {first.key}), number_unanswered(conn)) == (first, second, 2)
        assert next_open_question(conn, {first.key, second.key}) is None
        assert (desk.is_open(first.key), desk.answer_to(first.key), desk.last_withdrawable()) == (True, None, None)
        answer(run, first.episode_id, "one", responder="me")
        assert next_open_question(conn) == second
        found = desk.answer_to(first.key)
        assert found is not None
        assert (desk.is_open(first.key), found.text, found.responder, desk.last_withdrawable()) == (False, "one", "me", found)


async def test_a_batch_waits_for_another_answer_where_one_is_withdrawn_at_the_last_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await waiting_run(tmp_path)
    first, second = load_run(run).pending()
    answer(run, first.episode_id, "slip")
    answer(run, second.episode_id, "two")
    async with RunStore.open(run) as store:
        take_up = store.take_answers
        meddled: list[bool] = []

        async def too_late(episode_id: str, attempt: int) -> object:
            if episode_id == first.episode_id and not meddled:
                meddled.append(withdraw(run, first.key))
                asyncio.get_running_loop().call_later(0.1, answer, run, first.episode_id, "better")
            return await take_up(episode_id, attempt)

        monkeypatch.setattr(store, "take_answers", too_late)
        counts = await asyncio.wait_for(run_batch(store, ScriptedRunner(), store.progress(), wait=True), 100)
    assert (meddled, counts.waiting) == ([True], 0)
    assert load_run(run).episode(first.episode_id).answer == "done better"


@pytest.fixture(scope="module")
def queues(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Runs by the number of episodes that wait in them."""
    directory = tmp_path_factory.mktemp("queues")
    runs = {waiting: new_run(directory, waiting, asks=waiting, name=f"of-{waiting}") for waiting in (20, 400)}

    async def fill(run: Path) -> None:
        async with RunStore.open(run) as store:
            await run_batch(store, ScriptedRunner(), store.progress())

    for run in runs.values():
        asyncio.run(fill(run))
    return runs


def test_answering_costs_the_same_whatever_waits(tmp_path: Path, queues: dict[int, Path]) -> None:
    steps: dict[int, int] = {}
    for waiting, filled in queues.items():
        run = shutil.copytree(filled, tmp_path / filled.name)
        with closing(Desk(run)) as desk:
            for _ in range(waiting // 2):  # those that have an answer are no burden either
                question = next_open_question(desk.reading)
                assert question is not None
                desk.answer(question.key, "x")
            steps[waiting] = _steps_of_an_answer(desk)
    assert steps[400] < 1.2 * steps[20] + 10, steps


def _steps_of_an_answer(desk: Desk) -> int:
    """Instructions of SQLite's machine, in hundreds, that an answer takes, and counting what is open."""
    steps = 0

    def tick() -> None:
        nonlocal steps
        steps += 1

    question = next_open_question(desk.reading)
    assert question is not None and desk._writer is not None
    for conn in (desk.reading, desk._writer):
        conn.set_progress_handler(tick, 100)
    for _ in range(5):
        question = next_open_question(desk.reading, {question.key})
        assert question is not None
        desk.answer(question.key, "x", held=True)
        assert not desk.is_open(question.key)
    return steps


async def test_an_answer_to_an_attempt_that_is_over_goes_to_the_next_or_is_dropped(tmp_path: Path) -> None:
    run = await waiting_run(tmp_path)
    first, second = load_run(run).pending()
    async with RunStore.open(run) as store:
        await store.forget_waiting(first.episode_id)
        assert not store.desk.is_open(first.key)
        assert store.desk.answer(first.key, "for the next") is AnswerStatus.DELIVERED
        await run_batch(store, ScriptedRunner(), store.progress())
        answer(run, second.key, "here")
        await run_batch(store, ScriptedRunner(), store.progress())
        assert load_run(run).episode(first.episode_id).answer == "done for the next"
        assert load_run(run).episode(first.episode_id).attempt == 2
    run = await waiting_run(tmp_path / "other")
    async with RunStore.open(run) as store:
        await store.finish(finished(store.scenarios()[0], attempt=1), 0)
        assert store.desk.answer(first.key, "too late") is AnswerStatus.GONE
        assert store.desk.answer_to(first.key) is None


async def test_nothing_is_filed_through_a_store_that_gave_its_run_back(tmp_path: Path) -> None:
    run = await waiting_run(tmp_path)
    first, _ = load_run(run).pending()
    async with RunStore.open(run) as store:
        store.desk.answer(first.key, "held", held=True)
        assert answered_episodes(store.reader) == []
    with closing(Desk(run)) as desk:
        assert answered_episodes(desk.reading) == [first.episode_id], "whoever gives the run back holds no answer"
    with pytest.raises(PrerequisiteError, match="is no longer run by this process"):
        store._writer.commit_now(lambda conn: None)


def test_a_mark_is_kept_with_the_answer_and_in_the_episode(tmp_path: Path) -> None:
    world = make_world(tmp_path) | {"split": "underspecified", "model": "sim/asker", "human": "terminal"}
    stored = api.run(**world)
    first, second, third, _ = stored.pending()
    with closing(Desk(stored.path)) as desk:
        desk.answer(first.key, "oslo", appropriate=True)
        desk.answer(second.key, "", declined="idk", appropriate=False)
        assert desk.withdraw(second.key) and desk.answer_to(second.key) is None
        desk.answer(second.key, "rome", appropriate=False)
        desk.answer(third.key, "lima")
        kept = [desk.answer_to(one.key) for one in (first, second, third)]
        assert [one and one.appropriate for one in kept] == [True, False, None]
    stored = api.resume(stored.path)
    assert [event.appropriate for episode in stored.episodes() for event in episode.human_events] == [True, False, None]
    (summary,) = stored.summary()
    found = {one.name: (one.k, one.n) for one in summary.measures}
    assert (found["appropriate"], found["rule_agrees"]) == ((1, 2), (1, 2))
