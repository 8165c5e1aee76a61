from __future__ import annotations

from pathlib import Path

import pytest

from talm_sim.agent.asks import answer_at_once
from talm_sim.agent.humans import NOT_ALLOWED, DecidingResponder, HumanReply, RecordedResponder, SimulatedResponder, question_digest
from talm_sim.agent.responders import RESPONDERS, ResponderContext, responder_kind
from talm_sim.errors import CassetteMissError, PrerequisiteError
from talm_sim.recordings import RecordedAnswer
from talm_sim.types import Approval, Decision, Form, Missing, MissingKind, PersonRequest, Scenario, Turn
from tests.offered import bring_along

PARROT = """
from talm_sim.agent.humans import HumanReply, Responder
from talm_sim.agent.responders import ResponderContext, register_responder


@register_responder("parrot", about="Says what it was asked.")
def parrot(context: ResponderContext) -> Responder:
    async def answer(question: str, ask: int) -> HumanReply:
        return HumanReply(f"{context.scenario.id} {context.epoch}/{ask}: {question}", "parrot")

    return answer
"""
SCENARIO = Scenario(
    id="s",
    group="underspecified",
    turns=(Turn(messages=({"role": "user", "content": "How high is the airport?"},)),),
    missing=Missing(kind=MissingKind.ARGUMENT, name="code", value="HAN", removed_text="HAN", human_answer="It is HAN."),
)
CONTEXT = ResponderContext(SCENARIO, 2, {}, list)


def test_the_built_in_ones_are_there_and_none_is_not_one() -> None:
    assert RESPONDERS.names() == ["terminal", "recorded", "simulated", "refusing", "model"]
    kinds = [responder_kind("model:openai/gpt-4o" if name == "model" else name) for name in RESPONDERS.names()]
    assert [kind.waits for kind in kinds] == [True, False, False, False, False]
    assert [kind.name for kind in kinds] == RESPONDERS.names() and all(kind.about for kind in kinds)
    for unnamed in ("model", "model:", "model:gpt-4o"):
        with pytest.raises(PrerequisiteError, match=r"^write model:PROVIDER/NAME, for example model:openai/gpt-4o\.$"):
            responder_kind(unnamed)
    with pytest.raises(PrerequisiteError, match=r"^unknown responder 'simulatd'\. Did you mean 'simulated'\?$"):
        responder_kind("simulatd")


async def test_the_refusing_one_answers_questions_and_allows_nothing() -> None:
    open_responder = responder_kind("refusing").open
    assert open_responder is not None
    person = open_responder(CONTEXT)
    assert isinstance(person, DecidingResponder)
    assert (await person("What is the code?", 1)).answer == "It is HAN."
    requests: list[Approval | Form] = [Approval(name="send"), Approval(name="send", allowed=("approve", "respond")), Form(message="How many?")]
    decisions = [(await person.decide(request, 1)).decision for request in requests]
    assert [decision and (decision.action, decision.message) for decision in decisions] == [
        ("reject", NOT_ALLOWED),
        ("respond", NOT_ALLOWED),
        ("decline", ""),
    ]


def test_an_answer_is_read_only_where_it_is_wanted() -> None:
    def no_recording() -> list[object]:
        raise AssertionError("nobody asked for it")

    simulated = responder_kind("simulated").open
    assert simulated is not None
    assert isinstance(simulated(ResponderContext(SCENARIO, 1, {}, no_recording)), SimulatedResponder)  # type: ignore[arg-type]


@pytest.mark.parametrize("entry", ["", "parrot = parrot", "polly = parrot"])
async def test_a_responder_of_ones_own_is_one_function(entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = entry.partition(" = ")[0] or "parrot"
    with bring_along(monkeypatch, tmp_path, RESPONDERS, PARROT, entry=entry) as load:
        if not entry:
            load()
        assert name in RESPONDERS.names()
        kind = responder_kind(name)
        assert kind.name == name
        assert kind.open is not None
        assert await kind.open(CONTEXT)("Which?", 3) == HumanReply("s 2/3: Which?", "parrot")
        assert RESPONDERS.origin(name) == ("package toy" if entry else "--plugin brought_along")
        assert responder_kind("terminal").open is None
    assert "parrot" not in RESPONDERS


async def test_the_simulated_person_says_of_each_thing_asked_for_what_it_knows_of_it_and_no_more() -> None:
    day = Missing(kind=MissingKind.ARGUMENT, name="date", value="2025-01-06", removed_text="6 January", human_answer="On 6 January 2025.")
    tool = Missing(kind=MissingKind.TOOL, name="find_weather")
    person = SimulatedResponder(SCENARIO.model_copy(update={"missing": (*SCENARIO.missing, day, tool)}), {})
    told = {
        "What is the code?": "It is HAN.",
        "Which date?": "On 6 January 2025.",
        "What is the code, and which date is it?": "It is HAN. On 6 January 2025.",
    }
    assert {question: (await person(question, 1)).answer for question in told} == told
    for question in ("What is the weather?", "What is your name?", "Could you give more details?"):
        assert (await person(question, 1)).declined == "idk"


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
