from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, ToolMessage

from talm_sim.errors import PrerequisiteError
from talm_sim.models import registry
from talm_sim.models.base import GenerationSettings, Model
from talm_sim.models.request import ModelRequest
from talm_sim.runs.api import resume, run
from talm_sim.runs.plan import build
from talm_sim.runs.runner import Built, open_runner
from talm_sim.store.desk import answer
from talm_sim.store.files.store import RunStore
from talm_sim.store.questions import replies_to
from talm_sim.store.stored_run import StoredRun, load_run
from talm_sim.tasks.shared import Shared
from talm_sim.types import ModelTurn, ToolCall, ToolSpec
from tests.runs.recorded_world import make_world


class TwoQuestions:
    """A model that asks two questions, one after the other, and then answers with what it heard."""

    name = "test/two-questions"

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        if settings.choices:
            return ModelTurn(text="Yes", raw_text="Yes")
        heard = [str(message.content) for message in messages if isinstance(message, ToolMessage)]
        if len(heard) == 2:
            return ModelTurn(text=" and ".join(heard), raw_text="")
        call = ToolCall(id=f"c{len(heard)}", name="ask_human", arguments={"question": f"Question {len(heard) + 1}?"})
        return ModelTurn(tool_calls=(call,), stop="tool_calls")

    async def aclose(self) -> None:
        return


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    def opened(request: ModelRequest) -> Model:
        return TwoQuestions()

    monkeypatch.setattr(registry.PROVIDERS, "_registered", dict(registry.PROVIDERS._registered))
    registry.register_provider("test")(opened)
    yield {
        **make_world(tmp_path),
        "split": "underspecified",
        "model": "test/two-questions",
        "human": "terminal",
        "limit": "1",
        "models": "live",
    }


@asynccontextmanager
async def opened(stored: StoredRun) -> AsyncIterator[tuple[Built, RunStore]]:
    async with Shared() as shared, build(stored.job, list(stored.scenarios()), shared) as built, RunStore.open(stored.path) as store:
        yield built, store


def question_of(stored: StoredRun) -> str:
    (question,) = stored.pending()
    return question.question


def test_killed_after_the_checkpoint_but_before_the_commit(world: dict[str, Any]) -> None:
    """The checkpoint stands at question 2 while the store still knows question 1: nothing is asked twice, no answer goes astray."""
    stored = run(**world)
    answer(stored.path, "towns-oslo.underspecified", "answer 1")

    async def go_on_without_committing() -> None:
        async with opened(stored) as (built, store), open_runner(built, store) as runner:
            (paused,) = store.paused_episodes().values()
            replies = replies_to(store.reader, paused.episode_id, paused.attempt)
            await runner(store.scenarios()[0], epoch=1, attempt=1, resume=replies, state=paused.state)

    asyncio.run(go_on_without_committing())
    assert load_run(stored.path).pending() == []
    stored = resume(stored.path)
    assert question_of(stored) == "Question 2?"
    answer(stored.path, "towns-oslo.underspecified", "answer 2")
    (episode,) = resume(stored.path).episodes()
    assert episode.answer == "answer 1 and answer 2"
    assert [event.answer for event in episode.human_events] == ["answer 1", "answer 2"]


@pytest.mark.parametrize("damage", ["type = 'pickle'", "checkpoint = x'c1'", "checkpoint = x'80'", "type = 'none'"])
def test_an_episode_whose_checkpoint_cannot_be_read_starts_again(world: dict[str, Any], damage: str) -> None:
    stored = run(**world)
    answer(stored.path, "towns-oslo.underspecified", "answer 1")
    with closing(sqlite3.connect(stored.path / "checkpoints.db")) as conn:
        conn.execute(f"UPDATE checkpoints SET {damage}")
        conn.commit()
    stored = resume(stored.path)
    (question,) = stored.pending()
    assert (question.attempt, question.question) == (2, "Question 2?"), "question 1 was answered before"


def test_a_checkpoint_file_that_is_none_is_said_in_one_line(world: dict[str, Any]) -> None:
    stored = run(**world)
    (stored.path / "checkpoints.db").write_bytes(b"no database" * 1000)
    with pytest.raises(PrerequisiteError, match=r"^\S+checkpoints\.db: cannot be read \(file is not a database\); move it away: [^\n]+$"):
        resume(stored.path)
    (stored.path / "checkpoints.db").unlink()
    assert question_of(resume(stored.path)) == "Question 1?"


def test_a_checkpoint_without_a_committed_pause_is_dropped(world: dict[str, Any]) -> None:
    stored = run(**world)

    async def forget_the_pause() -> None:
        async with RunStore.open(stored.path) as store:
            await store.forget_waiting("towns-oslo.underspecified")

    asyncio.run(forget_the_pause())
    stored = resume(stored.path)
    (question,) = stored.pending()
    assert (question.attempt, question.question) == (2, "Question 1?")

    async def threads() -> list[str]:
        async with opened(stored) as (built, store), open_runner(built, store):
            with closing(sqlite3.connect(stored.path / "checkpoints.db")) as conn:
                return [thread for (thread,) in conn.execute("SELECT DISTINCT thread_id FROM checkpoints")]

    assert asyncio.run(threads()) == ["towns-oslo.underspecified#2"]


def test_a_control_plays_scenarios_that_say_nothing_of_what_is_right(world: dict[str, Any]) -> None:
    file = world["scenarios"]
    lines = [{**json.loads(line), "target": None} for line in file.read_text(encoding="utf-8").splitlines()]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    stored = run(**{**world, "model": "sim/oracle"})
    assert stored.finished == stored.total > 0 and not stored.failed
