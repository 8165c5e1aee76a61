"""People answer a run of several workers as they answer any run: before its end, after it, through a callback, or not at all."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import talm_sim
from talm_sim.runs.desk import Desk, answer
from talm_sim.runs.questions import Question
from talm_sim.runs.stored_run import StoredRun, load_run
from talm_sim.types import Approval, Decision, Form, GoldCall, Scenario, Termination, Turn
from tests.runs.recorded_world import make_world
from tests.runs.workers.conftest import NAME
from tests.runs.workers.watched import content, tables, workers_of

FLIGHTS = [f"VN{number}" for number in range(6)]
PATIENCE_S = 100.0
"""Only what hangs takes so long."""


@pytest.fixture
def world(tmp_path: Path) -> dict[str, Any]:
    """Options of 12 episodes in each of which something is missing."""
    more = {"split": "underspecified", "model": "sim/asker", "human": "terminal", "epochs": 3}
    return {**make_world(tmp_path), **more, "tools": "replay", "progress": False}


def town_of(question: Question) -> str:
    return f"I mean {question.episode_id.split('@')[0].removeprefix('towns-').removesuffix('.underspecified')}."


async def tell_town(question: Question, desk: Desk) -> None:
    desk.answer(question.key, town_of(question))


@contextmanager
def answering(path: Path, reply: Callable[[Question], dict[str, Any] | None]) -> Iterator[None]:
    """Answer from another thread, by the file alone, whatever the run at a path asks."""
    over = threading.Event()

    def work() -> None:
        end = time.monotonic() + PATIENCE_S
        while not over.wait(0.05) and time.monotonic() < end:
            for question in load_run(path).pending() if path.is_dir() else ():
                if (found := reply(question)) is not None:
                    answer(path, question.key, **found)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def said(run: StoredRun) -> list[Any]:
    """Return content and tables, but for how long a person took."""
    return [content(run), [{key: one[key] for key in one if not key.startswith("waited")} for one in tables(run)]]


@pytest.fixture
def alone(world: dict[str, Any], tmp_path: Path) -> StoredRun:
    """The same run in one process."""
    return talm_sim.run(**{**world, "run_dir": tmp_path / "alone"}, ask=tell_town)


def test_questions_wait_and_a_resumed_run_continues_with_their_answers(world: dict[str, Any], alone: StoredRun) -> None:
    run = talm_sim.run(**world, workers=2)
    assert (run.finished, run.waiting, len(run.pending())) == (0, 12, 12)
    for question in run.pending()[:7]:
        answer(run.path, question.key, town_of(question))
    run = talm_sim.resume(run, progress=False)
    assert (run.finished, run.waiting) == (7, 5)
    for question in run.pending():
        answer(run.path, question.key, town_of(question))
    done = talm_sim.resume(run, progress=False, workers=3)
    assert {episode.attempt for episode in done.episodes()} == {1}, "they continued where they had paused"
    assert [content(done), said(done)[1]] == said(alone)


def test_a_run_that_waits_continues_with_each_answer(world: dict[str, Any], alone: StoredRun, tmp_path: Path) -> None:
    with answering(tmp_path / "runs" / "waits", lambda question: {"text": town_of(question)}):
        done = talm_sim.run(**world, workers=2, wait=True, run_id="waits")
    assert done.finished == 12
    same = {"responder": "x"}
    events = [[event.model_copy(update=same) for event in episode.human_events] for episode in done.episodes()]
    assert [[one.answer for one in each] for each in events] == [[one.answer for one in episode.human_events] for episode in alone.episodes()]
    assert [episode.answer for episode in done.episodes()] == [episode.answer for episode in alone.episodes()]


def test_one_person_is_asked_one_question_after_the_other(world: dict[str, Any], alone: StoredRun) -> None:
    assert said(talm_sim.run(**world, workers=2, ask=tell_town)) == said(alone)


def test_an_own_agent_that_asks_goes_on_where_it_is_or_starts_again(world: dict[str, Any], tmp_path: Path) -> None:
    world = {**world, "agent": f"{NAME}:asks", "epochs": 1}
    del world["model"]
    alone = talm_sim.run(**{**world, "run_dir": tmp_path / "alone"}, ask=tell_short_town)
    run = talm_sim.run(**world, workers=2, ask=tell_short_town)
    assert said(run) == said(alone) and {episode.attempt for episode in run.episodes()} == {1}
    later = talm_sim.run(**world, workers=2, run_id="later")
    for question in later.pending():
        answer(later.path, question.key, town_of(question).split()[2].strip("."))
    done = talm_sim.resume(later, agent=f"{NAME}:asks", progress=False)
    assert {episode.attempt for episode in done.episodes()} == {2}
    assert [episode.answer for episode in done.episodes()] == [episode.answer for episode in alone.episodes()]


async def tell_short_town(question: Question, desk: Desk) -> None:
    desk.answer(question.key, town_of(question).split()[2].strip("."))


def test_a_limit_of_questions_is_each_episodes(world: dict[str, Any], tmp_path: Path) -> None:
    more: dict[str, Any] = {"ask_limit": 1, "ask": tell_town}
    alone = talm_sim.run(**{**world, "run_dir": tmp_path / "limited"}, **more)
    assert said(talm_sim.run(**world, **more, workers=2)) == said(alone)


def flights(folder: Path) -> dict[str, Any]:
    """Options of episodes whose tool asks for a seat while a call runs."""
    lines = []
    for flight in FLIGHTS:
        call = GoldCall(tool="book", arguments={"flight": flight})
        turn = Turn(messages=({"role": "user", "content": f"Book {flight}."},), gold_calls=(call,))
        lines.append(Scenario(id=flight, group="perfect", turns=(turn,), tools=("book",)).model_dump_json())
    (folder / "flights.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = {"model": "sim/oracle", "human": "terminal", "scenarios": folder / "flights.jsonl", "run_dir": folder / "runs", "progress": False}
    return {**found, "plugin": (NAME,), "tools_from": (f"seats-in-workers:{folder}",), "workers": 2, "run_id": "flights"}


def test_a_tool_that_asks_during_a_call_gets_the_answer(tmp_path: Path) -> None:
    def seat(question: Question) -> dict[str, Any]:
        assert isinstance(question.request, Form)
        return {"decision": Decision(action="accept", content={"seat": f"1{question.episode_id[-1]}"}), "name": "Ada"}

    with answering(tmp_path / "runs" / "flights", seat):
        run = talm_sim.run(**flights(tmp_path), wait=True)
    results = {episode.id: episode.tool_events[0].result for episode in run.episodes()}
    assert results == {flight: f'{{"seat":"1{flight[-1]}"}}' for flight in FLIGHTS}
    assert {(event.name, event.by) for episode in run.episodes() for event in episode.human_events} == {("Ada", "elicitation")}


def test_a_form_that_its_tool_no_longer_waits_for_is_closed(tmp_path: Path) -> None:
    (tmp_path / "patience").write_text("0.4", encoding="utf-8")
    run = talm_sim.run(**flights(tmp_path), wait=True)
    assert run.finished == len(FLIGHTS) and not run.pending()
    for episode in run.episodes():
        (event,) = episode.human_events
        assert (event.responder, event.declined, event.decision) == ("nobody", "timeout", Decision(action="cancel"))
        assert "too late" in episode.tool_events[0].result


def test_what_nobody_answers_in_time_is_closed(tmp_path: Path) -> None:
    run = talm_sim.run(**flights(tmp_path), answer_timeout=0.5)
    assert run.finished == len(FLIGHTS)
    declined = [event.declined for episode in run.episodes() for event in episode.human_events]
    assert declined == ["timeout"] * len(FLIGHTS)


def test_forms_of_a_worker_that_was_killed_are_answered_in_a_new_attempt(tmp_path: Path) -> None:
    """Their episodes wait nowhere any more; each starts again with the answer that was given."""
    killed: list[int] = []

    def seat(question: Question) -> dict[str, Any] | None:
        if len(load_run(tmp_path / "runs" / "flights").pending()) < len(FLIGHTS) and not killed:
            return None
        if not killed:
            killed.append(workers_of()[0])
            os.kill(killed[0], signal.SIGKILL)
            time.sleep(0.5)
        return {"decision": Decision(action="accept", content={"seat": f"1{question.episode_id[-1]}"})}

    with answering(tmp_path / "runs" / "flights", seat):
        run = talm_sim.run(**flights(tmp_path), wait=True)
    attempts = Counter(episode.attempt for episode in run.episodes())
    assert attempts.keys() == {1, 2} and attempts.total() == len(FLIGHTS)
    results = {episode.id: episode.tool_events[0].result for episode in run.episodes()}
    assert results == {flight: f'{{"seat":"1{flight[-1]}"}}' for flight in FLIGHTS}


def test_calls_that_wait_to_be_approved(tmp_path: Path) -> None:
    file = tmp_path / "bank.jsonl"
    lines = []
    for number in range(4):
        arguments = {"iban": "DE89370400440532013000", "amount": number + 10}
        said = {"role": "user", "content": f"To {arguments['iban']} send {arguments['amount']} EUR. What is the reference?"}
        turn = {"messages": [said], "gold_calls": [{"tool": "transfer", "arguments": arguments}]}
        lines.append(json.dumps({"id": f"t{number}", "task": "talm", "group": "perfect", "turns": [turn], "tools": ["transfer"]}))
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")

    async def decide(question: Question, desk: Desk) -> None:
        assert isinstance(question.request, Approval)
        desk.answer(question.key, decision=Decision(action="reject" if question.episode_id == "t1" else "approve"))

    options: dict[str, Any] = {"scenarios": file, "tools_from": (f"python:{NAME}:Bank",), "model": "sim/oracle", "approve": "writing"}
    run = talm_sim.run(**options, human="terminal", run_dir=tmp_path / "runs", progress=False, workers=2, ask=decide)
    called = {episode.id: [event.ok for event in episode.tool_events] for episode in run.episodes()}
    assert [called[f"t{number}"] for number in (0, 2, 3)] == [[True]] * 3 and called["t1"] != [True]
    assert {episode.termination for episode in run.episodes()} == {Termination.ANSWERED}
