from __future__ import annotations

import asyncio
import io
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from talm_sim.cli.person.sitting import TerminalResponder
from talm_sim.cli.person.typed_lines import LineReader
from talm_sim.cli.progress.display import Display
from talm_sim.runs.batch import BatchCounts, run_batch
from talm_sim.runs.desk import answer
from talm_sim.runs.events import RunEvent, RunStarted
from talm_sim.runs.files.store import RunStore
from talm_sim.runs.stored_run import load_run
from tests.runs.scripted import ScriptedRunner, new_run


class Screen(Display):
    """Notes when it keeps still."""

    pauses = 0

    @contextmanager
    def paused(self) -> Iterator[None]:
        self.pauses += 1
        yield


@dataclass
class Session:
    """A run with somebody at the terminal, who types into a pipe."""

    path: Path
    total: int
    console: Console = field(default_factory=lambda: Console(file=io.StringIO(), width=80, markup=False))

    def __post_init__(self) -> None:
        self.source, self.sink = os.pipe()
        self.reader = LineReader(self.console, self.source)
        self.display = Screen(self.console)
        self.responder = TerminalResponder(self.display, self.console, lines=self.reader)

    def type(self, text: str) -> None:
        os.write(self.sink, text.encode())

    def hang_up(self) -> None:
        os.close(self.sink)
        self.sink = -1

    @property
    def screen(self) -> str:
        assert isinstance(self.console.file, io.StringIO)
        return self.console.file.getvalue()

    async def run(
        self, runner: ScriptedRunner, on_event: Callable[[RunEvent], None] = lambda event: None, answer_timeout: float | None = None
    ) -> BatchCounts:
        def listen(event: RunEvent) -> None:
            self.display(event)
            on_event(event)

        self.display(RunStarted("a-run", str(self.path), self.total, 0, 0, "sim/scripted", "on this machine", "live", "terminal"))
        async with RunStore.open(self.path) as store:
            return await run_batch(store, runner, store.progress(), on_event=listen, ask=self.responder, answer_timeout=answer_timeout)

    def close(self) -> None:
        self.responder.close()
        os.close(self.source)
        if self.sink >= 0:
            os.close(self.sink)


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("cli.person.sitting._LOOK", "runs.batch._POLL"):
        monkeypatch.setattr(f"talm_sim.{module}_SECONDS", 0.02)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    made = Session(new_run(tmp_path, 6, asks=3), 6)
    yield made
    made.close()


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what will be, however long the machine takes."""
    while not holds():
        await asyncio.sleep(0.01)


def answers(session: Session) -> dict[str, str]:
    return {episode.id: episode.answer for episode in load_run(session.path).episodes()}


async def test_a_person_answers_every_question(session: Session) -> None:
    session.type("one\n\n/skip\n")
    counts = await session.run(ScriptedRunner())
    assert (counts.finished, counts.waiting) == (6, 0)
    given = answers(session)
    assert given["ask-000"] == "done one"
    assert given["ask-001"] == "done Sorry, I don't know."
    assert given["ask-002"] == "done I would rather not answer that."
    assert session.display.pauses == 3


async def test_other_episodes_go_on_while_the_prompt_waits(session: Session) -> None:
    finished: list[str] = []

    def typed_after_the_others(event: RunEvent) -> None:
        if type(event).__name__ == "EpisodeFinished":
            finished.append(event.episode_id)  # type: ignore[union-attr]
            if len(finished) == 3:
                session.type("a\nb\nc\n")

    await session.run(ScriptedRunner(), typed_after_the_others)
    assert finished[:3] == ["plain-003", "plain-004", "plain-005"]


async def test_what_is_put_off_is_asked_once_more_at_the_end(session: Session) -> None:
    session.type("/later\ntwo\nthree\none after all\n")
    counts = await session.run(ScriptedRunner(delay=0.01))
    assert (counts.finished, counts.waiting) == (6, 0)
    assert "postponed: you will be asked again at the end" in session.screen
    assert answers(session)["ask-000"] == "done one after all"


async def test_what_is_put_off_twice_stays_open(session: Session) -> None:
    session.type("/later\ntwo\nthree\n/later\n")
    counts = await session.run(ScriptedRunner(delay=0.01))
    assert (counts.finished, counts.waiting) == (5, 1)
    assert "postponed: the question stays open" in session.screen
    assert [question.episode_id for question in load_run(session.path).pending()] == ["ask-000"]
    assert answers(session)["ask-001"] == "done two"


async def test_the_end_of_input_leaves_the_rest_open(session: Session) -> None:
    session.type("one\n")
    session.hang_up()
    counts = await session.run(ScriptedRunner())
    assert (counts.finished, counts.waiting) == (4, 2)


async def test_an_answer_from_elsewhere_to_a_question_put_off_counts(session: Session) -> None:
    session.type("/later\n")

    async def elsewhere() -> None:
        await until(lambda: "ask-001" in session.screen)
        answer(session.path, "ask-000", "from elsewhere", responder="answer")
        session.type("two\nthree\n")

    counts, _ = await asyncio.gather(session.run(ScriptedRunner()), elsewhere())
    assert counts.waiting == 0
    assert answers(session)["ask-000"] == "done from elsewhere"


async def test_cancelling_the_run_ends_the_prompt_and_keeps_the_questions(session: Session) -> None:
    task = asyncio.create_task(session.run(ScriptedRunner()))
    await until(lambda: "It asks you" in session.screen)
    stored = load_run(session.path)
    await until(lambda: (stored.finished, stored.open_items.total()) == (3, 3))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(asyncio.get_running_loop().shutdown_default_executor(), 100)
    assert len(load_run(session.path).pending()) == 3
    assert load_run(session.path).finished == 3


async def test_an_answer_from_elsewhere_to_the_question_on_the_screen_is_told(session: Session) -> None:
    async def elsewhere() -> None:
        await until(lambda: "ask-000" in session.screen and load_run(session.path).open_items.total() == 3)
        answer(session.path, "ask-000", "from elsewhere", responder="answer")
        await until(lambda: "ask-001" in session.screen)
        session.type("two\nthree\n")

    counts, _ = await asyncio.gather(session.run(ScriptedRunner()), elsewhere())
    assert counts.waiting == 0
    assert "answered elsewhere: from elsewhere" in session.screen
    assert "Question 2 of 3, ask-001" in session.screen
    assert [answers(session)[name] for name in ("ask-000", "ask-001", "ask-002")] == ["done from elsewhere", "done two", "done three"]


async def test_a_question_on_the_screen_is_closed_when_its_time_is_over(session: Session) -> None:
    counts = await session.run(ScriptedRunner(), answer_timeout=1.5)
    assert counts.waiting == 0
    assert "closed: nobody answered in time (answer_timeout)" in session.screen
    assert "answered elsewhere" not in session.screen
    assert [answers(session)[name] for name in ("ask-000", "ask-001", "ask-002")] == ["done Nobody answered in time."] * 3


@pytest.mark.parametrize(("in_front", "cleared"), [(True, 1), (False, 0)])
async def test_keys_typed_after_the_last_question_went_away_do_not_reach_the_shell(
    session: Session, monkeypatch: pytest.MonkeyPatch, in_front: bool, cleared: int
) -> None:
    async def elsewhere() -> None:
        for number in range(3):
            await until(lambda: f"ask-00{number}" in session.screen)  # noqa: B023 - it is called here alone
            answer(session.path, f"ask-00{number}", "from elsewhere", responder="answer")

    await asyncio.gather(session.run(ScriptedRunner()), elsewhere())
    drops: list[bool] = []
    monkeypatch.setattr(session.reader, "clear", lambda: drops.append(True))
    monkeypatch.setattr(
        "talm_sim.cli.person.sitting._in_front", lambda: in_front
    )  # in the background, to touch the terminal would stop the run
    session.responder.close()
    assert len(drops) == cleared


async def test_what_is_done_is_counted(session: Session) -> None:
    session.type("one\n/later\n/later\n/later\n/later\n")
    await session.run(ScriptedRunner())
    assert "1 question answered, 2 still open" in session.screen
    session.responder.close()
    assert session.responder.counts() == "1 question answered, 2 still open"


async def test_an_answer_is_filed_once_through_the_one_connection_that_writes(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    writing: list[str] = []
    filed: list[str] = []
    connect = sqlite3.connect

    def connecting(database: str, **options: Any) -> sqlite3.Connection:
        conn: sqlite3.Connection = connect(database, **options)
        if "mode=rw" in database:
            writing.append(database)
            conn.set_trace_callback(lambda query: filed.append(query) if query.startswith("INSERT") and " answers " in query else None)
        return conn

    monkeypatch.setattr(sqlite3, "connect", connecting)
    session.type("one\ntwo\n/undo\ntwo indeed\nthree\n")
    counts = await session.run(ScriptedRunner(delay=0.01))
    session.responder.close()
    assert (counts.finished, counts.waiting, len(writing)) == (6, 0, 1)
    assert [answers(session)[f"ask-00{n}"] for n in range(3)] == ["done one", "done two indeed", "done three"]
    assert len(filed) == 4, "each answer once; one of them was taken back"
