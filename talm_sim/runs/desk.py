"""The human queue of a run: questions its episodes wait on, and the answers any process may give. The first answer wins.

An answer can be withdrawn until its episode is taken up again. One that is given `held` waits a moment for that, so that whoever gave it can
still take it back while the next question is looked at.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.runs import records, sealing
from talm_sim.runs.database import connect_writer, fold
from talm_sim.runs.lease import owner_of
from talm_sim.runs.manifest import stamp
from talm_sim.runs.rows import put, row, rows
from talm_sim.scenarios.missing import what_the_user_knows

if TYPE_CHECKING:
    from talm_sim.agent.humans import HumanReply

__all__ = [
    "BLIND",
    "HELD_SECONDS",
    "AnswerStatus",
    "Declined",
    "Given",
    "Key",
    "Question",
    "answer",
    "any_given",
    "given",
    "insert_answer",
    "is_blind",
    "is_open",
    "last_given",
    "near_open",
    "next_unanswered",
    "number_unanswered",
    "open_question",
    "ready_episodes",
    "release",
    "replies_to",
    "take_up",
    "unanswered",
    "withdraw",
]

BLIND = "blind"
"""Key of the small fact about a run that says so; see `is_blind`."""
HELD_SECONDS = 10.0
"""How long a held answer is kept from its episode, unless it is released before."""
Declined = Literal["", "idk", "skip"]
Key = tuple[str, int, str]
"""Episode id, attempt, interrupt id."""

# Values of `questions.current`.
_ASKED, _TAKEN_UP, _HELD = 1, 2, 3
_OPEN = """
FROM questions q
JOIN waiting w ON w.episode_id = q.episode_id AND w.attempt = q.attempt
LEFT JOIN answers a ON a.episode_id = q.episode_id AND a.attempt = q.attempt AND a.interrupt_id = q.interrupt_id
WHERE a.answer IS NULL AND q.current
"""
_OF_EPISODE = " AND q.episode_id = ifnull(nullif(?, ''), q.episode_id)"
_BY_KEY = " AND q.episode_id = ? AND q.attempt = ? AND q.interrupt_id = ?"
_NOT_READY = f"""
SELECT 1 FROM questions q
LEFT JOIN answers a ON a.episode_id = q.episode_id AND a.attempt = q.attempt AND a.interrupt_id = q.interrupt_id
WHERE q.episode_id = w.episode_id AND q.attempt = w.attempt AND q.current
AND (a.answer IS NULL OR (q.current = {_HELD} AND a.answered_at > :given_before))
"""
_READY = f"SELECT w.episode_id FROM waiting w WHERE NOT EXISTS ({_NOT_READY})"
_WITHDRAWABLE = f"""
FROM answers a
JOIN questions q ON q.episode_id = a.episode_id AND q.attempt = a.attempt AND q.interrupt_id = a.interrupt_id
JOIN waiting w ON w.episode_id = q.episode_id AND w.attempt = q.attempt
WHERE q.current IN ({_ASKED}, {_HELD})
"""
_CURRENT = "WHERE episode_id = ? AND attempt = ? AND current"
_OF_KEY = "WHERE episode_id = ? AND attempt = ? AND interrupt_id = ?"


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


def unanswered(conn: sqlite3.Connection) -> list[Question]:
    """Questions without an answer, in the order they were asked."""
    return list(_unanswered(conn, _OF_EPISODE, ("",)))


def next_unanswered(conn: sqlite3.Connection, put_off: Collection[Key] = (), episode: str = "") -> Question | None:
    """The first question without an answer, of one episode or all, that is not among those `put_off`; None where there is none."""
    with closing(_unanswered(conn, _OF_EPISODE, (episode,), put_off)) as found:
        return next(found, None)


def open_question(conn: sqlite3.Connection, key: Key) -> Question | None:
    """A question while it has no answer."""
    with closing(_unanswered(conn, _BY_KEY, key)) as found:
        return next(found, None)


def number_unanswered(conn: sqlite3.Connection, episode: str = "", *, episodes: bool = False) -> int:
    """How many questions of one episode or all have no answer; with `episodes`, how many episodes ask them."""
    counted = "DISTINCT q.episode_id" if episodes else "*"
    return int(conn.execute(f"SELECT count({counted}) {_OPEN} {_OF_EPISODE}", (episode,)).fetchone()[0])


def is_open(conn: sqlite3.Connection, key: Key) -> bool:
    """Whether an episode still waits for this question's answer."""
    return conn.execute(f"SELECT 1 {_OPEN} {_BY_KEY}", key).fetchone() is not None


