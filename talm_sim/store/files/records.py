"""Write what a run's database keeps of an episode: its attempts, its end, its verdicts, and that it waits."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from talm_sim.store import questions
from talm_sim.store.files.database import TooLargeError
from talm_sim.store.files.sealing import insert_row
from talm_sim.types import Episode, Termination, Verdict

if TYPE_CHECKING:
    from talm_sim.agent.episode import Waiting


def start_attempt(conn: sqlite3.Connection, episode_id: str, attempt: int) -> None:
    """Begin an attempt within a transaction; what a failed one left goes, verdicts and all."""
    insert_row(conn, "attempts", episode_id, attempt, either="REPLACE")
    conn.execute("DELETE FROM episodes WHERE id = ?", (episode_id,))
    conn.execute("DELETE FROM verdicts WHERE episode_id = ?", (episode_id,))


def write_episode(conn: sqlite3.Connection, episode: Episode, position: int) -> Episode:
    """Add a finished episode, which waits no more, within a transaction; `position` is its scenario's place in the run.

    Returns:
        The episode as it is kept: of one that is too large, that it failed, and what it cost.
    """
    try:
        _insert_episode(conn, episode, position)
    except TooLargeError as err:
        episode = _drop_record(episode, str(err))
        _insert_episode(conn, episode, position)
    forget_waiting(conn, episode.id)
    return episode


def _insert_episode(conn: sqlite3.Connection, episode: Episode, position: int) -> None:
    keys = (episode.id, episode.scenario_id, episode.group, episode.epoch, position, episode.attempt, episode.termination.value)
    insert_row(conn, "episodes", *keys, document=episode.model_dump_json())


def _drop_record(episode: Episode, why: str) -> Episode:
    """Reduce an episode whose record is too large to what is kept of it: nobody can judge it, and `resume` tries it again."""
    names = ("id", "scenario_id", "group", "epoch", "attempt", "model", "human", "tools", "perturbations", "usage", "started_at", "elapsed_s")
    error = f"the record of this episode {why}; make the agent, its tools or the model write less"
    return Episode(**{name: getattr(episode, name) for name in names}, termination=Termination.INFRASTRUCTURE_ERROR, error=error)


def write_verdict(conn: sqlite3.Connection, verdict: Verdict, *, failed: bool = False) -> None:
    """Add a verdict within a transaction, in place of an earlier one of the same judge and judge config."""
    keys = (verdict.episode_id, verdict.judge, verdict.judge_config_digest, int(failed))
    try:
        insert_row(conn, "verdicts", *keys, document=verdict.model_dump_json(), either="REPLACE")
    except TooLargeError as err:
        short = dict(label=verdict.label[:200], votes=(), explanation=f"The record of this verdict {err}; its explanation was left out.")
        insert_row(conn, "verdicts", *keys, document=verdict.model_copy(update=short).model_dump_json(), either="REPLACE")


def write_waiting(conn: sqlite3.Connection, waiting: Waiting) -> None:
    """Note within a transaction that an episode waits for a person."""
    keys = (waiting.episode_id, waiting.scenario_id, waiting.epoch, waiting.attempt)
    whole = {"state": waiting.state, "progress": _progress(waiting)}
    try:
        insert_row(conn, "waiting", *keys, document=json.dumps(whole), either="REPLACE")
    except TooLargeError:  # the person sees the question without what went before it
        insert_row(conn, "waiting", *keys, document=json.dumps({**whole, "progress": []}), either="REPLACE")
    questions.put_questions(conn, waiting)


def _progress(waiting: Waiting) -> list[dict[str, Any]]:
    items: Iterable[Any] = (*waiting.model_turns, *waiting.events)
    return [item.model_dump(mode="json") for item in items]


def forget_waiting(conn: sqlite3.Connection, episode_id: str) -> None:
    """Note within a transaction that an episode waits no more."""
    conn.execute("DELETE FROM waiting WHERE episode_id = ?", (episode_id,))
    questions.close_questions(conn, episode_id)
