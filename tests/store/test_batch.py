from __future__ import annotations

import asyncio
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.runs.batch import BatchCounts, run_batch
from talm_sim.runs.events import EpisodeFinished, EpisodeWaiting, RunEvent
from talm_sim.store.desk import Desk
from talm_sim.store.files.store import RunStore
from talm_sim.store.questions import Question, next_open_question
from talm_sim.store.stored_run import load_run
from tests.runs.scripted import ScriptedRunner, new_run


async def batch(run: Path, runner: ScriptedRunner, **options: object) -> BatchCounts:
    async with RunStore.open(run) as store:
        return await run_batch(store, runner, store.progress(), **options)  # type: ignore[arg-type]


async def test_every_scenario_is_run_once_an_epoch_in_order(tmp_path: Path) -> None:
    run, runner = new_run(tmp_path, 3, epochs=2), ScriptedRunner()
    counts = await batch(run, runner, epochs=2, max_episodes=1)
    ids = ["plain-000", "plain-001", "plain-002", "plain-000@2", "plain-001@2", "plain-002@2"]
    assert runner.calls == [(episode_id, 1) for episode_id in ids]
    assert counts == BatchCounts(total=6, finished=6, waiting=0, terminations={"answered": 6})
    assert [episode.id for episode in load_run(run).episodes()] == ids


async def test_episodes_in_flight_stay_under_the_limit_and_reach_it(tmp_path: Path) -> None:
    runner = ScriptedRunner(delay=0.01)
    await batch(new_run(tmp_path, 20), runner, max_episodes=4)
    assert runner.most_at_once == 4


async def test_an_episode_is_reported_only_after_its_commit(tmp_path: Path) -> None:
    run, seen = new_run(tmp_path, 30), []

    def check(event: RunEvent) -> None:
        if isinstance(event, EpisodeFinished):
            seen.append(event.episode_id)
            assert event.episode_id in {episode.id for episode in load_run(run).episodes()}
            assert event.finished == len(seen)

    await batch(run, ScriptedRunner(), on_event=check)
    assert len(seen) == 30


async def test_a_waiting_episode_gives_its_slot_away(tmp_path: Path) -> None:
    run, runner = new_run(tmp_path, 4, asks=2), ScriptedRunner()
    events: list[RunEvent] = []
    counts = await batch(run, runner, max_episodes=1, on_event=events.append)
    assert (counts.finished, counts.waiting) == (2, 2)
    assert [e.questions for e in events if isinstance(e, EpisodeWaiting)] == [("What is ask-000, part 1?",), ("What is ask-001, part 1?",)]
    assert [question.query for question in load_run(run).pending()] == ["Query 0?", "Query 1?"]


async def test_a_person_is_asked_one_question_at_a_time_in_order_while_others_go_on(tmp_path: Path) -> None:
    run, runner = new_run(tmp_path, 6, asks=3), ScriptedRunner(delay=0.005, questions=2)
    asked: list[str] = []
    busy = False
    waiting = 0

    def count(event: RunEvent) -> None:
        nonlocal waiting
        waiting += isinstance(event, EpisodeWaiting)

    async def ask(question: Question, desk: Desk) -> None:
        nonlocal busy
        assert not busy, "two questions at once"
        busy = True
        while waiting < 3 or len(runner.calls) < 6:  # the person takes longer than any machine
            await asyncio.sleep(0.01)
        asked.append(question.question)
        assert question.progress[0]["text"] == "I ask."
        await asyncio.sleep(0)
        busy = False
        desk.answer(question.key, f"answer {len(asked)}")

    counts = await batch(run, runner, max_episodes=6, ask=ask, on_event=count)
    assert (counts.finished, counts.waiting) == (6, 0)
    assert sorted(asked[:3]) == [f"What is ask-00{n}, part 1?" for n in range(3)]
    assert sorted(asked[3:]) == [f"What is ask-00{n}, part 2?" for n in range(3)]
    # The plain ones did not wait for the person.
    assert [episode_id for episode_id, _ in runner.calls[:6]] == [f"ask-00{n}" for n in range(3)] + [f"plain-00{n}" for n in range(3, 6)]
    answers = {episode.id: episode.answer for episode in load_run(run).episodes()}
    first = asked.index("What is ask-000, part 1?") + 1
    second = asked.index("What is ask-000, part 2?") + 1
    assert answers["ask-000"] == f"done answer {first} answer {second}"


