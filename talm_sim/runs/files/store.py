"""The run store as its one owner sees it. A row in `run.db` is the commit: what is not there has not happened."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from talm_sim.errors import PrerequisiteError
from talm_sim.runs import desk, questions
from talm_sim.runs.files import manifest, sealing, stored_documents
from talm_sim.runs.files.database import TooLargeError, connect_reader, connect_writer, explain_errors, pack, use_write_ahead_log
from talm_sim.runs.files.lease import acquire
from talm_sim.runs.files.sealing import insert_row, rows
from talm_sim.runs.files.writer import Writer
from talm_sim.types import Episode, Scenario, Termination, Verdict

if TYPE_CHECKING:
    from talm_sim.agent.episode import Waiting
    from talm_sim.agent.humans import HumanReply

__all__ = ["PausedEpisode", "RunStore", "write_episode", "write_verdict"]


@dataclass(frozen=True, slots=True)
class PausedEpisode:
    """An episode that waits for a person, and what it needs to go on."""

    episode_id: str
    scenario_id: str
    epoch: int
    attempt: int
    state: dict[str, Any]


class RunStore:
    """Writes a run; made by `open`, which takes the run's lease.

    Args:
        directory: The run's directory.
        writer: The thread that commits.
        reader: A connection for reading on the event loop's thread.
    """

    def __init__(self, directory: Path, writer: Writer, reader: sqlite3.Connection) -> None:
        self.directory = directory
        self.reader = reader
        self.desk = desk.Desk(directory, reader, writer.commit_now)
        """Where this process files answers."""
        self._writer = writer
        self._seen_version = -1

    @classmethod
    def open(cls, directory: Path) -> RunStore:
        """Take the run for this process; call it on the running loop, and `aclose` it.

        Raises:
            PrerequisiteError: Another process runs it, or the directory cannot be written.
        """
        stamp = manifest.stamp(directory)
        conn = connect_writer(directory)

        def unseal() -> None:
            sealing.check_fits(conn, stamp, owned=False)
            sealing.remove_seal(conn)

        try:
            with explain_errors(directory):
                lease = acquire(conn, directory.name, unseal)
                use_write_ahead_log(conn)
            writer = Writer(conn, lease, asyncio.get_running_loop(), stamp)
        except BaseException:
            conn.close()
            raise
        return cls(directory, writer, connect_reader(directory))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Commit what is under way and give the run back; shielded from a second Ctrl-C."""
        with contextlib.suppress(PrerequisiteError):  # nothing can be written any more: the answer goes by itself after a moment
            self.desk.release()
        # First: the last connection that closes folds the log into the file, and one that only reads cannot.
        self.reader.close()
        await asyncio.shield(self._writer.close())

    # --- episodes ---------------------------------------------------------------------------------------------------------------------

    def start_attempt(self, episode_id: str, attempt: int) -> None:
        """Note that an attempt begins, so that the next one after a kill has another number; what a failed one left goes, verdicts and all."""
        self._writer.enqueue(lambda conn: _start_attempt(conn, episode_id, attempt))

    async def finish(self, episode: Episode, position: int) -> Episode:
        """Commit a finished episode.

        Args:
            episode: The episode; no longer waiting from now on.
            position: Place of its scenario in the run's order.

        Returns:
            The episode as it is kept; see `write_episode`.
        """
        kept = episode

        def change(conn: sqlite3.Connection) -> None:
            nonlocal kept
            kept = write_episode(conn, episode, position)

        await self._writer.commit(change)
        return kept

    async def pause(self, waiting: Waiting) -> None:
        """Commit that an episode waits for a person."""
        await self._writer.commit(lambda conn: _pause(conn, waiting))

    async def forget_waiting(self, episode_id: str) -> None:
        """Forget that an episode waits: it will start again."""
        await self._writer.commit(lambda conn: _wait_no_more(conn, episode_id))

    def next_attempts(self) -> dict[str, int]:
        """For each episode that was ever begun, the number of its next attempt."""
        return {episode_id: attempt + 1 for episode_id, attempt in rows(self.reader, "attempts")}

    def finished_ids(self) -> set[str]:
        """Ids of the finished episodes."""
        return {episode_id for (episode_id,) in self.reader.execute("SELECT id FROM episodes")}

    def ids_ended_in(self, terminations: Collection[Termination]) -> set[str]:
        """Ids of the finished episodes that ended in one of `terminations`."""
        return {name for name, end in self.reader.execute("SELECT id, termination FROM episodes") if end in terminations}

    def scenarios(self) -> list[Scenario]:
        """The run's scenarios in order."""
        return list(stored_documents.scenarios(self.reader))

    # --- the human queue --------------------------------------------------------------------------------------------------------------

    def paused_episodes(self) -> dict[str, PausedEpisode]:
        """Episodes that wait for a person, by id."""
        return {
            episode_id: PausedEpisode(episode_id, scenario_id, epoch, attempt, stored_documents.read_waiting(body, episode_id).state)
            for episode_id, scenario_id, epoch, attempt, body in rows(self.reader, "waiting")
        }

    def has_changed(self) -> bool:
        """Whether anything was committed, by any process, since the last call; costs microseconds."""
        version = int(self.reader.execute("PRAGMA data_version").fetchone()[0])
        changed, self._seen_version = version != self._seen_version, version
        return changed

    async def take_answers(self, episode_id: str, attempt: int) -> dict[str, HumanReply] | None:
        """Let a waiting episode go on: the answers it goes on with, by interrupt id; None where one was withdrawn meanwhile."""
        taken = False

        def change(conn: sqlite3.Connection) -> None:
            nonlocal taken
            taken = questions.resume_waiting(conn, episode_id, attempt)

        await self._writer.commit(change)
        return questions.replies_to(self.reader, episode_id, attempt) if taken else None

    # --- verdicts ---------------------------------------------------------------------------------------------------------------------

    def judged_ids(self, judge: str, judge_config_digest: str) -> set[str]:
        """Ids of the episodes a judge has said something of."""
        query = "SELECT episode_id FROM verdicts WHERE judge = ? AND judge_config_digest = ? AND NOT failed"
        return {episode_id for (episode_id,) in self.reader.execute(query, (judge, judge_config_digest))}

    async def add_verdict(self, verdict: Verdict, *, failed: bool = False) -> None:
        """Commit a verdict in place of an earlier one of the same judge and judge config.

        Args:
            verdict: What the judge says.
            failed: Whether the judge could not do its work, so that it is asked again next time.
        """
        await self._writer.commit(lambda conn: write_verdict(conn, verdict, failed=failed))

    async def set_meta(self, values: Mapping[str, Any]) -> None:
        """Commit small facts about the run, as JSON; None takes one away."""
        gone = [(key,) for key, value in values.items() if value is None]
        entries = [(key, json.dumps(value)) for key, value in values.items() if value is not None]

        def change(conn: sqlite3.Connection) -> None:
            conn.executemany("DELETE FROM meta WHERE key = ?", gone)
            for key, value in entries:
                insert_row(conn, "meta", key, value, either="REPLACE")

        await self._writer.commit(change)