def given(conn: sqlite3.Connection, key: Key) -> Given | None:
    """The answer to a question; None where there is none."""
    row = next(rows(conn, "answers", _OF_KEY, key), None)
    return None if row is None else Given(key, *row[3:6])


def last_given(conn: sqlite3.Connection) -> Given | None:
    """The latest answer that can still be withdrawn; None where there is none."""
    query = f"SELECT a.episode_id, a.attempt, a.interrupt_id {_WITHDRAWABLE} ORDER BY a.answered_at DESC LIMIT 1"
    key = conn.execute(query).fetchone()
    return None if key is None else given(conn, key)


def any_given(conn: sqlite3.Connection) -> bool:
    """Whether any question has an answer, be it one that cannot be withdrawn any more."""
    return conn.execute("SELECT 1 FROM answers LIMIT 1").fetchone() is not None


def _unanswered(
    conn: sqlite3.Connection, where: str, values: tuple[str | int, ...], without: Collection[Key] = ()
) -> Generator[Question, None, None]:
    """Open questions in the order they were asked; each is read when it is its turn, so the first costs no more in a long queue."""
    blind = is_blind(conn)
    for key in conn.execute(f"SELECT q.episode_id, q.attempt, q.interrupt_id {_OPEN} {where} ORDER BY q.number", values):
        if key in without:
            continue
        episode_id, attempt, interrupt_id, ask, text, asked_at = row(conn, "questions", _OF_KEY, key)
        _, scenario_id, _, _, waiting = row(conn, "waiting", "WHERE episode_id = ?", (episode_id,))
        *_, scenario = row(conn, "scenarios", "WHERE id = ?", (scenario_id,))
        asked_in = records.scenario(scenario, scenario_id)
        yield Question(
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
            knows=None if blind else what_the_user_knows(asked_in),
        )


def is_blind(conn: sqlite3.Connection) -> bool:
    """Whether nobody who answers a question of the run is shown what the user knows: once a session was blind, all later ones are."""
    return records.meta(conn, BLIND, bool) or False


def ready_episodes(conn: sqlite3.Connection, episode_id: str = "") -> list[str]:
    """Waiting episodes, or this one alone, all of whose questions have an answer that is not held."""
    query = f"{_READY} AND w.episode_id = :id" if episode_id else _READY
    return [ready for (ready,) in conn.execute(query, {"id": episode_id, "given_before": time.time() - HELD_SECONDS})]


def take_up(conn: sqlite3.Connection, episode_id: str, attempt: int) -> bool:
    """Within a transaction: let an episode go on with its answers, for good; False where one was just withdrawn."""
    where: dict[str, Any] = {"id": episode_id, "attempt": attempt, "given_before": time.time() - HELD_SECONDS}
    if not conn.execute(f"{_READY} AND w.episode_id = :id AND w.attempt = :attempt", where).fetchone():
        return False
    query = f"UPDATE questions SET current = {_TAKEN_UP} WHERE episode_id = :id AND attempt = :attempt AND current"
    conn.execute(query, where)
    return True


def replies_to(conn: sqlite3.Connection, episode_id: str, attempt: int) -> dict[str, HumanReply]:
    """Answers a waiting episode goes on with, by interrupt id."""
    from talm_sim.agent.humans import HumanReply  # not at the top: whoever only asks or answers need not load the agent

    replies: dict[str, HumanReply] = {}
    for key in conn.execute(f"SELECT episode_id, attempt, interrupt_id FROM questions {_CURRENT}", (episode_id, attempt)).fetchall():
        *_, asked_at = row(conn, "questions", _OF_KEY, key)
        for *_, text, declined, responder, answered_at in rows(conn, "answers", _OF_KEY, key):
            # The clock of the day may have been put back in between; nobody answers before the question.
            at = max(asked_at, answered_at)
            replies[key[2]] = HumanReply(answer=text, responder=responder, declined=declined, asked_at=asked_at, answered_at=at)
    return replies


def insert_answer(conn: sqlite3.Connection, key: Key, text: str, declined: Declined, responder: str) -> bool:
    """File an answer; False when somebody was faster."""
    return put(conn, "answers", *key, text, declined, responder, time.time(), either="IGNORE")


