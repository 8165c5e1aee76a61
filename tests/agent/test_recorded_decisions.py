"""Decisions that lie beside a recording are given again, each for the request it was made about."""

from __future__ import annotations

import pytest

from talm_sim.agent.humans import RecordedResponder, question_digest
from talm_sim.agent.replies import answer_at_once
from talm_sim.errors import CassetteMissError, PrerequisiteError
from talm_sim.recordings import RecordedAnswer
from talm_sim.types import Approval, Decision, Form, PersonRequest

CALL = Approval(name="pay", arguments={"sum": 1})
FORM = Form(message="Who?", fields={"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})
DECISIONS: tuple[tuple[PersonRequest, Decision], ...] = (
    (CALL, Decision(action="edit", name="pay", arguments={"sum": 2})),
    (CALL, Decision(action="reject", message="Too much.")),
    (CALL, Decision(action="respond", message="Paid.")),
    (FORM, Decision(action="accept", content={"name": "Ada"})),
    (FORM, Decision(action="cancel")),
)


def recorded(ask: int, request: PersonRequest, decision: Decision | None) -> RecordedAnswer:
    text = "yes" if decision is None else decision.text
    made = RecordedAnswer(
        ask=ask,
        question_digest=question_digest(request.text),
        question=request.text,
        answer=text,
        declined="",
        responder="terminal",
        name="Ada",
        decision=decision,
    )
    return RecordedAnswer.model_validate_json(made.model_dump_json())  # as it comes from its file


async def test_each_decision_is_given_again() -> None:
    responder = RecordedResponder("a", [recorded(ask, *one) for ask, one in enumerate(DECISIONS, 1)])
    for ask, (request, decision) in enumerate(DECISIONS, 1):
        reply = await answer_at_once(responder, request.text, request, ask)
        assert (reply.decision, reply.answer, reply.responder, reply.name) == (decision, decision.text, "recorded (terminal)", "Ada")


async def test_what_was_not_decided_then_is_a_miss() -> None:
    responder = RecordedResponder("a", [recorded(1, CALL, DECISIONS[0][1]), recorded(2, CALL, None)])
    other = CALL.model_copy(update={"arguments": {"sum": 3}})
    for ask, request, fault in (
        (3, CALL, "no human answer was recorded for question 3"),
        (1, other, "question 1 is not the recorded one"),
        (2, CALL, "no decision was recorded for request 2"),
    ):
        with pytest.raises(CassetteMissError, match=fault):
            await answer_at_once(responder, request.text, request, ask)


async def test_a_recorded_decision_that_is_allowed_no_longer_is_refused() -> None:
    responder = RecordedResponder("a", [recorded(1, FORM, Decision(action="accept", content={"name": 5}))])
    with pytest.raises(PrerequisiteError, match=r"cannot be taken: name: 5 is not of type 'string'"):
        await answer_at_once(responder, FORM.text, FORM, 1)
