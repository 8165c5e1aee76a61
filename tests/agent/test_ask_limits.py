"""Limits of the questions that a person is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from talm_sim.agent.ask_limits import NOBODY_ANSWERED, NOBODY_LEFT, AskLimits, limits_of, reply_of_nobody
from talm_sim.agent.checkpoints import durable_saver
from talm_sim.agent.episode import Waiting, run_episode
from talm_sim.agent.humans import HumanReply
from talm_sim.types import Approval, Decision, Episode, Form
from tests.agent.own.playing import Script
from tests.agent.test_approvals import ANSWER, SCENARIO, Client, agent, calls


def test_questions_beyond_a_limit_are_cut_off_and_the_others_counted() -> None:
    limits = AskLimits(2, 3)
    assert limits.cut_off("a@1", [1, 2, 3], before=0) == {3}
    assert limits.cut_off("a@1", [4], before=2) == {4}
    assert limits.cut_off("b@1", [1, 2], before=0) == {2}
    assert limits.cut_off("c@1", [1], before=0) == {1}
    assert limits.cut_off("b@1", [1], before=0) == set(), "a question that is asked again counts once"
    assert limits.asked == {("a@1", 1), ("a@1", 2), ("b@1", 1)}


def test_a_run_without_limits_has_none_and_one_with_recorded_answers_neither() -> None:
    assert limits_of("terminal", None, None) is None
    assert limits_of("recorded", 1, 2) is None
    found = limits_of("terminal", None, 0)
    assert found is not None
    assert found.cut_off("a@1", [1], before=0) == {1}


def test_silence_runs_no_call_is_no_yes_and_fills_in_no_form() -> None:
    for other in ("reject", "respond"):
        reply = reply_of_nobody("timeout", Approval(name="send", allowed=("approve", other)))
        assert reply is not None and reply.decision == Decision(action=other, message=NOBODY_ANSWERED)
        assert (reply.declined, reply.responder) == ("timeout", "nobody")
    assert reply_of_nobody("timeout", Approval(name="send", allowed=("approve", "edit"))) is None
    form = reply_of_nobody("timeout", Form(message="How many?"))
    assert form is not None and form.decision == Decision(action="cancel")


def _asking(*questions: str) -> Any:
    return calls(*(("ask_human", {"question": question}) for question in questions))


async def test_questions_that_are_cut_off_keep_their_place_beside_those_that_wait(tmp_path: Path) -> None:
    limits = AskLimits(per_run=2)
    async with durable_saver(tmp_path / "c.db") as saver:
        model = Script(_asking("One?", "Two?", "Three?"))
        waiting = await run_episode(agent(model, Client(), saver=saver, ask_limits=limits), SCENARIO)
    assert isinstance(waiting, Waiting)
    assert [one.question for one in waiting.questions] == ["One?", "Two?"]
    state = json.loads(json.dumps(waiting.state))
    assert len(state["cut_off"]) == 1
    replies = {one.interrupt_id: HumanReply(f"yes to {one.ask}", "terminal") for one in reversed(waiting.questions)}
    async with durable_saver(tmp_path / "c.db") as saver:
        episode = await run_episode(agent(Script(ANSWER), Client(), saver=saver, ask_limits=limits), SCENARIO, resume=replies, state=state)
    assert isinstance(episode, Episode)
    assert [event.answer for event in episode.questions] == ["yes to 1", "yes to 2", NOBODY_LEFT]
