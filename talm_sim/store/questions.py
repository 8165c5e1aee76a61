"""Keep what a run's episodes wait on as rows of its database: questions, calls to approve and forms; put, read, marked, closed.

The state of a question is noted beside it, and the open ones are indexed: however many wait, the next is found as quickly. What nobody
answered in time is closed by the process that runs the run.
"""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from pydantic import TypeAdapter, ValidationError

from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.language.about_missing import user_knowledge
from talm_sim.scenarios.dialogue import request_text, with_answers
from talm_sim.scenarios.stand_ins import ReplaceableTool, StandIn, find_stand_in
from talm_sim.store.earlier_answers import USED, earlier_answer, earlier_decision
from talm_sim.store.files import stored_documents
from talm_sim.store.files.database import TooLargeError, check_size
from talm_sim.store.files.sealing import insert_row, row, rows
from talm_sim.types import Decision, Declined, Event, ModelTurn, PersonRequest, Scenario, ToolEvent, ToolSpec

if TYPE_CHECKING:
    from talm_sim.agent.episode import Waiting
    from talm_sim.agent.humans import HumanReply

HELD_SECONDS = 10.0
"""Seconds for which a held answer is kept from its episode, unless it is released earlier."""
Kind = Literal["question", "approval", "form"]
Key = tuple[str, int, str]
"""Episode id, attempt, interrupt id."""
MARKS: dict[bool | None, str] = {True: "1", False: "0", None: ""}
"""A person's mark of a question, to how it is stored."""
_MARKS = {stored: mark for mark, stored in MARKS.items()}

# Values of `questions.current`; 0: no longer asked. The indexes of the table are about those asked, and about those with an answer.
ASKED, TAKEN_UP, HELD, ANSWERED = 1, 2, 3, 4
THIS_QUESTION = "episode_id = ? AND attempt = ? AND interrupt_id = ?"
_NOT_READY = f"""
SELECT 1 FROM questions o LEFT JOIN answers a USING (episode_id, attempt, interrupt_id)
WHERE o.episode_id = q.episode_id AND o.attempt = q.attempt
AND (o.current = {ASKED} OR (o.current = {HELD} AND a.answered_at > :given_before))
"""
_READY = f"""
SELECT DISTINCT q.episode_id FROM questions q JOIN waiting w ON w.episode_id = q.episode_id AND w.attempt = q.attempt
WHERE q.current > 1 AND NOT EXISTS ({_NOT_READY})
"""


@dataclass(frozen=True, slots=True)
class Question:
    """A question that an episode waits on, or a call to approve, or a form, with what a person needs to answer it."""

    episode_id: str
    attempt: int
    interrupt_id: str
    ask: int
    """Its number in its episode, counted from 1; approvals and forms count, too."""
    question: str
    """What is asked; of a call to approve or a form, the same in words."""
    asked_at: float
    """Unix time in seconds."""
    scenario_id: str
    group: str
    query: str
    """What the user has asked the agent so far."""
    progress: list[dict[str, Any]]
    """What the agent has done so far: its model turns and events as JSON objects, in order."""
    knows: str | None = ""
    """What the user knows beyond the request, in words; empty if that is nothing, None if the run is blind."""
    request: PersonRequest | None = None
    """The call to approve, or the form; None for a question."""
    stands_in: StandIn | None = None
    """The tool whose work the question asks for; None if it asks for none, and if the run is blind."""

    @property
    def kind(self) -> Kind:
        """What it is."""
        return "question" if self.request is None else self.request.kind

    @property
    def key(self) -> Key:
        """The key that identifies the question and its answer."""
        return self.episode_id, self.attempt, self.interrupt_id


@dataclass(frozen=True, slots=True)
class FiledAnswer:
    """An answer in the queue."""

    key: Key
    text: str
    declined: Declined
    responder: str
    appropriate: bool | None = None
    """The person's mark of the question; None where there is none."""
    decision: Decision | None = None
    """What was decided about a call or a form; None for a question."""
    name: str = ""
    """What the person calls themselves; empty where they gave no name."""


