"""Calls that wait for the person: a run that is killed makes them again, or goes on with them if they ended with what they ask."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from talm_sim.store.desk import AnswerStatus, answer
from talm_sim.store.stored_run import load_run
from talm_sim.types import Decision, Form, GoldCall, Scenario, Termination, Turn
from tests.runs import asking_work
from tests.runs.asking_work import RUN
from tests.runs.killed import until, working
from tests.tools_env.sources import rounds_mcp

FLIGHTS = [f"VN{number}" for number in range(5)]


def scenario(flight: str) -> Scenario:
    turn = Turn(messages=({"role": "user", "content": f"Book {flight}."},), gold_calls=(GoldCall(name="book", arguments={"flight": flight}),))
    return Scenario(id=flight, group="perfect", turns=(turn,), tools=("book",))


def seat(flight: str) -> Decision:
    return Decision(action="decline") if flight == "VN3" else Decision(action="accept", content={"seat": f"1{flight[-1]}"})


@pytest.mark.timeout(400)
def test_a_form_that_was_answered_is_answered_again_in_the_new_attempt(tmp_path: Path) -> None:
    (tmp_path / "flights.jsonl").write_text("".join(scenario(flight).model_dump_json() + "\n" for flight in FLIGHTS), encoding="utf-8")
    path, calls = tmp_path / "runs" / RUN, tmp_path / "calls.txt"
    with working(asking_work, tmp_path, "begin") as kill:
        until(lambda: path.is_dir() and len(load_run(path).pending()) == len(FLIGHTS))
        first = {question.episode_id: question for question in load_run(path).pending()}
        assert all(isinstance(question.request, Form) for question in first.values())
        assert answer(path, first["VN0"].key, decision=seat("VN0")) is AnswerStatus.DELIVERED
        until(lambda: load_run(path).finished == 1)
        kill()
    for flight in ("VN1", "VN2", "VN3"):
        assert answer(path, first[flight].key, decision=seat(flight)) is AnswerStatus.SAVED
    with working(asking_work, tmp_path, "resume"):
        until(lambda: load_run(path).finished == 4)
        (left,) = load_run(path).pending()
        assert (left.episode_id, left.attempt) == ("VN4", 2)
        assert answer(path, left.key, decision=seat("VN4")) is AnswerStatus.DELIVERED
        until(lambda: load_run(path).finished == 5)
    episodes = {episode.id: episode for episode in load_run(path).episodes()}
    assert {episode.termination for episode in episodes.values()} == {Termination.ANSWERED}
    for flight, episode in episodes.items():
        (event,) = episode.human_events
        assert (event.decision, event.by, event.kind) == (seat(flight), "elicitation", "form")
        assert episode.attempt == (1 if flight == "VN0" else 2)
        assert f'"{(seat(flight).content or {"seat": "decline"})["seat"]}"' in episode.tool_events[0].result
    assert Counter(calls.read_text(encoding="utf-8").split()) == {flight: 1 if flight == "VN0" else 2 for flight in FLIGHTS}


@pytest.mark.timeout(400)
def test_a_call_that_ended_with_forms_goes_on_in_the_same_attempt(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    several, last = ({"inputRequests": {name: rounds_mcp.form(name) for name in names}} for names in ("AB", "C"))
    asks = scenario("s").model_copy(update={"tools": ("ask",)})
    turn = asks.turns[0].model_copy(update={"gold_calls": (GoldCall(name="ask", arguments={"rounds": [several, {}, last]}),)})
    (tmp_path / "flights.jsonl").write_text(asks.model_copy(update={"turns": (turn,)}).model_dump_json() + "\n", encoding="utf-8")
    (tmp_path / "tools").write_text(f"m=mcp:{sys.executable} {rounds_mcp.__file__} {tmp_path / 'log'}", encoding="utf-8")
    path, command = tmp_path / "runs" / RUN, "begin"
    for asked in ("AB", "C"):
        with working(asking_work, tmp_path, command) as kill:
            until(lambda: path.is_dir() and [one.question for one in load_run(path).pending()] == [*asked])  # noqa: B023
            kill()
        command = "resume"
        for one in load_run(path).pending():
            assert answer(path, one.key, decision=Decision(action="accept", content={"seat": one.question})) is AnswerStatus.SAVED
    with working(asking_work, tmp_path, "resume"):
        until(lambda: load_run(path).finished == 1)
    (episode,) = load_run(path).episodes()
    assert (episode.attempt, episode.termination, len(episode.tool_events)) == (1, Termination.ANSWERED, 1)
    assert [event.decision.content for event in episode.human_events if event.decision] == [{"seat": seat} for seat in "ABC"]
    calls = [json.loads(line) for line in (tmp_path / "log").read_text(encoding="utf-8").splitlines()]
    assert [call.get("requestState") for call in calls] == [None, "1|\u00e9 ", "2|\u00e9 ", "3|\u00e9 "]
    assert {name: one["content"]["seat"] for name, one in calls[1]["inputResponses"].items()} == {"A": "A", "B": "B"}
