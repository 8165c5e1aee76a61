"""The human queue of a run: questions its episodes wait on, and the answers any process may give. The first answer wins."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.runs import records
from talm_sim.runs.database import connect_owner
from talm_sim.runs.lease import owner_of

if TYPE_CHECKING:
    from talm_sim.agent.humans import HumanReply

__all__ = ["AnswerStatus", "Declined", "Key", "Question", "answer", "insert_answer", "ready_episodes", "replies_to", "unanswered"]

Declined = Literal["", "idk", "skip"]
Key = tuple[str, int, str]
"""Episode id, attempt, interrupt id."""

_UNANSWERED = """
SELECT q.episode_id, q.attempt, q.interrupt_id, q.ask, q.question, q.asked_at, w.body, s.id, s.body
FROM questions q
JOIN waiting w ON w.episode_id = q.episode_id AND w.attempt = q.attempt
JOIN scenarios s ON s.id = w.scenario_id
LEFT JOIN answers a ON a.episode_id = q.episode_id AND a.attempt = q.attempt AND a.interrupt_id = q.interrupt_id
WHERE a.answer IS NULL AND q.current
ORDER BY q.number
"""
_READY = """
SELECT w.episode_id FROM waiting w WHERE NOT EXISTS (
    SELECT 1 FROM questions q
    LEFT JOIN answers a ON a.episode_id = q.episode_id AND a.attempt = q.attempt AND a.interrupt_id = q.interrupt_id
    WHERE q.episode_id = w.episode_id AND q.attempt = w.attempt AND q.current AND a.answer IS NULL
)
"""
_REPLIES = """
SELECT q.interrupt_id, a.answer, a.responder, a.declined, q.asked_at, a.answered_at FROM questions q
JOIN answers a ON a.episode_id = q.episode_id AND a.attempt = q.attempt AND a.interrupt_id = q.interrupt_id
WHERE q.episode_id = ? AND q.attempt = ? AND q.current
"""


class AnswerStatus(StrEnum):
    """What became of an answer."""

    DELIVERED = "delivered"
    """Saved; the process that runs the run goes on with it at once."""
    SAVED = "saved"
    """Saved; nobody runs the run: continue it with `talm-sim resume`."""
    TAKEN = "taken"
    """Somebody else answered first; this answer was dropped."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question an episode waits on, and what a person needs to answer it."""

    episode_id: str
    attempt: int
    interrupt_id: str
    ask: int
    """Which question of its episode it is, counted from 1."""
    question: str
    asked_at: float
    """Unix time in seconds."""
    scenario_id: str
    group: str
    query: str
    """What the user asked of the agent."""
    progress: list[dict[str, Any]]
    """What the agent has done so far: its model turns and events as JSON objects, in order."""

    @property
    def key(self) -> Key:
        """What an answer is filed under."""
        return self.episode_id, self.attempt, self.interrupt_id


def unanswered(conn: sqlite3.Connection) -> list[Question]:
    """Questions without an answer, in the order they were asked."""
    found = []
    for episode_id, attempt, interrupt_id, ask, text, asked_at, waiting, scenario_id, scenario in conn.execute(_UNANSWERED):
        asked_in = records.scenario(scenario, scenario_id)
        found.append(
            Question(
                episode_id=episode_id,
                attempt=attempt,
                interrupt_id=interrupt_id,
                ask=ask,
                question=text,
                asked_at=asked_at,
                scenario_id=asked_in.id,
                group=asked_in.group,
                query=asked_in.query,
                progress=records.waiting(waiting, episode_id).progress,
            )
        )
    return found


def ready_episodes(conn: sqlite3.Connection) -> list[str]:
    """Waiting episodes all of whose questions have an answer."""
    return [episode_id for (episode_id,) in conn.execute(_READY)]


def replies_to(conn: sqlite3.Connection, episode_id: str, attempt: int) -> dict[str, HumanReply]:
    """Answers a waiting episode goes on with, by interrupt id."""
    from talm_sim.agent.humans import HumanReply  # not at the top: whoever only asks or answers need not load the agent

    return {
        interrupt_id: HumanReply(answer=text, responder=responder, declined=declined, asked_at=asked_at, answered_at=answered_at)
        for interrupt_id, text, responder, declined, asked_at, answered_at in conn.execute(_REPLIES, (episode_id, attempt))
    }


def insert_answer(conn: sqlite3.Connection, key: Key, text: str, declined: Declined, responder: str) -> bool:
    """File an answer; False when somebody was faster."""
    cursor = conn.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)", (*key, text, declined, responder, time.time()))
    return cursor.rowcount == 1


def answer(
    path: Path,
    episode_id: str,
    text: str = "",
    *,
    declined: Declined = "",
    responder: str = "queue",
    attempt: int | None = None,
    interrupt_id: str | None = None,
) -> AnswerStatus:
    """Answer a pending question of a run, from any process.

    Args:
        path: The run's directory.
        episode_id: The episode that asks.
        text: The answer; may be empty where `declined`.
        declined: "idk" (the person does not know), "skip" (does not want to answer), or "".
        responder: Who answers, as the transcript will name them.
        attempt: The attempt that asks; the current one by default.
        interrupt_id: Which of several questions; needed only where the episode asks more than one.

    Raises:
        PrerequisiteError: There is no such question, it is not clear which one is meant, or the answer is empty.
    """
    if not text.strip() and not declined:
        raise PrerequisiteError("the answer is empty: give a text, or say that you do not know or want to skip.")
    with closing(connect_owner(path)) as conn:
        open_ones = unanswered(conn)
        mine = [q for q in open_ones if q.episode_id == episode_id and attempt in (None, q.attempt) and interrupt_id in (None, q.interrupt_id)]
        if not mine:
            return _not_open(conn, path, (episode_id, attempt, interrupt_id), [q.episode_id for q in open_ones])
        if len(mine) > 1:
            known = ", ".join(q.interrupt_id for q in mine)
            raise PrerequisiteError(f"{path}: episode '{episode_id}' asks {len(mine)} questions; name one of them: {known}.")
        if not insert_answer(conn, mine[0].key, text, declined, responder):
            return AnswerStatus.TAKEN
        owner = owner_of(conn)
        return AnswerStatus.DELIVERED if owner is not None and owner.alive else AnswerStatus.SAVED


def _not_open(conn: sqlite3.Connection, path: Path, key: tuple[str, int | None, str | None], pending: list[str]) -> AnswerStatus:
    query = "SELECT 1 FROM answers WHERE episode_id = ? AND attempt = ifnull(?, attempt) AND interrupt_id = ifnull(?, interrupt_id)"
    if conn.execute(query, key).fetchone():
        return AnswerStatus.TAKEN
    hint = did_you_mean(key[0], dict.fromkeys(pending)) if pending else " No question of this run is open."
    raise PrerequisiteError(f"{path}: no open question of episode '{key[0]}'.{hint}")