def open_questions(conn: sqlite3.Connection, episode: str = "", limit: int | None = None) -> list[Question]:
    """Return the first `limit` open questions of one episode or of all, oldest first."""
    with closing(open_keys(conn, episode)) as keys:
        return list(islice(read_questions(conn, keys), limit))


def next_open_question(
    conn: sqlite3.Connection,
    put_off: Collection[Key] = (),
    episode: str = "",
    *,
    take: Callable[[Key], bool] = lambda _: True,
) -> Question | None:
    """Return the first open question of one episode or of all that is not in `put_off` and that `take` accepts.

    If it accepts none, the first is returned; None if there is none.
    """
    first: Question | None = None
    with closing(open_keys(conn, episode)) as keys:
        for question in read_questions(conn, (key for key in keys if key not in put_off)):
            if take(question.key):
                return question
            first = first or question
    return first


def asking_episodes(conn: sqlite3.Connection) -> list[str]:
    """Return the ids of the episodes with an open question, in the order they asked."""
    return list(dict.fromkeys(episode for episode, _, _ in open_keys(conn)))


def number_unanswered(conn: sqlite3.Connection, episode: str = "", *, episodes: bool = False) -> int:
    """Count the open questions of one episode or of all; with `episodes`, count the episodes that ask them."""
    counted, where = "DISTINCT episode_id" if episodes else "*", " AND episode_id = :id" if episode else ""
    return int(conn.execute(f"SELECT count({counted}) FROM questions WHERE current = 1{where}", {"id": episode}).fetchone()[0])


def kinds_unanswered(conn: sqlite3.Connection, episode: str = "") -> Counter[str]:
    """Return how many questions, approvals and forms of one episode or all have no answer."""
    where = " AND episode_id = :id" if episode else ""
    query = f"SELECT kind, count(*) FROM questions WHERE current = 1{where} GROUP BY kind ORDER BY kind != 'question', kind"
    return Counter(dict(conn.execute(query, {"id": episode})))


def suggest_open_episode(episode: str, waiting: Iterable[str]) -> str:
    """Return the hint after the name of an episode without open questions: the waiting episode that may be meant."""
    return did_you_mean(episode, dict.fromkeys(waiting)) or " This run has no open questions."


def open_keys(conn: sqlite3.Connection, episode: str = "") -> sqlite3.Cursor:
    """Return the keys of the questions without an answer, of one episode or all, in the order they were asked."""
    where = " AND episode_id = :id" if episode else ""
    query = f"SELECT episode_id, attempt, interrupt_id FROM questions WHERE current = 1{where} ORDER BY number"
    return conn.execute(query, {"id": episode})


def read_questions(conn: sqlite3.Connection, keys: Iterable[Key]) -> Iterator[Question]:
    """Yield the open questions among some keys; each is read when it is needed, so the first costs no more in a long queue."""
    blind, tools = stored_documents.is_blind(conn), _StandIns(conn)
    for key in keys:
        for *_, ask, kind, text, request, asked_at in rows(conn, "questions", f"WHERE {THIS_QUESTION} AND current = {ASKED}", key):
            # Its episode may have continued since.
            for _, scenario_id, _, _, waiting in rows(conn, "waiting", "WHERE episode_id = ? AND attempt = ?", key[:2]):
                asked_in = stored_documents.scenario(row(conn, "scenarios", "WHERE id = ?", (scenario_id,))[-1], scenario_id)
                knows = None if blind else user_knowledge(asked_in)
                done = stored_documents.read_waiting(waiting, key[0]).progress
                so_far = _conversation_so_far(asked_in, done)
                read = stored_documents.read_request(kind, request, key[0])
                replaces = None if blind or read is not None else tools.find(text, asked_in, done)
                yield Question(*key, ask, text, asked_at, asked_in.id, asked_in.group, so_far, done, knows, read, replaces)


