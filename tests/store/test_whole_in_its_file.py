"""A run that nobody runs is two files, which can be copied and read anywhere."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from talm_sim.runs.api import judge, resume, run
from talm_sim.store.desk import AnswerStatus, answer
from talm_sim.store.files.database import connect_reader, fold
from talm_sim.store.files.writer import FLUSH_SECONDS, Writer
from talm_sim.store.stored_run import load_run
from tests.runs.recorded_world import TOWNS, make_world

WHOLE = {"run.db", "run.json"}


@pytest.fixture
def world(tmp_path: Path) -> dict[str, Any]:
    return make_world(tmp_path)


def files(path: Path) -> set[str]:
    return {one.name for one in path.iterdir()}


def test_a_finished_run_is_two_files_and_a_copy_of_them_reads_the_same(world: dict[str, Any], tmp_path: Path) -> None:
    stored = run(**world)
    assert files(stored.path) == WHOLE
    copy = tmp_path / "elsewhere" / "copied"
    copy.mkdir(parents=True)
    for name in WHOLE:
        shutil.copy(stored.path / name, copy)
    copied = load_run(copy)
    assert copied.finished == copied.total == 4
    assert copied.summary_records() == [{**one, "run": "copied"} for one in stored.summary_records()]
    assert files(stored.path) == files(copy) == WHOLE, "reading leaves nothing behind"


def test_judging_and_resuming_leave_it_whole(world: dict[str, Any]) -> None:
    stored = run(**world)
    judge(stored.path)
    assert files(stored.path) == WHOLE
    resume(stored.path)
    assert files(stored.path) == WHOLE


def test_answers_leave_it_whole_and_checkpoints_go_with_the_last_pause(world: dict[str, Any]) -> None:
    stored = run(**{**world, "split": "underspecified", "model": "sim/asker", "human": "terminal"})
    assert files(stored.path) == WHOLE | {"checkpoints.db"}
    for town in TOWNS:
        assert answer(stored.path, f"towns-{town}.underspecified", f"I mean {town}.") is AnswerStatus.SAVED
    assert "run.db-wal" not in files(stored.path)
    assert resume(stored.path).finished == 4
    assert files(stored.path) == WHOLE


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes where nobody may")
def test_a_run_reads_from_a_directory_that_cannot_be_written(world: dict[str, Any]) -> None:
    stored = run(**world)
    stored.path.chmod(0o555)
    try:
        assert load_run(stored.path).finished == 4
    finally:
        stored.path.chmod(0o755)


def test_where_somebody_reads_it_is_left_for_the_next(world: dict[str, Any]) -> None:
    stored = run(**world)
    with closing(sqlite3.connect(stored.path / "run.db", isolation_level=None)) as writing, closing(connect_reader(stored.path)) as reading:
        writing.execute("PRAGMA journal_mode=WAL")
        reading.execute("BEGIN")
        assert reading.execute("SELECT count(*) FROM episodes").fetchone() == (4,)
        writing.execute("INSERT INTO meta VALUES ('more', '1', x'')")
        fold(writing)
        assert reading.execute("SELECT count(*) FROM meta WHERE key = 'more'").fetchone() == (0,), "what is being read stays as it was"
        writing.execute("DELETE FROM meta WHERE key = 'more'")
    judge(stored.path)
    assert files(stored.path) == WHOLE


async def test_a_commit_is_flushed_every_few_seconds(world: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    from talm_sim.store.files.database import connect_writer, use_write_ahead_log
    from talm_sim.store.files.lease import acquire
    from talm_sim.store.files.manifest import stamp_in

    stored = await asyncio.to_thread(lambda: run(**world))
    clock = [100.0]
    monkeypatch.setattr("talm_sim.store.files.writer.time", SimpleNamespace(monotonic=lambda: clock[0]))
    conn = connect_writer(stored.path)
    use_write_ahead_log(conn)
    writer = Writer(conn, acquire(conn, "r"), asyncio.get_running_loop(), stamp_in(stored.path))
    seen: list[int] = []

    async def commit() -> None:
        await writer.commit(lambda conn: seen.append(conn.execute("PRAGMA synchronous").fetchone()[0]))

    for step in (0.0, 1.0, FLUSH_SECONDS, 0.5):
        clock[0] += step
        await commit()
    await writer.close()
    assert seen == [1, 1, 2, 1], "1 is NORMAL, 2 is FULL"
