"""What nobody answered in time: the process that runs the run closes it, so that its episode continues."""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING

from talm_sim.runs.files import stored_documents
from talm_sim.runs.files.sealing import insert_row
from talm_sim.runs.questions import ANSWERED, ASKED, MARKS, Key, mark_question, request_of

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["close_unanswered", "number_put", "overdue"]


def overdue(conn: sqlite3.Connection, seconds: float) -> list[Key]:
    """Return the keys of what has waited for so many seconds, the oldest first."""
    query = f"SELECT episode_id, attempt, interrupt_id FROM questions WHERE current = {ASKED} AND asked_at <= ? ORDER BY number"
    return list(conn.execute(query, (time.time() - seconds,)))


def close_unanswered(conn: sqlite3.Connection, keys: Iterable[Key]) -> int:
    """Within a transaction: answer in nobody's name what still waits, and return how many; a call that can only be allowed keeps waiting."""
    from talm_sim.agent.ask_limits import reply_of_nobody  # not at the top: the agent need not be loaded just to ask or to answer

    closed = 0
    for key in keys:
        reply = reply_of_nobody("timeout", request_of(conn, key))
        if reply is None:
            continue
        decided = "" if reply.decision is None else reply.decision.model_dump_json()
        values = (reply.answer, decided, reply.declined, reply.responder, "", MARKS[None], time.time())
        if insert_row(conn, "answers", *key, *values, either="IGNORE"):
            mark_question(conn, key, ANSWERED, was=ASKED)
            closed += 1
    return closed


def number_put(conn: sqlite3.Connection) -> set[tuple[str, int]]:
    """Return the questions that were put so far, each by its episode and its number there."""
    asked = {(episode, ask) for episode, ask in conn.execute("SELECT episode_id, ask FROM questions WHERE kind = 'question'")}
    for episode in stored_documents.episodes(conn):
        for ask, event in enumerate(episode.human_events, start=1):
            if event.request is None and event.declined != "limit":
                asked.add((episode.id, ask))
    return asked