async def test_an_answer_held_elsewhere_is_waited_for_with_few_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, looks = new_run(tmp_path, 1, asks=1), 0
    await batch(run, ScriptedRunner())
    monkeypatch.setattr("talm_sim.store.questions.HELD_SECONDS", 0.5)

    def looking(*words: Any) -> Question | None:
        nonlocal looks
        looks += 1
        return next_open_question(*words)

    async def ask(question: Question, desk: Desk) -> None:
        raise AssertionError("it is answered")

    monkeypatch.setattr("talm_sim.runs.batch.next_open_question", looking)
    with closing(Desk(run)) as elsewhere:
        elsewhere.answer("ask-000", "Oslo", held=True)
        counts = await batch(run, ScriptedRunner(), ask=ask)
    assert (counts.finished, counts.waiting) == (1, 0)
    assert 1 <= looks < 20


async def test_a_prerequisite_stops_at_once_and_keeps_what_was_finished(tmp_path: Path) -> None:
    run = new_run(tmp_path, 50)
    failing = ScriptedRunner(delay=0.002, failures={"plain-010": PrerequisiteError("set KEY")})
    with pytest.raises(PrerequisiteError, match="set KEY"):
        await batch(run, failing, max_episodes=2)
    kept = [episode.id for episode in load_run(run).episodes()]
    assert set(kept) >= {f"plain-{n:03}" for n in range(9)}
    assert len(kept) <= 11
    runner = ScriptedRunner()
    await batch(run, runner)
    assert {episode_id for episode_id, _ in runner.calls}.isdisjoint(kept)
    assert ("plain-010", 2) in runner.calls
    assert load_run(run).finished == 50


async def test_a_bug_is_raised_after_the_others_in_flight_are_kept(tmp_path: Path) -> None:
    run, failed = new_run(tmp_path, 20), asyncio.Event()

    class SlowOthers(ScriptedRunner):
        async def __call__(self, scenario, **options):  # type: ignore[no-untyped-def]
            if scenario.id != "plain-001":
                began.append(scenario.id)
                await failed.wait()
                self.delay = 0.05
                return await super().__call__(scenario, **options)
            while len(began) < 3:
                await asyncio.sleep(0)
            try:
                return await super().__call__(scenario, **options)
            finally:
                failed.set()

    began: list[str] = []

    with pytest.raises(ZeroDivisionError):
        await batch(run, SlowOthers(failures={"plain-001": ZeroDivisionError()}), max_episodes=4)
    assert [episode.id for episode in load_run(run).episodes()] == ["plain-000", "plain-002", "plain-003"]


async def test_a_bug_while_asking_is_raised(tmp_path: Path) -> None:
    async def ask(question: Question, desk: Desk) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await batch(new_run(tmp_path, 2, asks=1), ScriptedRunner(), ask=ask)


async def test_what_is_to_be_run_again_keeps_its_row_until_its_attempt_begins(tmp_path: Path) -> None:
    run = new_run(tmp_path, 6)
    async with RunStore.open(run) as store:
        await run_batch(store, ScriptedRunner(), store.progress())
    failing = ScriptedRunner(failures={"plain-002": PrerequisiteError("no key")})
    async with RunStore.open(run) as store:
        with pytest.raises(PrerequisiteError):
            everything = store.progress()
            some = replace(everything, finished=everything.finished - {"plain-001", "plain-002", "plain-003"})
            await run_batch(store, failing, some, max_episodes=1)
    async with RunStore.open(run) as store:
        assert store.progress().finished == {f"plain-00{n}" for n in (0, 1, 3, 4, 5)}
        runner = ScriptedRunner()
        counts = await run_batch(store, runner, store.progress())
    assert failing.calls == [("plain-001", 2), ("plain-002", 2)]
    assert runner.calls == [("plain-002", 3)]
    assert (counts.finished, counts.terminations) == (6, {"answered": 1})
