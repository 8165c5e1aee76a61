"""A run with an agent of the user's own is killed among approvals: no answer is lost, and no approved write is repeated."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from talm_sim.store.desk import answer
from talm_sim.store.questions import Question
from talm_sim.store.stored_run import StoredRun, load_run
from talm_sim.types import Approval, Decision, GoldCall, Scenario, Termination, Turn
from tests.runs import approved_work
from tests.runs.approved_work import RUN
from tests.runs.killed import until, working

FLIGHTS = [f"VN{number}" for number in range(6)]
APPROVE, REJECT = Decision(action="approve"), Decision(action="reject", message="It is paid already.")


def scenario(flight: str) -> Scenario:
    calls = tuple(GoldCall(name=tool, arguments={"flight": flight}) for tool in ("look_up", "pay"))
    turn = Turn(messages=({"role": "user", "content": f"Pay for {flight}."},), gold_calls=calls)
    return Scenario(id=flight, group="perfect", turns=(turn,), tools=("look_up", "pay"))


def paid(folder: Path) -> list[str]:
    file = folder / "paid.txt"
    return file.read_text(encoding="utf-8").split() if file.exists() else []


def decide(run: StoredRun, question: Question, decision: Decision) -> None:
    answer(run.path, question.key, decision=decision, name="Ann")


def call_in(question: Question) -> Approval:
    assert isinstance(question.request, Approval)
    return question.request


@pytest.mark.timeout(400)
def test_no_answer_is_lost_and_no_approved_write_is_repeated(tmp_path: Path) -> None:
    lines = "".join(scenario(flight).model_dump_json() + "\n" for flight in FLIGHTS)
    (tmp_path / "flights.jsonl").write_text(lines, encoding="utf-8")
    (tmp_path / "stall").touch()
    taken, rejected, untaken, unanswered = FLIGHTS[:2], FLIGHTS[2:3], FLIGHTS[3:5], FLIGHTS[5:]
    with working(approved_work, tmp_path, "begin") as kill:
        until(lambda: (tmp_path / "runs" / RUN).is_dir() and len(load_run(tmp_path / "runs" / RUN).pending()) == 2 * len(FLIGHTS))
        run = load_run(tmp_path / "runs" / RUN)
        for question in run.pending():
            call = call_in(question)
            assert call.repeatable is (call.name == "look_up") and not call.may_have_run
            if question.episode_id in (*taken, *rejected):
                decide(run, question, REJECT if call.name == "pay" and question.episode_id in rejected else APPROVE)
        until(lambda: sorted(paid(tmp_path)) == taken and len(load_run(run.path).pending()) == 6)
        time.sleep(0.5)  # the episode of the rejected payment is before its end as well
        kill()
    for question in run.pending():  # nobody runs it: the answers wait
        if question.episode_id in untaken:
            decide(run, question, APPROVE)
    (tmp_path / "stall").unlink()
    with working(approved_work, tmp_path, "resume"):
        until(lambda: {one.episode_id for one in load_run(run.path).pending()} == {*taken, *unanswered})
        until(lambda: sorted(paid(tmp_path)) == sorted([*taken, *untaken]))
        asked = {(one.episode_id, call_in(one).name): one for one in run.pending()}
        assert {*asked} == {(flight, "pay") for flight in taken} | {(flight, name) for flight in unanswered for name in ("look_up", "pay")}
        for (flight, name), question in asked.items():
            again = call_in(question).may_have_run
            assert again is (flight in taken and name == "pay")
            decide(run, question, REJECT if again else APPROVE)
        until(lambda: load_run(run.path).finished == len(FLIGHTS))
    assert Counter(paid(tmp_path)) == Counter(flight for flight in FLIGHTS if flight not in rejected)
    episodes = {episode.id: episode for episode in load_run(run.path).episodes()}
    assert {episode.termination for episode in episodes.values()} == {Termination.ANSWERED}
    for flight, episode in episodes.items():
        decisions = {event.request.name: event.decision for event in episode.human_events if isinstance(event.request, Approval)}
        assert decisions == {"look_up": APPROVE, "pay": REJECT if flight in (*taken, *rejected) else APPROVE}
        assert {event.name for event in episode.human_events} == {"Ann"}