def answer(
    path: Path,
    episode_id: str,
    text: str = "",
    *,
    declined: Declined = "",
    responder: str = "queue",
    attempt: int | None = None,
    interrupt_id: str | None = None,
    held: bool = False,
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
        held: Whether its episode is to wait for `release`, at most `HELD_SECONDS`.

    Raises:
        PrerequisiteError: There is no such question, it is not clear which one is meant, or the answer is empty.
    """
    if not text.strip() and not declined:
        raise PrerequisiteError("the answer is empty: give a text, or say that you do not know or want to skip.")
    with _writing(path) as conn:
        mine = [key for key in _open_keys(conn, episode_id) if attempt in (None, key[1]) and interrupt_id in (None, key[2])]
        if not mine:
            return _not_open(conn, path, (episode_id, attempt, interrupt_id))
        if len(mine) > 1:
            known = ", ".join(interrupt for _, _, interrupt in mine)
            raise PrerequisiteError(f"{path}: episode '{episode_id}' asks {len(mine)} questions; name one of them: {known}.")
        with _changing(conn, path, mine[0]):
            mine_it_is = insert_answer(conn, mine[0], text, declined, responder)
            if mine_it_is and held:
                _mark(conn, mine[0], _HELD)
        if not mine_it_is:
            return AnswerStatus.TAKEN
        return AnswerStatus.DELIVERED if _is_owned(conn) else AnswerStatus.SAVED


def near_open(episode: str, waiting: Iterable[str]) -> str:
    """What to say after the name of an episode that asks nothing: which one may be meant of those that wait."""
    return did_you_mean(episode, dict.fromkeys(waiting)) or " No question of this run is open."


def release(path: Path, key: Key) -> None:
    """Let a held answer go to its episode."""
    with _writing(path) as conn, _changing(conn, path, key):
        _mark(conn, key, _ASKED, was=_HELD)


def withdraw(path: Path, key: Key) -> bool:
    """Take an answer back, so that its question is open again; False where its episode has gone on with it."""
    with _writing(path) as conn, _changing(conn, path, key):
        mine = conn.execute(f"SELECT 1 {_WITHDRAWABLE} AND a.episode_id = ? AND a.attempt = ? AND a.interrupt_id = ?", key).fetchone()
        if mine:
            conn.execute(f"DELETE FROM answers {_OF_KEY}", key)
            _mark(conn, key, _ASKED)
        return mine is not None


@contextmanager
def _writing(path: Path) -> Iterator[sqlite3.Connection]:
    """A run's queue, open for writing; where nobody runs the run, it is left whole in its file."""
    with closing(connect_writer(path)) as conn:
        try:
            yield conn
        except sqlite3.DatabaseError as err:
            if type(err) not in (sqlite3.OperationalError, sqlite3.DatabaseError):
                raise  # a bug
            raise PrerequisiteError(f"{path}: cannot be written ({err}); nothing was changed; free space or mend its permissions.") from None
        if not _is_owned(conn):
            fold(conn)


@contextmanager
def _changing(conn: sqlite3.Connection, path: Path, key: Key) -> Iterator[None]:
    """A transaction over the rows of one question. Where nobody runs the run, it leaves it sealed."""
    conn.execute("BEGIN IMMEDIATE")
    try:
        sealed, owned = sealing.is_sealed(conn), _is_owned(conn)
        if not sealed and not owned:  # its owner was killed
            sealing.check_fits(conn, stamp(path), owned=False)
        was = sealing.entry(conn, key)
        yield
        if sealed:
            sealing.renew_over(conn, was, sealing.entry(conn, key))
        elif not owned:
            sealing.seal(conn, stamp(path))
        conn.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            conn.execute("ROLLBACK")
        raise


def _is_owned(conn: sqlite3.Connection) -> bool:
    owner = owner_of(conn)
    return owner is not None and owner.alive


def _mark(conn: sqlite3.Connection, key: Key, state: int, *, was: int | None = None) -> None:
    query = "UPDATE questions SET current = ? WHERE episode_id = ? AND attempt = ? AND interrupt_id = ? AND current = ifnull(?, current)"
    conn.execute(query, (state, *key, was))


def _open_keys(conn: sqlite3.Connection, episode: str = "") -> list[Key]:
    """Keys of the questions without an answer, of one episode or all, in the order they were asked."""
    return [*conn.execute(f"SELECT q.episode_id, q.attempt, q.interrupt_id {_OPEN} {_OF_EPISODE} ORDER BY q.number", (episode,))]


def _not_open(conn: sqlite3.Connection, path: Path, key: tuple[str, int | None, str | None]) -> AnswerStatus:
    query = "SELECT 1 FROM answers WHERE episode_id = ? AND attempt = ifnull(?, attempt) AND interrupt_id = ifnull(?, interrupt_id)"
    if conn.execute(query, key).fetchone():
        return AnswerStatus.TAKEN
    hint = near_open(key[0], (episode for episode, _, _ in _open_keys(conn)))
    raise PrerequisiteError(f"{path}: no open question of episode '{key[0]}'.{hint}")
