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
from talm_sim.runs.events import RunEvent, RunStarted
from talm_sim.store.files.store import RunStore
from talm_sim.store.stored_run import load_run
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


async def test_other_episodes_go_on_while_the_prompt_waits(session: Session) -> None:
    finished: list[str] = []

    def typed_after_the_others(event: RunEvent) -> None:
        if type(event).__name__ == "EpisodeFinished":
            finished.append(event.episode_id)  # type: ignore[union-attr]
            if len(finished) == 3:
                session.type("a\nb\nc\n")

    await session.run(ScriptedRunner(), typed_after_the_others)
    assert finished[:3] == ["plain-003", "plain-004", "plain-005"]


async def test_cancelling_the_run_ends_the_prompt_and_keeps_the_questions(session: Session) -> None:
    task = asyncio.create_task(session.run(ScriptedRunner()))
    await until(lambda: "The agent asks you" in session.screen)
    stored = load_run(session.path)
    await until(lambda: (stored.finished, stored.open_items.total()) == (3, 3))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(asyncio.get_running_loop().shutdown_default_executor(), 100)
    assert len(load_run(session.path).pending()) == 3
    assert load_run(session.path).finished == 3


async def test_a_question_on_the_screen_is_closed_when_its_time_is_over(session: Session) -> None:
    counts = await session.run(ScriptedRunner(), answer_timeout=1.5)
    assert counts.waiting == 0
    assert "closed: nobody answered in time (answer_timeout)" in session.screen
    assert "answered elsewhere" not in session.screen
    assert [answers(session)[name] for name in ("ask-000", "ask-001", "ask-002")] == ["done Nobody answered in time."] * 3


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