def request_of(conn: sqlite3.Connection, key: Key) -> PersonRequest | None:
    """Return the call to approve or the form with this key, open or not; None for a question."""
    _, _, _, _, kind, _, request, _ = row(conn, "questions", f"WHERE {THIS_QUESTION}", key)
    return stored_documents.read_request(kind, request, key[0])


def _conversation_so_far(scenario: Scenario, done: Sequence[dict[str, Any]]) -> str:
    """Return the user's requests so far; of several turns also the agent's answers, and nothing of the turns to come."""
    answers = {one["user_turn"]: _said_to_user(one) for one in done if isinstance(one.get("user_turn"), int)}
    return request_text(with_answers(scenario.user_turns[: max(answers, default=0) + 1], answers))


def _said_to_user(turn: dict[str, Any]) -> str:
    try:
        return ModelTurn.model_validate(turn).said
    except ValueError:  # a run directory may come from elsewhere
        return str(turn.get("text", ""))


def put_questions(conn: sqlite3.Connection, waiting: Waiting) -> None:
    """Store what a waiting episode asks; what an earlier attempt asked keeps the time it was asked, and its answer.

    A question keeps them by its number and text. A call to approve keeps them by its tool, its arguments and how many such calls the attempt
    asked about before, and a form by its content in the same way: other calls between them may come in another order.
    """
    close_questions(conn, waiting.episode_id)
    for question in waiting.questions:
        key = (waiting.episode_id, waiting.attempt, question.interrupt_id)
        if question.request is None:
            kind, request, (since, before) = "question", "", earlier_answer(conn, key, question.ask, question.question)
        else:
            told, (since, before) = earlier_decision(conn, key, question.request)
            kind, request = told.kind, told.model_dump_json()
        try:
            check_size(request.encode())
        except TooLargeError as err:
            raise PrerequisiteError(f"episode '{waiting.episode_id}': the {kind} that it asks for {err}.") from None
        asked_at = time.time() if since is None else since
        if not insert_row(conn, "questions", *key, question.ask, kind, question.question, request, asked_at, either="IGNORE"):
            mark_question(conn, key, ASKED)
        if before:
            insert_row(conn, "answers", *key, *before, either="IGNORE")
        if read_answer(conn, key) is not None:
            mark_question(conn, key, ANSWERED)


def close_questions(conn: sqlite3.Connection, episode_id: str) -> None:
    """Close all questions of an episode; of those whose answers it continued with, this is noted."""
    query = f"UPDATE questions SET current = CASE current WHEN {TAKEN_UP} THEN {USED} ELSE 0 END WHERE episode_id = ? AND current > 0"
    conn.execute(query, (episode_id,))


def answered_episodes(conn: sqlite3.Connection, episode_id: str = "") -> list[str]:
    """Return the waiting episodes, or this one alone, whose questions all have an answer that is not held."""
    where = " AND q.episode_id = :id" if episode_id else ""
    values = {"id": episode_id, "given_before": time.time() - HELD_SECONDS}
    return [ready for (ready,) in conn.execute(f"{_READY}{where} ORDER BY q.number", values)]


def resume_waiting(conn: sqlite3.Connection, episode_id: str, attempt: int) -> bool:
    """Let an episode continue with its answers, which can then no longer be withdrawn; return False if one was just withdrawn."""
    where: dict[str, Any] = {"id": episode_id, "attempt": attempt, "given_before": time.time() - HELD_SECONDS}
    if not conn.execute(f"{_READY} AND q.episode_id = :id AND q.attempt = :attempt", where).fetchone():
        return False
    query = f"UPDATE questions SET current = {TAKEN_UP} WHERE episode_id = :id AND attempt = :attempt AND current > 0"
    conn.execute(query, where)
    return True


