"""The run store for the one owner of a run. A row in `run.db` is the commit: what is not there has not happened."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

from talm_sim.common.processes import hidden_name, sweep
from talm_sim.errors import PrerequisiteError, RunExistsError, line_to_copy
from talm_sim.scenarios.stand_ins import ReplaceableTool
from talm_sim.store import desk, questions
from talm_sim.store.files import sealing, stored_documents
from talm_sim.store.files.database import (
    DATABASE,
    TooLargeError,
    connect_reader,
    connect_writer,
    create_database,
    explain_errors,
    use_write_ahead_log,
)
from talm_sim.store.files.lease import Lease, acquire, hold
from talm_sim.store.files.manifest import MANIFEST, RunManifest, check_name, new_run_ids, stamp_in
from talm_sim.store.files.parts import ShardFacts, keep_shard
from talm_sim.store.files.records import forget_waiting, start_attempt, write_episode, write_verdict, write_waiting
from talm_sim.store.files.sealing import insert_row, rows, stamp_of
from talm_sim.store.files.writer import Writer
from talm_sim.types import Episode, Measure, Scenario, Termination, ToolSpec, Verdict

if TYPE_CHECKING:
    from talm_sim.agent.episode import Waiting
    from talm_sim.agent.humans import HumanReply

_T = TypeVar("_T")
_Placed: TypeAlias = Sequence[tuple[int, Scenario]]
"""Scenarios, each with its place in the run."""
_Finish: TypeAlias = Callable[[Path], None]
_Begin: TypeAlias = Callable[[sqlite3.Connection, str, str], _T]
"""Ends the transaction that creates a run: it takes the connection, the run's name and the stamp of its `run.json`."""


@dataclass(frozen=True, slots=True)
class PausedEpisode:
    """An episode that waits for a person, and what it needs to go on."""

    episode_id: str
    scenario_id: str
    epoch: int
    attempt: int
    state: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run is when a session begins."""

    scenarios: Sequence[Scenario]
    """The run's scenarios in order."""
    positions: Mapping[str, int]
    """Id of each to its place in the run; of a shard, in the whole."""
    finished: frozenset[str]
    """Ids of the finished episodes, without those that are tried again."""
    again: int
    """How many finished episodes are tried again."""
    paused: Mapping[str, PausedEpisode]
    """Episodes that wait for a person, by id."""
    attempts: Mapping[str, int]
    """The number of the last attempt of each episode that was ever begun."""


