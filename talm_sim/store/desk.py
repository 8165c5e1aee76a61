"""The desk at which a person or a program answers a run's questions, calls to approve and forms. The first answer wins.

The process that runs the run puts questions, and lets an episode continue with its answers; whoever answers sits at a `Desk`. An answer can be
withdrawn until its episode is taken up again. One that is given `held` waits a moment for that, so that whoever gave it can still take it back
while the next question is looked at.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TypeVar

from talm_sim.agent.decide import explain_misfit
from talm_sim.config import check_person
from talm_sim.errors import PrerequisiteError
from talm_sim.store.files import sealing
from talm_sim.store.files.database import connect_reader, connect_writer, explain_errors, fold, writing
from talm_sim.store.files.lease import is_owned
from talm_sim.store.files.manifest import stamp_in
from talm_sim.store.files.sealing import insert_row
from talm_sim.store.files.writer import Change
from talm_sim.store.forms import actions_of
from talm_sim.store.questions import (
    ANSWERED,
    ASKED,
    HELD,
    MARKS,
    THIS_QUESTION,
    FiledAnswer,
    Key,
    Question,
    asking_episodes,
    mark_question,
    open_keys,
    read_answer,
    read_questions,
    request_of,
    suggest_open_episode,
)
from talm_sim.types import Approval, Decision, Declined

_T = TypeVar("_T")


class AnswerStatus(StrEnum):
    """The result of giving an answer."""

    DELIVERED = "delivered"
    """Saved; the process that is running the run continues with it at once."""
    SAVED = "saved"
    """Saved; no process is running the run: continue it with `talm-sim resume`."""
    TAKEN = "taken"
    """Somebody else answered first; this answer was dropped."""
    GONE = "gone"
    """The episode has ended without it; this answer was dropped."""


class Desk:
    """Answers the questions of a run, from any process.

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
        self._stamp = partial(stamp_in, path)

    def close(self) -> None:
        """Release the held answer and close all connections; if no process is running the run, its file is left complete."""
        self.release()
        if self._reader is not None:
            self._reader.close()  # first: the last connection that closes folds the log into the file, which a read-only one cannot do
            self._reader = None
        if self._writer is not None:
            with closing(self._writer) as conn:
                self._writer = None
                if not is_owned(conn):
                    fold(conn)

    @property
    def reading(self) -> sqlite3.Connection:
        """A connection that reads the queue as it is now."""
        self._reader = self._reader or connect_reader(self.path)
        return self._reader

    def question(self, key: Key) -> Question | None:
        """Return a question, or None once it has an answer."""
        return next(read_questions(self.reading, [key]), None)

    def is_open(self, key: Key) -> bool:
        """Return whether an episode still waits for this question's answer."""
        return self.reading.execute(f"SELECT 1 FROM questions WHERE current = 1 AND {THIS_QUESTION}", key).fetchone() is not None

    def answer_to(self, key: Key) -> FiledAnswer | None:
        """Return the answer to a question; None if there is none."""
        return read_answer(self.reading, key)

    def last_withdrawable(self) -> FiledAnswer | None:
        """Return the latest answer that can still be withdrawn; None if there is none."""
        query = "SELECT episode_id, attempt, interrupt_id FROM questions q JOIN answers a USING (episode_id, attempt, interrupt_id)"
        key = self.reading.execute(f"{query} WHERE q.current IN ({HELD}, {ANSWERED}) ORDER BY a.answered_at DESC LIMIT 1").fetchone()
        return None if key is None else self.answer_to(key)

    def answer(
        self,
        asked: str | Key,
        text: str = "",
        *,
        declined: Declined = "",
        responder: str = "queue",
        held: bool = False,
        appropriate: bool | None = None,
        decision: Decision | None = None,
        name: str = "",
        checked: bool = False,
    ) -> AnswerStatus:
        """Answer a question, or decide about a call or a form.

        When this returns, the answer is in the file, and an answer held until now is released to its episode.

        Args:
            asked: The question's key, or the episode's id if it asks only one thing.
            text: The answer to a question; it may be empty with `declined`.
            declined: "idk" (the person does not know), "skip" (the person does not want to answer), or "".
            responder: Who answers, as the transcript will name them.
            held: Whether the episode waits for the next answer given here or for `release`; at most `HELD_SECONDS`.
            appropriate: Whether the question is marked as appropriate; None leaves it without a mark.
            decision: What is decided about a call to approve or a form; None for a question.
            name: What the person calls themselves, if anything.
            checked: Whether the person was told already if an answer in JSON is none that the tool which they stand in for could give.
        """
        if decision is None and not text.strip() and not declined:
            raise PrerequisiteError("the answer is empty: write a text, or say that you do not know or want to skip.")
        name = _check_name(name)
        with explain_errors(self.path):
            if isinstance(key := self._meant(asked), AnswerStatus):
                self.release()
                return key
            decision = self._checked(key, decision, text=text, declined=declined, marked=appropriate is not None)
            self._check_stand_in(key, "" if checked or declined else text)
        decided, text = ("", text) if decision is None else (decision.model_dump_json(), decision.text)
        released, self._held = self._held, None

        def file(conn: sqlite3.Connection) -> AnswerStatus:
            if released:
                mark_question(conn, released, ANSWERED, was=HELD)
            filed = insert_row(
                conn, "answers", *key, text, decided, declined, responder, name, MARKS[appropriate], time.time(), either="IGNORE"
            )
            mark_question(conn, key, HELD if held else ANSWERED, was=ASKED)
            return AnswerStatus.TAKEN if not filed else AnswerStatus.DELIVERED if is_owned(conn) else AnswerStatus.SAVED

        status = self._change([key, *([released] if released else [])], file)
        self._held = key if held and status is not AnswerStatus.TAKEN else None
        return status

    def release(self) -> None:
        """Release the held answer, if any, to its episode."""
        key, self._held = self._held, None
        if key is not None:
            self._change([key], lambda conn: mark_question(conn, key, ANSWERED, was=HELD))

    def withdraw(self, key: Key) -> bool:
        """Take an answer back, so that its question is open again; return False if the episode has already used it."""
        self._held = None if self._held == key else self._held

        def reopen(conn: sqlite3.Connection) -> bool:
            query = f"UPDATE questions SET current = {ASKED} WHERE {THIS_QUESTION} AND current IN ({HELD}, {ANSWERED})"
            if not conn.execute(query, key).rowcount:
                return False
            conn.execute(f"DELETE FROM answers WHERE {THIS_QUESTION}", key)
            return True

        return self._change([key], reopen)

    def _change(self, keys: Sequence[Key], change: Callable[[sqlite3.Connection], _T]) -> _T:
        """Commit a change of some questions and return its result."""
        found: list[_T] = []

        def sealed(conn: sqlite3.Connection) -> None:
            with sealing.keep_sealed(conn, keys, self._stamp):
                found.append(change(conn))

        self._commit(sealed)
        return found[0]

    def _commit_here(self, change: Change) -> None:
        self._writer = self._writer or connect_writer(self.path)
        with writing(self._writer, self.path):
            change(self._writer)

    def _checked(self, key: Key, decision: Decision | None, *, text: str, declined: str, marked: bool) -> Decision | None:
        """Return the decision as it is kept, if the key's question is one that is answered so."""
        if (request := request_of(self.reading, key)) is None and decision is None:
            return None
        if request is None:
            raise PrerequisiteError(f"'{key[0]}' asks a question: answer it with a text, not with a decision.")
        if decision is None or text.strip() or declined or marked:
            what = f"asks to approve a call of {request.name}" if isinstance(request, Approval) else "asks to fill in a form"
            raise PrerequisiteError(f"'{key[0]}' {what}: give a decision ({', '.join(actions_of(request))}), and no text, mark or skip.")
        misfit = explain_misfit(request, decision) or _explain_unkept(decision)
        if misfit:
            raise PrerequisiteError(f"'{key[0]}': the decision does not fit: {misfit}.")
        if decision.action == "edit" and not decision.name and isinstance(request, Approval):
            return decision.model_copy(update={"name": request.name})  # who edits the arguments alone means the same tool
        return decision

    def _check_stand_in(self, key: Key, text: str) -> None:
        """Refuse an answer in JSON that the tool which the person stands in for could not give."""
        question = self.question(key) if text.lstrip().startswith(("{", "[")) else None
        misfit = question.stands_in.explain_misfit(text) if question is not None and question.stands_in is not None else ""
        if misfit:
            raise PrerequisiteError(f"'{key[0]}': {misfit}; correct it, or answer in words.")

    def _meant(self, asked: str | Key) -> Key | AnswerStatus:
        """Return the question to answer or, if none waits for this answer, what becomes of the answer."""
        episode = asked if isinstance(asked, str) else asked[0]
        mine: list[Key] = [key for key in open_keys(self.reading, episode) if asked in (episode, key)]
        if len(mine) > 1:
            known = ", ".join(interrupt for _, _, interrupt in mine)
            raise PrerequisiteError(f"{self.path}: episode '{episode}' asks {len(mine)} questions; name one of them: {known}.")
        if mine:
            return mine[0]
        where, values = ("episode_id = ?", (asked,)) if isinstance(asked, str) else (THIS_QUESTION, asked)
        if self.reading.execute(f"SELECT 1 FROM answers WHERE {where}", values).fetchone():
            return AnswerStatus.TAKEN
        if not isinstance(asked, str) and self.reading.execute(f"SELECT 1 FROM questions WHERE {THIS_QUESTION}", asked).fetchone():
            # Its attempt is over. The next one may ask it again, and will find the answer.
            return AnswerStatus.GONE if self.reading.execute("SELECT 1 FROM episodes WHERE id = ?", (episode,)).fetchone() else asked
        hint = suggest_open_episode(episode, asking_episodes(self.reading))
        raise PrerequisiteError(f"{self.path}: no open question of episode '{episode}'.{hint}")


def _check_name(name: str) -> str:
    try:
        return check_person(name)
    except ValueError as err:
        raise PrerequisiteError(f"name: {err}.") from None


def _explain_unkept(decision: Decision) -> str:
    """Explain why a decision cannot be kept; empty where it can."""
    try:
        json.dumps(decision.model_dump(), allow_nan=False, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "it contains half of a character"
    except (ValueError, TypeError, RecursionError) as err:
        return f"it is not JSON ({err})"
    return ""


def answer(
    path: Path,
    asked: str | Key,
    text: str = "",
    *,
    declined: Declined = "",
    responder: str = "queue",
    appropriate: bool | None = None,
    decision: Decision | None = None,
    name: str = "",
) -> AnswerStatus:
    """Answer one open question of the run in directory `path`; the other arguments are those of `Desk.answer`."""
    with closing(Desk(path)) as desk:
        more = {"declined": declined, "responder": responder, "appropriate": appropriate, "decision": decision, "name": name}
        return desk.answer(asked, text, **more)  # type: ignore[arg-type]