def replies_to(conn: sqlite3.Connection, episode_id: str, attempt: int) -> dict[str, HumanReply]:
    """Return the answers with which a waiting episode continues, by interrupt id."""
    from talm_sim.agent.humans import HumanReply  # not at the top: the agent need not be loaded just to ask or to answer

    replies: dict[str, HumanReply] = {}
    asked = rows(conn, "questions", f"WHERE episode_id = ? AND attempt = ? AND current > {ASKED}", (episode_id, attempt))
    for *key, _, _, _, _, asked_at in asked:
        for *_, text, decided, declined, responder, name, mark, answered_at in rows(conn, "answers", f"WHERE {THIS_QUESTION}", key):
            # The clock of the day may have been put back in between; nobody answers before the question.
            at = max(asked_at, answered_at)
            replies[key[2]] = HumanReply(
                text, responder, declined, asked_at, at, _MARKS[mark], stored_documents.read_decision(decided, key[0]), name
            )
    return replies


def read_answer(conn: sqlite3.Connection, key: Key) -> FiledAnswer | None:
    """Return the answer to a question; None if there is none."""
    if (filed := next(rows(conn, "answers", f"WHERE {THIS_QUESTION}", key), None)) is None:
        return None
    text, decided, declined, responder, name, mark = filed[3:9]
    return FiledAnswer(key, text, declined, responder, _MARKS[mark], stored_documents.read_decision(decided, key[0]), name)


def mark_question(conn: sqlite3.Connection, key: Key, state: int, *, was: int | None = None) -> None:
    """Set the state of a question, if its state `was` the given one."""
    conn.execute(f"UPDATE questions SET current = ? WHERE {THIS_QUESTION} AND current = ifnull(?, current)", (state, *key, was))


_EVENT: TypeAdapter[Event] = TypeAdapter(Event)


class _StandIns:
    """Finds the tools that questions ask a person to replace; reads what the run keeps of its tools once, when it is first needed."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn

    @cached_property
    def _specs(self) -> dict[str, ToolSpec]:
        return {one.name: one for one in stored_documents.meta(self._conn, "tools", list[ToolSpec]) or ()}

    @cached_property
    def _known(self) -> dict[str, ReplaceableTool]:
        return stored_documents.meta(self._conn, stored_documents.REPLACEABLE, dict[str, ReplaceableTool]) or {}

    def find(self, question: str, scenario: Scenario, progress: Sequence[dict[str, Any]]) -> StandIn | None:
        """Return the tool whose work a question asks for; None if it asks for none."""
        failed = dict.fromkeys(event.name for event in map(_tool_event, progress) if event is not None and _is_broken(event))
        return find_stand_in(question, scenario, self._specs, self._known, failed)


def _tool_event(item: dict[str, Any]) -> ToolEvent | None:
    try:
        event = _EVENT.validate_python(item) if "type" in item else None
    except ValidationError:  # a run directory may come from elsewhere
        return None
    return event if isinstance(event, ToolEvent) else None


def _is_broken(event: ToolEvent) -> bool:
    # While the episode waits, no prompt has followed its last calls yet, so that what they damaged counts as not seen.
    return event.broken or any(log.fired for log in event.perturbations)


def overdue(conn: sqlite3.Connection, seconds: float) -> list[Key]:
    """Return the keys of what has waited for so many seconds, the oldest first."""
    query = f"SELECT episode_id, attempt, interrupt_id FROM questions WHERE current = {ASKED} AND asked_at <= ? ORDER BY number"
    return list(conn.execute(query, (time.time() - seconds,)))


def close_unanswered(conn: sqlite3.Connection, keys: Iterable[Key]) -> int:
    """Answer in nobody's name what still waits, and return how many, within a transaction; a call that can only be allowed keeps waiting."""
    from talm_sim.agent.ask_limits import reply_of_nobody  # not at the top: the agent need not be loaded just to ask or to answer

    closed = 0
    for key in keys:
        if (reply := reply_of_nobody("timeout", request_of(conn, key))) is None:
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