class RunStore:
    """Writes a run; made by `create` or `open`, which take the run's lease."""

    def __init__(self, directory: Path, writer: Writer, reader: sqlite3.Connection) -> None:
        self.directory = directory
        self.reader = reader
        self.desk = desk.Desk(directory, reader, writer.commit_now)
        """Where this process files answers."""
        self._writer = writer
        self._seen_version = -1

    @classmethod
    def create(
        cls,
        run_dir: Path,
        run_id: str | None,
        manifest: RunManifest,
        scenarios: Sequence[Scenario],
        tools: Sequence[ToolSpec] = (),
        replaceable: Mapping[str, ReplaceableTool] = MappingProxyType({}),
        places: Sequence[int] = (),
        shard: ShardFacts | None = None,
    ) -> RunStore:
        """Create a run that is this process's from its first moment; call it on the running loop, and `aclose` it. See `create_run`.

        `replaceable` is what is kept of tools that a person can replace, by name. Of a shard, `shard` says what it belongs to, and `places`
        where its scenarios are in the whole.
        """

        def begin(conn: sqlite3.Connection, name: str, stamp: str) -> tuple[Lease, str]:
            if replaceable:
                kept = {name: one.model_dump(mode="json") for name, one in replaceable.items()}
                with contextlib.suppress(TooLargeError):  # people are then shown less, and nothing else depends on it
                    insert_row(conn, "meta", stored_documents.REPLACEABLE, json.dumps(kept))
            if shard is not None:
                keep_shard(conn, shard)
            return hold(conn, name), stamp

        placed = [*zip(places, scenarios, strict=True)] if places else [*enumerate(scenarios)]
        directory, (lease, stamp) = _create(run_dir, run_id, manifest, placed, tools, begin)
        return cls._start(directory.absolute(), connect_writer(directory), lease, stamp)

    @classmethod
    def open(cls, directory: Path) -> RunStore:
        """Take a run for this process; call it on the running loop, and `aclose` it."""
        stamp = stamp_in(directory)
        conn = connect_writer(directory)

        def unseal() -> None:
            sealing.check_fits(conn, stamp, owned=False)
            sealing.remove_seal(conn)

        try:
            with explain_errors(directory):
                lease = acquire(conn, directory.name, unseal)
        except BaseException:
            conn.close()
            raise
        return cls._start(directory, conn, lease, stamp)

    @classmethod
    def _start(cls, directory: Path, conn: sqlite3.Connection, lease: Lease, stamp: str) -> RunStore:
        try:
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
        self._writer.enqueue(lambda conn: start_attempt(conn, episode_id, attempt))

    async def finish(self, episode: Episode, position: int) -> Episode:
        """Commit a finished episode, and return it as it is kept; see `write_episode`."""
        kept = episode

        def change(conn: sqlite3.Connection) -> None:
            nonlocal kept
            kept = write_episode(conn, episode, position)

        await self._writer.commit(change)
        return kept

    async def pause(self, waiting: Waiting) -> None:
        """Commit that an episode waits for a person."""
        await self._writer.commit(lambda conn: write_waiting(conn, waiting))

    async def forget_waiting(self, episode_id: str) -> None:
        """Forget that an episode waits: it will start again."""
        await self._writer.commit(lambda conn: forget_waiting(conn, episode_id))

    def progress(self, again: Collection[Termination] = ()) -> RunProgress:
        """Read how far the run is; finished episodes that ended in one of `again` are to be tried again."""
        ended = dict(self.reader.execute("SELECT id, termination FROM episodes"))
        finished = frozenset(name for name, end in ended.items() if end not in again)
        attempts = dict(rows(self.reader, "attempts"))
        positions = dict(self.reader.execute("SELECT id, position FROM scenarios"))
        return RunProgress(self.scenarios(), positions, finished, len(ended) - len(finished), self.paused_episodes(), attempts)

    def number_finished(self) -> int:
        """Count the finished episodes."""
        return int(self.reader.execute("SELECT count(*) FROM episodes").fetchone()[0])

    def scenarios(self) -> list[Scenario]:
        """Return the run's scenarios in order."""
        return list(stored_documents.scenarios(self.reader))

    # --- the human queue --------------------------------------------------------------------------------------------------------------

    def paused_episodes(self) -> dict[str, PausedEpisode]:
        """Return the episodes that wait for a person, by id."""
        return {
            episode_id: PausedEpisode(episode_id, scenario_id, epoch, attempt, stored_documents.read_waiting(body, episode_id).state)
            for episode_id, scenario_id, epoch, attempt, body in rows(self.reader, "waiting")
        }

    def has_changed(self) -> bool:
        """Return whether any process committed something since the last call; costs microseconds."""
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

    async def close_unanswered(self, seconds: float | None, withdrawn: Sequence[questions.Key] = ()) -> int:
        """Answer in nobody's name what has waited for so many seconds, and forms that nobody asks for any more; return how many."""
        closed = 0

        def late(conn: sqlite3.Connection) -> list[questions.Key]:
            open_ = f"SELECT 1 FROM questions WHERE current = {questions.ASKED} AND {questions.THIS_QUESTION}"
            still = [key for key in withdrawn if conn.execute(open_, key).fetchone()]
            return [*still, *(() if seconds is None else questions.overdue(conn, seconds))]

        def change(conn: sqlite3.Connection) -> None:
            nonlocal closed
            closed = questions.close_unanswered(conn, late(conn))

        if late(self.reader):
            await self._writer.commit(change)
        return closed

    def judged_ids(self, judge: str, judge_config_digest: str) -> set[str]:
        """Return the ids of the episodes that a judge has a verdict on."""
        query = "SELECT episode_id FROM verdicts WHERE judge = ? AND judge_config_digest = ? AND NOT failed"
        return {episode_id for (episode_id,) in self.reader.execute(query, (judge, judge_config_digest))}

    async def add_verdict(self, verdict: Verdict, *, failed: bool = False) -> None:
        """Commit a verdict in place of an earlier one of the same judge and judge config; a judge that `failed` is asked again next time."""
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