def _wait_no_more(conn: sqlite3.Connection, episode_id: str) -> None:
    conn.execute("DELETE FROM waiting WHERE episode_id = ?", (episode_id,))
    questions.close_questions(conn, episode_id)


def _start_attempt(conn: sqlite3.Connection, episode_id: str, attempt: int) -> None:
    insert_row(conn, "attempts", episode_id, attempt, either="REPLACE")
    conn.execute("DELETE FROM episodes WHERE id = ?", (episode_id,))
    conn.execute("DELETE FROM verdicts WHERE episode_id = ?", (episode_id,))


def write_episode(conn: sqlite3.Connection, episode: Episode, position: int) -> Episode:
    """Within a transaction: add a finished episode, which waits no more; `position` is its scenario's place in the run.

    Returns:
        The episode as it is kept: of one that is too large, that it failed, and what it cost.
    """
    where = (episode.epoch, position, episode.attempt)
    try:
        body = pack(episode.model_dump_json())
    except TooLargeError as err:
        episode = _drop_record(episode, str(err))
        body = pack(episode.model_dump_json())
    insert_row(conn, "episodes", episode.id, episode.scenario_id, episode.group, *where, episode.termination.value, body=body)
    _wait_no_more(conn, episode.id)
    return episode


def _drop_record(episode: Episode, why: str) -> Episode:
    """What is kept of an episode whose record is too large: nobody can judge it, and `resume` tries it again."""
    names = ("id", "scenario_id", "group", "epoch", "attempt", "model", "human", "tools", "perturbations", "usage", "started_at", "elapsed_s")
    error = f"the record of this episode {why}; make the agent, its tools or the model write less"
    return Episode(**{name: getattr(episode, name) for name in names}, termination=Termination.INFRASTRUCTURE_ERROR, error=error)


def write_verdict(conn: sqlite3.Connection, verdict: Verdict, *, failed: bool = False) -> None:
    """Within a transaction: add a verdict, in place of an earlier one of the same judge and judge config."""
    key = (verdict.episode_id, verdict.judge, verdict.judge_config_digest)
    try:
        body = pack(verdict.model_dump_json())
    except TooLargeError as err:
        short = dict(label=verdict.label[:200], votes=(), explanation=f"The record of this verdict {err}; its explanation was left out.")
        body = pack(verdict.model_copy(update=short).model_dump_json())
    insert_row(conn, "verdicts", *key, int(failed), body=body, either="REPLACE")


def _pause(conn: sqlite3.Connection, waiting: Waiting) -> None:
    try:
        body = pack(json.dumps({"state": waiting.state, "progress": _progress(waiting)}))
    except TooLargeError:  # the person sees the question without what went before it
        body = pack(json.dumps({"state": waiting.state, "progress": []}))
    insert_row(conn, "waiting", waiting.episode_id, waiting.scenario_id, waiting.epoch, waiting.attempt, body=body, either="REPLACE")
    questions.put_questions(conn, waiting)


def _progress(waiting: Waiting) -> list[dict[str, Any]]:
    items: Iterable[Any] = (*waiting.model_turns, *waiting.events)
    return [item.model_dump(mode="json") for item in items]
