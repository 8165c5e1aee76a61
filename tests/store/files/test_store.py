from __future__ import annotations

import os
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.batch import run_batch
from talm_sim.store.files.database import connect_reader
from talm_sim.store.files.lease import acquire
from talm_sim.store.files.manifest import describe_run
from talm_sim.store.files.sealing import is_sealed
from talm_sim.store.files.store import RunStore, create_run
from talm_sim.store.stored_run import load_run
from tests.runs.scripted import ScriptedRunner, new_run, scenarios


async def test_a_run_is_held_from_its_first_moment_and_sealed_at_the_end(tmp_path: Path) -> None:
    described = describe_run(RunConfig(model="sim/scripted"), scenarios(2))
    async with RunStore.create(tmp_path, "one", described, scenarios(2)) as store:
        stored = load_run(store.directory)
        assert stored.owner is not None and stored.owner.pid == os.getpid()
        assert not is_sealed(store.reader)
        with pytest.raises(PrerequisiteError, match="is being run by process"):
            RunStore.open(store.directory)
        await run_batch(store, ScriptedRunner(), store.progress())
    assert stored.owner is None and stored.finished == 2 and stored.closed
    reader = connect_reader(store.directory)
    assert is_sealed(reader)
    reader.close()
    assert sorted(path.name for path in store.directory.iterdir()) == ["run.db", "run.json"]


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "-x", "a b"])
def test_a_name_that_is_no_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(PrerequisiteError, match="is not a run name"):
        new_run(tmp_path, name=name)


def test_a_directory_that_cannot_be_written_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PrerequisiteError, match=r"^\S+/file: cannot be written \(Not a directory\); choose another --run-dir\.$"):
        new_run(tmp_path / "file")


@pytest.mark.parametrize(
    ("failure", "told"), [(sqlite3.OperationalError("database or disk is full"), PrerequisiteError), (KeyError("a bug"), KeyError)]
)
def test_a_start_that_fails_within_the_database_leaves_nothing(tmp_path: Path, failure: Exception, told: type[Exception]) -> None:
    def fill(_: sqlite3.Connection) -> None:
        raise failure

    with pytest.raises(told, match=r"disk is full\); choose another --run-dir|a bug"):
        create_run(tmp_path, "one", describe_run(RunConfig(model="sim/oracle"), scenarios(1)), scenarios(1), fill=fill)
    assert list(tmp_path.iterdir()) == []


def _in_one_second(monkeypatch: pytest.MonkeyPatch) -> RunConfig:
    monkeypatch.setattr("talm_sim.store.files.manifest.time.strftime", lambda *_: "20260102-030405")
    return RunConfig(model="langchain/my.module:make", split="perfect")


def test_runs_begun_in_one_second_have_names_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = _in_one_second(monkeypatch)
    runs = [create_run(tmp_path, None, describe_run(config, scenarios(1)), scenarios(1)) for _ in range(3)]
    assert [run.name for run in runs] == ["20260102-030405-my.module-make-perfect" + tail for tail in ("", "-2", "-3")]
    assert [load_run(run).id for run in runs] == [run.name for run in runs]
    assert [load_run(run).total for run in runs] == [1, 1, 1]


def test_so_have_those_that_are_begun_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = _in_one_second(monkeypatch)
    ready, rename = threading.Barrier(4), os.rename
    first = threading.local()

    def together(draft: Path, target: Path) -> None:
        if not getattr(first, "renamed", False):  # each finds the name free, and then all take it
            first.renamed = True
            ready.wait(60)
        rename(draft, target)

    monkeypatch.setattr("talm_sim.store.files.store.os.rename", together)
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda _: create_run(tmp_path, None, describe_run(config, scenarios(1)), scenarios(1)), range(4)))
    assert sorted(run.name for run in runs) == ["20260102-030405-my.module-make-perfect" + tail for tail in ("", "-2", "-3", "-4")]
    assert [load_run(run).total for run in runs] == [1, 1, 1, 1]
    assert sorted(tmp_path.iterdir()) == sorted(runs)


async def test_a_run_on_a_full_disk_is_not_taken_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = new_run(tmp_path)

    def on_a_full_disk(conn: sqlite3.Connection, run_id: str, within: object) -> None:
        conn.execute(f"PRAGMA max_page_count = {conn.execute('PRAGMA page_count').fetchone()[0]}")

        def fill() -> None:
            try:
                conn.execute("CREATE TABLE more AS SELECT zeroblob(1000000)")
            finally:
                conn.execute("ROLLBACK")  # as SQLite does where the file system is full

        acquire(conn, run_id, fill)

    monkeypatch.setattr("talm_sim.store.files.store.acquire", on_a_full_disk)
    with pytest.raises(PrerequisiteError, match=r"cannot be written \(database or disk is full\); free disk space, then try again\.$"):
        RunStore.open(run)