def create_run(
    run_dir: Path,
    run_id: str | None,
    manifest: RunManifest,
    scenarios: Sequence[Scenario],
    tools: Sequence[ToolSpec] = (),
    fill: Callable[[sqlite3.Connection], None] | None = None,
    finish: _Finish | None = None,
) -> Path:
    """Create a run with its scenarios, whole or not at all; nobody holds it.

    Args:
        run_dir: Directory that holds runs; made if it is missing.
        run_id: The run's name; None for a new one.
        manifest: What `describe_run` says of the run.
        scenarios: What is run, in order.
        tools: The tools they name, kept so that the run can be read and judged without them.
        fill: Writes what the run holds from the start, within the transaction that creates it.
        finish: Does what is left to do with the run's files, in the directory it is given, before they appear in their place.

    Returns:
        The run's directory.

    Raises:
        RunExistsError: The name is taken.
    """

    def begin(conn: sqlite3.Connection, name: str, stamp: str) -> None:
        if fill is not None:
            fill(conn)
        sealing.seal(conn, stamp)

    return _create(run_dir, run_id, manifest, [*enumerate(scenarios)], tools, begin, finish)[0]


def write_first_measure(directory: Path, first: Measure) -> None:
    """Keep the measure that lists of runs show in a run that nobody owns."""
    with closing(connect_writer(directory)) as conn:
        conn.execute("BEGIN IMMEDIATE")
        insert_row(conn, "meta", "first_measure", first.model_dump_json())
        sealing.seal(conn, stamp_in(directory))
        conn.execute("COMMIT")


def _create(
    run_dir: Path,
    run_id: str | None,
    manifest: RunManifest,
    placed: _Placed,
    tools: Sequence[ToolSpec],
    begin: _Begin[_T],
    finish: _Finish | None = None,
) -> tuple[Path, _T]:
    """Create a run as `create_run` does; what `begin` returns is returned as well."""
    if run_id is not None:
        check_name(run_id, "--run-id")
    for name in new_run_ids(manifest.config) if run_id is None else ():
        with contextlib.suppress(RunExistsError):
            return _install(run_dir / name, manifest, placed, tools, begin, finish)
    return _install(run_dir / str(run_id), manifest, placed, tools, begin, finish)


def _install(
    target: Path, manifest: RunManifest, placed: _Placed, tools: Sequence[ToolSpec], begin: _Begin[_T], finish: _Finish | None
) -> tuple[Path, _T]:
    """Write a run beside its place and rename it into it, so that a kill leaves a whole run or a hidden leftover, never half a run."""
    if target.exists():
        again = line_to_copy("talm-sim", "resume", str(target))
        raise RunExistsError(f"{target}: a run of this name exists; choose another --run-id, or continue it with: {again}")
    sweep(target.parent)
    draft = target.parent / hidden_name(target.name)
    text = f"{manifest.model_dump_json(indent=2)}\n".encode()
    try:
        draft.mkdir(parents=True)
        with closing(create_database(draft)) as conn:
            conn.execute("BEGIN")
            _write_scenarios(conn, placed, tools)
            begun = begin(conn, target.name, stamp_of(text))
            conn.execute("COMMIT")
        (draft / MANIFEST).write_bytes(text)
        if finish is not None:
            finish(draft)
        for name in (DATABASE, MANIFEST):
            with (draft / name).open("rb") as file:
                os.fsync(file.fileno())
        os.rename(draft, target)
    except (OSError, sqlite3.OperationalError) as err:
        shutil.rmtree(draft, ignore_errors=True)
        if target.exists():
            raise RunExistsError(f"{target}: a run of this name exists; choose another --run-id.") from None
        raise PrerequisiteError(f"{target.parent}: cannot be written ({getattr(err, 'strerror', err)}); choose another --run-dir.") from None
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return target, begun


def _write_scenarios(conn: sqlite3.Connection, placed: _Placed, tools: Sequence[ToolSpec]) -> None:
    for position, item in placed:
        try:
            insert_row(conn, "scenarios", position, item.id, item.group, document=item.model_dump_json())
        except TooLargeError as err:
            raise PrerequisiteError(f"scenario '{item.id}': {err}; make it smaller.") from None
    try:
        insert_row(conn, "meta", "tools", json.dumps([tool.model_dump(mode="json") for tool in tools]))
    except TooLargeError as err:
        raise PrerequisiteError(f"the description of {len(tools):,} tools {err}; use fewer tools.") from None
