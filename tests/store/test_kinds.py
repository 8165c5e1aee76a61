"""Calls to approve and forms at the desk: what is kept of them, and what another attempt finds."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from talm_sim.agent.asks import PendingQuestion
from talm_sim.agent.episode import Waiting
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.batch import run_batch
from talm_sim.store.desk import AnswerStatus, Desk, answer
from talm_sim.store.files.store import RunStore
from talm_sim.store.questions import Question, kinds_unanswered
from talm_sim.store.stored_run import load_run
from talm_sim.types import Approval, Decision, Form, PersonRequest
from tests.runs.crafting import changed
from tests.runs.scripted import ALL_KINDS, ScriptedRunner, new_run, request_of

APPROVE = Decision(action="approve")


async def waiting_run(directory: Path) -> Path:
    """A run in which a question, a call to approve and a form wait."""
    run = new_run(directory, 3, asks=3, kinds=ALL_KINDS)
    async with RunStore.open(run) as store:
        await run_batch(store, ScriptedRunner(), store.progress())
    return run


async def test_a_question_an_approval_and_a_form_are_answered_each_in_its_way(tmp_path: Path) -> None:
    run = await waiting_run(tmp_path)
    question, call, form = load_run(run).pending()
    assert [one.kind for one in (question, call, form)] == ["question", "approval", "form"]
    assert (question.request, call.question) == (None, 'Allow book(room="call-001", part=1)?')
    scenarios = load_run(run).scenarios()
    assert [one.request for one in (call, form)] == [request_of(one) for one in list(scenarios)[1:]]
    with closing(Desk(run)) as desk:
        assert kinds_unanswered(desk.reading) == {"question": 1, "approval": 1, "form": 1}
        assert desk.answer(question.key, "Oslo", name="Ada") is AnswerStatus.SAVED
        assert desk.answer(call.key, decision=Decision(action="edit", arguments={"room": "5"}), name="Ada") is AnswerStatus.SAVED
        assert desk.answer(form.key, decision=Decision(action="accept", content={"nights": 2})) is AnswerStatus.SAVED
        filed = [desk.answer_to(one.key) for one in (question, call, form)]
        assert [(one and one.name, one and one.decision and one.decision.action) for one in filed] == [
            ("Ada", None),
            ("Ada", "edit"),
            ("", "accept"),
        ]
        assert kinds_unanswered(desk.reading) == {}
    async with RunStore.open(run) as store:
        await run_batch(store, ScriptedRunner(), store.progress())
    assert [one.answer for one in load_run(run).episodes()] == ["done Oslo", 'done edit: book({"room": "5"})', 'done accept: {"nights": 2}']


@pytest.mark.parametrize(
    ("episode", "how", "fault"),
    [
        ("ask-000", {"decision": APPROVE}, "'ask-000' asks a question: answer it with a text, not with a decision."),
        ("call-001", {"text": "yes"}, "'call-001' asks to approve a call of book: give a decision (approve, edit, reject, respond)"),
        ("call-001", {"declined": "idk"}, "'call-001' asks to approve a call of book: give a decision"),
        ("call-001", {"decision": APPROVE, "appropriate": True}, "'call-001' asks to approve a call of book: give a decision"),
        (
            "call-001",
            {"decision": Decision(action="cancel")},
            "'call-001': the decision does not fit: 'cancel' is not allowed here; allowed: approve, edit, reject, respond.",
        ),
        (
            "call-001",
            {"decision": Decision(action="edit", arguments={"a": float("nan")})},
            "'call-001': the decision does not fit: it is not JSON",
        ),
        (
            "call-001",
            {"decision": Decision(action="reject", message="\ud800")},
            "'call-001': the decision does not fit: it contains half of a char",
        ),
        ("form-002", {"text": "2"}, "'form-002' asks to fill in a form: give a decision (accept, decline, cancel)"),
        (
            "form-002",
            {"decision": Decision(action="accept", content={"nights": 0})},
            "'form-002': the decision does not fit: nights: 0 is less than the minimum of 1.",
        ),
    ],
)
async def test_what_does_not_answer_it_is_refused_and_leaves_it_open(tmp_path: Path, episode: str, how: dict[str, Any], fault: str) -> None:
    run = await waiting_run(tmp_path)
    with pytest.raises(PrerequisiteError) as told:
        answer(run, episode, **how)
    assert str(told.value).startswith(fault)
    assert load_run(run).open_items.total() == 3


TOO_MANY = f"[{'0,' * 500_000}0]"
PAY = Approval(name="pay", arguments={"to": "a", "sum": 1}, repeatable=True)
READ = Approval(name="read", repeatable=True)
FORM = Form(message="Who?", fields={"type": "object", "properties": {"name": {"type": "string"}}})


async def put(store: RunStore, attempt: int, *requests: PersonRequest) -> list[Question]:
    """Let the run's episode ask for these; what is open of them."""
    asked = tuple(PendingQuestion(f"i{attempt}-{ask}", ask, one.text, one) for ask, one in enumerate(requests, 1))
    await store.pause(Waiting("ask-000", "ask-000", 1, attempt, asked, (), (), {}))
    return load_run(store.directory).pending()


