"""The human queue of a run: questions its episodes wait on, and the answers any process may give. The first answer wins.

The process that runs the run puts questions, and lets an episode go on with its answers; whoever answers sits at a `Desk`. An answer can be
withdrawn until its episode is taken up again. One that is given `held` waits a moment for that, so that whoever gave it can still take it back
while the next question is looked at.

Where a question stands is noted beside it, and the open ones are indexed: how many wait is no matter to whoever answers the next.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.runs.files import records, sealing
from talm_sim.runs.files.database import connect_reader, connect_writer, fold, telling, writing
from talm_sim.runs.files.lease import is_owned
from talm_sim.runs.files.manifest import stamp
from talm_sim.runs.files.rows import put, row, rows
from talm_sim.runs.files.writer import Change
from talm_sim.scenarios.dialogue import request_text, with_answers
from talm_sim.scenarios.missing import what_the_user_knows

if TYPE_CHECKING:
    from talm_sim.agent.episode import Waiting
    from talm_sim.agent.humans import HumanReply
    from talm_sim.types import Scenario

__all__ = [
    "HELD_SECONDS",
    "AnswerStatus",
    "Declined",
    "Desk",
    "Given",
    "Key",
    "Question",
    "answer",
    "asking_episodes",
    "close_questions",
    "near_open",
    "next_unanswered",
    "number_unanswered",
    "put_questions",
    "ready_episodes",
    "replies_to",
    "take_up",
    "unanswered",
]

HELD_SECONDS = 10.0
"""How long a held answer is kept from its episode, unless it is released before."""
Declined = Literal["", "idk", "skip"]
Key = tuple[str, int, str]
"""Episode id, attempt, interrupt id."""
_T = TypeVar("_T")

# Values of `questions.current`; 0: no longer asked. The indexes of the table are about those asked, and about those with an answer.
_ASKED, _TAKEN_UP, _HELD, _ANSWERED = 1, 2, 3, 4
_THIS = "episode_id = ? AND attempt = ? AND interrupt_id = ?"
_NOT_READY = f"""
SELECT 1 FROM questions o LEFT JOIN answers a USING (episode_id, attempt, interrupt_id)
WHERE o.episode_id = q.episode_id AND o.attempt = q.attempt
AND (o.current = {_ASKED} OR (o.current = {_HELD} AND a.answered_at > :given_before))
"""
_READY = f"""
SELECT DISTINCT q.episode_id FROM questions q JOIN waiting w ON w.episode_id = q.episode_id AND w.attempt = q.attempt
WHERE q.current > 1 AND NOT EXISTS ({_NOT_READY})
"""


class AnswerStatus(StrEnum):
    """What became of an answer."""

    DELIVERED = "delivered"
    """Saved; the process that runs the run goes on with it at once."""
    SAVED = "saved"
    """Saved; nobody runs the run: continue it with `talm-sim resume`."""
    TAKEN = "taken"
    """Somebody else answered first; this answer was dropped."""
    GONE = "gone"
    """The episode has ended without it; this answer was dropped."""


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
    """What the user has asked of the agent by then."""
    progress: list[dict[str, Any]]
    """What the agent has done so far: its model turns and events as JSON objects, in order."""
    knows: str | None = ""
    """What the user knows beyond the request, in words; empty where there is nothing, None where the run is a blind one."""

    @property
    def key(self) -> Key:
        """What an answer is filed under."""
        return self.episode_id, self.attempt, self.interrupt_id


@dataclass(frozen=True, slots=True)
class Given:
    """An answer that lies in the queue."""

    key: Key
    text: str
    declined: Declined
    responder: str


def unanswered(conn: sqlite3.Connection, episode: str = "", *, last_first: bool = False, limit: int | None = None) -> list[Question]:
    """The first `limit` questions of one episode or all without an answer, in the order they were asked or the other way round."""
    with closing(_open_keys(conn, episode, last_first=last_first)) as keys:
        return list(islice(_questions(conn, keys), limit))


def next_unanswered(conn: sqlite3.Connection, put_off: Collection[Key] = (), episode: str = "", *, last_first: bool = False) -> Question | None:
    """The first question without an answer, of one episode or all, that is not among those `put_off`; None where there is none."""
    with closing(_open_keys(conn, episode, last_first=last_first)) as keys:
        return next(_questions(conn, (key for key in keys if key not in put_off)), None)


def asking_episodes(conn: sqlite3.Connection) -> list[str]:
    """Ids of the episodes that have an open question, in the order they asked."""
    return list(dict.fromkeys(episode for episode, _, _ in _open_keys(conn)))


def number_unanswered(conn: sqlite3.Connection, episode: str = "", *, episodes: bool = False) -> int:
    """How many questions of one episode or all have no answer; with `episodes`, how many episodes ask them."""
    counted, where = "DISTINCT episode_id" if episodes else "*", " AND episode_id = :id" if episode else ""
    return int(conn.execute(f"SELECT count({counted}) FROM questions WHERE current = 1{where}", {"id": episode}).fetchone()[0])


def near_open(episode: str, waiting: Iterable[str]) -> str:
    """What to say after the name of an episode that asks nothing: which one may be meant of those that wait."""
    return did_you_mean(episode, dict.fromkeys(waiting)) or " This run has no open questions."


def _open_keys(conn: sqlite3.Connection, episode: str = "", *, last_first: bool = False) -> sqlite3.Cursor:
    """Keys of the questions without an answer, of one episode or all, in the order they were asked or the other way round."""
    where, order = " AND episode_id = :id" if episode else "", "DESC" if last_first else "ASC"
    query = f"SELECT episode_id, attempt, interrupt_id FROM questions WHERE current = 1{where} ORDER BY number {order}"
    return conn.execute(query, {"id": episode})


def _questions(conn: sqlite3.Connection, keys: Iterable[Key]) -> Iterator[Question]:
    """Questions by their keys, those that are open; each is read when it is its turn, so the first costs no more in a long queue."""
    blind = records.is_blind(conn)
    for key in keys:
        for *_, ask, text, asked_at in rows(conn, "questions", f"WHERE {_THIS} AND current = {_ASKED}", key):
            # Its episode may have gone on since.
            for _, scenario_id, _, _, waiting in rows(conn, "waiting", "WHERE episode_id = ? AND attempt = ?", key[:2]):
                asked_in = records.scenario(row(conn, "scenarios", "WHERE id = ?", (scenario_id,))[-1], scenario_id)
                knows = None if blind else what_the_user_knows(asked_in)
                done = records.waiting(waiting, key[0]).progress
                yield Question(*key, ask, text, asked_at, asked_in.id, asked_in.group, _asked_by_then(asked_in, done), done, knows)


def _asked_by_then(scenario: Scenario, done: Sequence[dict[str, Any]]) -> str:
    """What the user has asked so far; of several turns also what the agent answered, and nothing of those that are still to come."""
    answers = {one["user_turn"]: str(one.get("text", "")) for one in done if isinstance(one.get("user_turn"), int)}
    return request_text(with_answers(scenario.user_turns[: max(answers, default=0) + 1], answers))


def put_questions(conn: sqlite3.Connection, waiting: Waiting) -> None:
    """Let the questions of an episode that waits be the ones it asks; one that an earlier attempt put and had answered has that answer."""
    close_questions(conn, waiting.episode_id)
    where = (waiting.episode_id, waiting.attempt)
    for question in waiting.questions:
        key = (*where, question.interrupt_id)
        if not put(conn, "questions", *key, question.ask, question.question, time.time(), either="IGNORE"):
            _mark(conn, key, _ASKED)
        before = conn.execute(
            "SELECT a.answer, a.declined, a.responder, a.answered_at"
            " FROM questions q JOIN answers a USING (episode_id, attempt, interrupt_id)"
            " WHERE q.episode_id = ? AND q.attempt < ? AND q.ask = ? AND q.question = ? ORDER BY q.number DESC LIMIT 1",
            (*where, question.ask, question.question),
        ).fetchone()
        if before:
            put(conn, "answers", *key, *before, either="IGNORE")
        if _given(conn, key) is not None:
            _mark(conn, key, _ANSWERED)


def close_questions(conn: sqlite3.Connection, episode_id: str) -> None:
    """Let an episode ask nothing any more."""
    conn.execute("UPDATE questions SET current = 0 WHERE episode_id = ? AND current", (episode_id,))


def ready_episodes(conn: sqlite3.Connection, episode_id: str = "") -> list[str]:
    """Waiting episodes, or this one alone, all of whose questions have an answer that is not held."""
    where = " AND q.episode_id = :id" if episode_id else ""
    values = {"id": episode_id, "given_before": time.time() - HELD_SECONDS}
    return [ready for (ready,) in conn.execute(f"{_READY}{where} ORDER BY q.number", values)]


def take_up(conn: sqlite3.Connection, episode_id: str, attempt: int) -> bool:
    """Let an episode go on with its answers, for good; False where one was just withdrawn."""
    where: dict[str, Any] = {"id": episode_id, "attempt": attempt, "given_before": time.time() - HELD_SECONDS}
    if not conn.execute(f"{_READY} AND q.episode_id = :id AND q.attempt = :attempt", where).fetchone():
        return False
    query = f"UPDATE questions SET current = {_TAKEN_UP} WHERE episode_id = :id AND attempt = :attempt AND current"
    conn.execute(query, where)
    return True


def replies_to(conn: sqlite3.Connection, episode_id: str, attempt: int) -> dict[str, HumanReply]:
    """Answers a waiting episode goes on with, by interrupt id."""
    from talm_sim.agent.humans import HumanReply  # not at the top: whoever only asks or answers need not load the agent

    replies: dict[str, HumanReply] = {}
    asked = rows(conn, "questions", f"WHERE episode_id = ? AND attempt = ? AND current > {_ASKED}", (episode_id, attempt))
    for *key, _, _, asked_at in asked:
        for *_, text, declined, responder, answered_at in rows(conn, "answers", f"WHERE {_THIS}", key):
            # The clock of the day may have been put back in between; nobody answers before the question.
            at = max(asked_at, answered_at)
            replies[key[2]] = HumanReply(answer=text, responder=responder, declined=declined, asked_at=asked_at, answered_at=at)
    return replies


def _given(conn: sqlite3.Connection, key: Key) -> Given | None:
    filed = next(rows(conn, "answers", f"WHERE {_THIS}", key), None)
    return None if filed is None else Given(key, *filed[3:6])


def _mark(conn: sqlite3.Connection, key: Key, state: int, *, was: int | None = None) -> None:
    conn.execute(f"UPDATE questions SET current = ? WHERE {_THIS} AND current = ifnull(?, current)", (state, *key, was))


class Desk:
    """Where questions of a run are answered, by any process, whoever runs it.

    Args:
        path: The run's directory.
        reader: An open connection to read with; by default, the desk opens one.
        commit: Commits a change, and returns when it is in the file; by default, the desk opens a connection for it.
    """

    def __init__(self, path: Path, reader: sqlite3.Connection | None = None, commit: Callable[[Change], None] | None = None) -> None:
        self.path = path
        self._reader = reader
        self._commit = commit or self._commit_here
        self._writer: sqlite3.Connection | None = None
        self._held: Key | None = None
        self._stamp = partial(stamp, path)

    def close(self) -> None:
        """Release the answer that is held, and what was opened; where nobody runs the run, it is left whole in its file."""
        self.release()
        if self._reader is not None:
            self._reader.close()  # first: the last connection that closes folds the log into the file, and one that only reads cannot
            self._reader = None
        if self._writer is not None:
            with closing(self._writer) as conn:
                self._writer = None
                if not is_owned(conn):
                    fold(conn)

    @property
    def reading(self) -> sqlite3.Connection:
        """The queue as it is now, for what only reads it.

        Raises:
            PrerequisiteError: It cannot be read.
        """
        self._reader = self._reader or connect_reader(self.path)
        return self._reader

    def question(self, key: Key) -> Question | None:
        """A question while it has no answer."""
        return next(_questions(self.reading, [key]), None)

    def is_open(self, key: Key) -> bool:
        """Whether an episode still waits for this question's answer."""
        return self.reading.execute(f"SELECT 1 FROM questions WHERE current = 1 AND {_THIS}", key).fetchone() is not None

    def given(self, key: Key) -> Given | None:
        """The answer to a question; None where there is none."""
        return _given(self.reading, key)

    def last_given(self) -> Given | None:
        """The latest answer that can still be withdrawn; None where there is none."""
        query = "SELECT episode_id, attempt, interrupt_id FROM questions q JOIN answers a USING (episode_id, attempt, interrupt_id)"
        key = self.reading.execute(f"{query} WHERE q.current IN ({_HELD}, {_ANSWERED}) ORDER BY a.answered_at DESC LIMIT 1").fetchone()
        return None if key is None else self.given(key)

    def answer(
        self, asked: str | Key, text: str = "", *, declined: Declined = "", responder: str = "queue", held: bool = False
    ) -> AnswerStatus:
        """Answer a question; the answer is in the file when this returns. One that was held until now goes to its episode.

        Args:
            asked: The question's key; or the episode that asks, where it asks but one.
            text: The answer; may be empty where `declined`.
            declined: "idk" (the person does not know), "skip" (does not want to answer), or "".
            responder: Who answers, as the transcript will name them.
            held: Whether its episode is to wait until the next answer is given here, or `release`; at most `HELD_SECONDS`.

        Raises:
            PrerequisiteError: There is no such question, it is not clear which one is meant, the answer is empty, or cannot be written.
        """
        if not text.strip() and not declined:
            raise PrerequisiteError("the answer is empty: write a text, or say that you do not know or want to skip.")
        with telling(self.path):
            key = self._meant(asked)
        if isinstance(key, AnswerStatus):
            self.release()
            return key
        released, self._held = self._held, None

        def file(conn: sqlite3.Connection) -> AnswerStatus:
            if released:
                _mark(conn, released, _ANSWERED, was=_HELD)
            filed = put(conn, "answers", *key, text, declined, responder, time.time(), either="IGNORE")
            _mark(conn, key, _HELD if held else _ANSWERED, was=_ASKED)
            return AnswerStatus.TAKEN if not filed else AnswerStatus.DELIVERED if is_owned(conn) else AnswerStatus.SAVED

        status = self._change([key, *([released] if released else [])], file)
        self._held = key if held and status is not AnswerStatus.TAKEN else None
        return status

    def release(self) -> None:
        """Let the answer that is held, where there is one, go to its episode."""
        key, self._held = self._held, None
        if key is not None:
            self._change([key], lambda conn: _mark(conn, key, _ANSWERED, was=_HELD))

    def withdraw(self, key: Key) -> bool:
        """Take an answer back, so that its question is open again; False where its episode has gone on with it."""
        self._held = None if self._held == key else self._held

        def reopen(conn: sqlite3.Connection) -> bool:
            query = f"UPDATE questions SET current = {_ASKED} WHERE {_THIS} AND current IN ({_HELD}, {_ANSWERED})"
            if not conn.execute(query, key).rowcount:
                return False
            conn.execute(f"DELETE FROM answers WHERE {_THIS}", key)
            return True

        return self._change([key], reopen)

    def _change(self, keys: Sequence[Key], change: Callable[[sqlite3.Connection], _T]) -> _T:
        """Commit a change of some questions; returns what it returned."""
        found: list[_T] = []

        def sealed(conn: sqlite3.Connection) -> None:
            with sealing.kept(conn, keys, self._stamp):
                found.append(change(conn))

        self._commit(sealed)
        return found[0]

    def _commit_here(self, change: Change) -> None:
        self._writer = self._writer or connect_writer(self.path)
        with writing(self._writer, self.path):
            change(self._writer)

    def _meant(self, asked: str | Key) -> Key | AnswerStatus:
        """The question that an answer is filed under; where none waits for it, what becomes of the answer."""
        episode = asked if isinstance(asked, str) else asked[0]
        mine: list[Key] = [key for key in _open_keys(self.reading, episode) if asked in (episode, key)]
        if len(mine) > 1:
            known = ", ".join(interrupt for _, _, interrupt in mine)
            raise PrerequisiteError(f"{self.path}: episode '{episode}' asks {len(mine)} questions; name one of them: {known}.")
        if mine:
            return mine[0]
        where, values = ("episode_id = ?", (asked,)) if isinstance(asked, str) else (_THIS, asked)
        if self.reading.execute(f"SELECT 1 FROM answers WHERE {where}", values).fetchone():
            return AnswerStatus.TAKEN
        if not isinstance(asked, str) and self.reading.execute(f"SELECT 1 FROM questions WHERE {_THIS}", asked).fetchone():
            # Its attempt is over. The next one may ask it again, and will find the answer.
            return AnswerStatus.GONE if self.reading.execute("SELECT 1 FROM episodes WHERE id = ?", (episode,)).fetchone() else asked
        hint = near_open(episode, asking_episodes(self.reading))
        raise PrerequisiteError(f"{self.path}: no open question of episode '{episode}'.{hint}")


def answer(path: Path, asked: str | Key, text: str = "", *, declined: Declined = "", responder: str = "queue") -> AnswerStatus:
    """Answer one open question of the run in directory `path`; the rest as for `Desk.answer`."""
    with closing(Desk(path)) as desk:
        return desk.answer(asked, text, declined=declined, responder=responder)
