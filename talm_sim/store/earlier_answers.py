"""Reuse what a person answered in an earlier attempt of an episode, when the same thing is asked again."""

from __future__ import annotations

import sqlite3
from collections import Counter
from typing import Any

from talm_sim.common.digests import canonical_json
from talm_sim.store.files.stored_documents import read_decision, read_request
from talm_sim.types import Approval, Decision, PersonRequest

USED = -1
"""State of a question that is no longer asked, and whose episode continued with the answer."""
_Filed = tuple[Any, ...]
"""A row of the answers, without its key."""
Earlier = tuple[float | None, _Filed | None]
"""When the same was first asked, and what was answered; None if it was not."""
_FILED = "a.answer, a.decision, a.declined, a.responder, a.name, a.mark, a.answered_at"
_BOTH = "questions q {} JOIN answers a USING (episode_id, attempt, interrupt_id)"


def earlier_answer(conn: sqlite3.Connection, key: tuple[str, int, str], ask: int, question: str) -> Earlier:
    """Return when the question with the same number and text was first asked, and what was answered to it."""
    where = "q.episode_id = ? AND q.attempt < ? AND q.ask = ? AND q.kind = 'question' AND q.question = ?"
    query = f"SELECT q.asked_at, {_FILED} FROM {_BOTH.format('LEFT')} WHERE {where} ORDER BY a.answered_at IS NULL, q.number DESC LIMIT 1"
    found = conn.execute(query, (*key[:2], ask, question)).fetchone()
    return _earlier(*found) if found else (None, None)


def earlier_decision(conn: sqlite3.Connection, key: tuple[str, int, str], request: PersonRequest) -> tuple[PersonRequest, Earlier]:
    """Return the request, when the same, the n-th of its kind in an attempt, was first asked, and what was decided.

    An approval is not given again where the call is not repeatable and its episode continued with the approval, as the call may have run. The
    request that comes back says so.
    """
    episode_id, attempt, interrupt_id = key
    columns = f"q.attempt, q.interrupt_id, q.request, q.current, q.asked_at, {_FILED}"
    where = "q.episode_id = ? AND q.attempt <= ? AND q.kind = ?"
    asked = conn.execute(f"SELECT {columns} FROM {_BOTH.format('LEFT')} WHERE {where} ORDER BY q.number", (episode_id, attempt, request.kind))
    same = _identity(request)
    numbers: Counter[int] = Counter()
    found: dict[tuple[int, int], tuple[int, Earlier]] = {}
    for of, one, text, state, asked_at, *filed in asked.fetchall():
        if (of, one) == (attempt, interrupt_id):
            break
        if (earlier := read_request(request.kind, text, episode_id)) is None or _identity(earlier) != same:
            continue
        numbers[of] += 1
        found[of, numbers[of]] = state, _earlier(asked_at, *filed)
    number = numbers[attempt] + 1
    same_before = [found[of, number] for of in range(attempt - 1, 0, -1) if (of, number) in found]
    for state, (asked_at, answer) in same_before:
        if answer is not None:
            return _give_again(request, read_decision(answer[1], episode_id), state, (asked_at, answer))
    return request, same_before[0][1] if same_before else (None, None)


def _give_again(request: PersonRequest, decision: Decision | None, state: int, earlier: Earlier) -> tuple[PersonRequest, Earlier]:
    if decision is None or not isinstance(request, Approval):
        return request, earlier
    if not request.repeatable and state == USED and decision.action in ("approve", "edit"):
        return request.model_copy(update={"may_have_run": True}), (None, None)
    return request, earlier if decision.action in request.allowed else (None, None)


def _earlier(asked_at: float, *filed: Any) -> Earlier:
    return asked_at, None if filed[0] is None else filed


def _identity(request: PersonRequest) -> str:
    """Return what makes two requests the same: a call's tool and arguments, and all of a form."""
    if isinstance(request, Approval):
        return canonical_json([request.name, request.arguments])
    return canonical_json(request.model_dump(mode="json"))