async def given(store: RunStore, attempt: int) -> list[str]:
    """Let the episode continue with its answers."""
    replies = await store.take_answers("ask-000", attempt)
    return [reply.answer for reply in (replies or {}).values()]


async def test_a_decision_is_kept_by_tool_arguments_and_count(tmp_path: Path) -> None:
    async with RunStore.open(new_run(tmp_path, 1, asks=1)) as store:
        decisions = (APPROVE, Decision(action="reject", message="once is enough"), Decision(action="respond", message="seen"))
        asked: Sequence[Question] = await put(store, 1, PAY, PAY, READ, FORM)
        for one, decision in zip(asked, (*decisions, Decision(action="decline")), strict=True):
            store.desk.answer(one.key, decision=decision, name="Ada")
        # In another order, with the arguments in another, and one more.
        turned = PAY.model_copy(update={"arguments": {"sum": 1, "to": "a"}, "description": "Now with words."})
        left = await put(store, 2, FORM, READ, turned, PAY, PAY)
        assert [one.ask for one in left] == [5], "the third such call was never decided about"
        store.desk.answer(left[0].key, decision=APPROVE)
        assert await given(store, 2) == ["decline", "respond: seen", "approve", "reject: once is enough", "approve"]
        assert [one.ask for one in await put(store, 3, PAY.model_copy(update={"arguments": {"to": "b", "sum": 1}}))] == [1]


async def test_a_count_goes_on_from_stop_to_stop(tmp_path: Path) -> None:
    async with RunStore.open(new_run(tmp_path, 1, asks=1)) as store:
        for number, decision in enumerate((APPROVE, Decision(action="reject")), 1):
            waiting = Waiting("ask-000", "ask-000", 1, 1, (PendingQuestion(f"i{number}", number, PAY.text, PAY),), (), (), {})
            await store.pause(waiting)
            store.desk.answer(("ask-000", 1, f"i{number}"), decision=decision)
            assert await given(store, 1)
        for number, said in enumerate(("approve", "reject"), 1):
            waiting = Waiting("ask-000", "ask-000", 1, 2, (PendingQuestion(f"i{number}", number, PAY.text, PAY),), (), (), {})
            await store.pause(waiting)
            assert await given(store, 2) == [said]


@pytest.mark.parametrize("decision", [APPROVE, Decision(action="edit", arguments={}), Decision(action="reject")])
@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("repeatable", [False, True])
async def test_a_call_that_may_not_be_repeated_and_may_have_run_is_asked_about_again(
    tmp_path: Path, decision: Decision, used: bool, repeatable: bool
) -> None:
    call = PAY.model_copy(update={"repeatable": repeatable})
    async with RunStore.open(new_run(tmp_path, 1, asks=1)) as store:
        store.desk.answer((await put(store, 1, call))[0].key, decision=decision)
        if used:
            assert await given(store, 1)
        await store.forget_waiting("ask-000")
        left = await put(store, 2, call)
        if not (used and not repeatable and decision.action != "reject"):
            assert left == []
            return
        assert [one.request for one in left] == [call.model_copy(update={"may_have_run": True})]
        await store.forget_waiting("ask-000")
        (again,) = await put(store, 3, call)
        assert isinstance(again.request, Approval) and again.request.may_have_run, "nobody answered in between"
        store.desk.answer(again.key, decision=APPROVE)
        await store.forget_waiting("ask-000")
        assert await put(store, 4, call) == [], "the person knew that it may have run, and it has not run since"


async def test_a_decision_that_is_allowed_no_longer_is_not_given(tmp_path: Path) -> None:
    async with RunStore.open(new_run(tmp_path, 1, asks=1)) as store:
        store.desk.answer((await put(store, 1, PAY))[0].key, decision=Decision(action="respond", message="done"))
        assert len(await put(store, 2, PAY.model_copy(update={"allowed": ("approve", "reject")}))) == 1


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("UPDATE questions SET request = '{' WHERE kind = 'approval'", "approval of 'call-001' is damaged"),
        ("UPDATE questions SET kind = 'form' WHERE kind = 'approval'", "form of 'call-001' is damaged: it is a request of kind approval"),
        ("UPDATE questions SET kind = 'question' WHERE kind = 'approval'", "a row of questions holds what its column cannot"),
        ("UPDATE questions SET kind = 'order'", "a row of questions holds what its column cannot"),
        ("UPDATE answers SET decision = '{}'", "decision of 'form-002' is damaged: action: Field required"),
        (
            f"UPDATE questions SET request = replace(request, '1', '{TOO_MANY}') WHERE kind = 'approval'",
            "approval of 'call-001' unpacks to more than",
        ),
    ],
)
async def test_what_a_stranger_wrote_is_one_line(tmp_path: Path, change: str, fault: str) -> None:
    run = await waiting_run(tmp_path)
    answer(run, "form-002", decision=Decision(action="cancel"))
    with changed(run) as conn:
        conn.execute(change)

    async def look() -> None:
        load_run(run).pending()
        async with RunStore.open(run) as store:
            await run_batch(store, ScriptedRunner(), store.progress())

    with pytest.raises(PrerequisiteError, match=fault) as told:
        await look()
    assert "\n" not in str(told.value)
