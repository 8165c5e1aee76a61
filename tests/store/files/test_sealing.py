"""A run that nobody writes is sealed: what is lost or exchanged is told in one line, and what a killed process left is fixed by going on."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from talm_sim.cli import main
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.batch import run_batch
from talm_sim.store.desk import AnswerStatus, Desk, answer
from talm_sim.store.files import sealing
from talm_sim.store.files.database import connect_reader
from talm_sim.store.files.store import RunStore
from talm_sim.store.housekeeping import rename_run
from talm_sim.store.listing import list_runs
from talm_sim.store.stored_run import StoredRun, load_run
from tests.runs.crafting import changed, unsealed
from tests.runs.scripted import ScriptedRunner, new_run


async def finished_run(directory: Path, number: int = 3, *, asks: int = 0, name: str = "a-run", split: str = "") -> Path:
    run = new_run(directory, number, asks=asks, name=name, **({"split": split} if split else {}))
    async with RunStore.open(run) as store:
        await run_batch(store, ScriptedRunner(), store.progress())
    return run


def is_sealed(run: Path) -> bool:
    with closing(connect_reader(run)) as conn:
        return sealing.is_sealed(conn)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("DELETE FROM episodes WHERE position = 1", "episodes has 2 rows of 3 sealed"),
        (
            "UPDATE episodes SET termination = 'skipped' WHERE position = 1",
            "episodes has all 3 rows, but row 'plain-001' of episodes is damaged",
        ),
        ("UPDATE scenarios SET grp = 'x' WHERE position = 2", "scenarios has all 3 rows, but row 'plain-002' of scenarios is damaged"),
        ("DELETE FROM meta WHERE key = 'tools'", "meta has 0 rows of 1 sealed"),
        ("UPDATE questions SET current = 0", "questions has 1 rows, but not those that were sealed"),
        ("DELETE FROM attempts", "attempts has 0 rows of 3 sealed"),
        ("DELETE FROM answers", "answers has 0 rows of 1 sealed"),
    ],
)
async def test_a_sealed_run_that_does_not_fit_is_refused_with_counts(tmp_path: Path, statement: str, message: str) -> None:
    run = await finished_run(tmp_path, 3)
    with changed(run) as conn:
        conn.execute("INSERT INTO questions VALUES (1, 'plain-000', 1, 'i', 1, 'question', '?', '', 1.5, x'', 0 + 1)")
        conn.execute("INSERT INTO answers VALUES ('plain-000', 1, 'i', 'yes', '', '', 'test', '', '', 1.5, x'')")
    assert load_run(run).finished == 3
    with changed(run, fitting=False) as conn:
        conn.execute(statement)
    with pytest.raises(
        PrerequisiteError, match=rf"^\S+a-run: run\.db: has changed since it was sealed: {message}; restore both files from a copy\.$"
    ):
        load_run(run).summary()
    with pytest.raises(PrerequisiteError, match="has changed since it was sealed"):
        RunStore.open(run)
    (info,) = list_runs(tmp_path)
    assert message in info.problem


async def test_a_body_that_does_not_fit_is_found_when_it_is_read(tmp_path: Path) -> None:
    run = await finished_run(tmp_path)
    with changed(run, fitting=False) as conn:
        conn.execute("UPDATE episodes SET body = (SELECT body FROM episodes WHERE position = 0) WHERE position = 1")
    with pytest.raises(PrerequisiteError, match=r"row 'plain-001' of episodes is damaged: it does not fit its digest"):
        list(load_run(run).episodes())


@pytest.mark.parametrize("name", ["run.json", "run.db"])
async def test_a_file_of_another_run_is_refused(tmp_path: Path, name: str) -> None:
    run, other = await finished_run(tmp_path), await finished_run(tmp_path, name="other", split="perfect")
    shutil.copy(other / name, run / name)
    with pytest.raises(PrerequisiteError, match=r"run\.json is not the one that run\.db was sealed with"):
        load_run(run).summary()
    with pytest.raises(PrerequisiteError, match=r"run\.json is not the one"):
        RunStore.open(run)


async def test_what_a_killed_process_left_is_read_said_and_mended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = await finished_run(tmp_path)
    unsealed(run)
    stored = load_run(run)
    assert (stored.finished, stored.closed) == (3, False)
    for words in (["report", str(run), "--json"], ["show", str(run)], ["runs", "list", "--run-dir", str(tmp_path)]):
        assert main(words) == 0
        out, err = capsys.readouterr()
        assert err.startswith(f"{run}: was not closed properly: resume it with: talm-sim resume {run}\n")
        assert "not closed" not in out
    async with RunStore.open(run):
        pass
    assert load_run(run).closed
    assert is_sealed(run)


async def test_damage_of_an_unsealed_run_is_found_too(tmp_path: Path) -> None:
    run = await finished_run(tmp_path)
    unsealed(run)
    with changed(run, fitting=False) as conn:
        conn.execute("UPDATE attempts SET attempt = 7 WHERE episode_id = 'plain-001'")
    with pytest.raises(PrerequisiteError, match="row 'plain-001' of attempts is damaged"):
        load_run(run).finished  # noqa: B018


async def test_answers_keep_the_seal_and_make_one_after_a_kill(tmp_path: Path) -> None:
    run = await finished_run(tmp_path, 3, asks=2)
    for _ in range(2):
        with closing(Desk(run)) as desk:
            assert desk.answer("ask-000", "Paris", held=True) is AnswerStatus.SAVED
        key = next(question for question in load_run(run).answered())
        assert key == "ask-000"
        assert load_run(run).closed
        assert is_sealed(run)
        with closing(connect_reader(run)) as conn:
            filed = conn.execute("SELECT episode_id, attempt, interrupt_id FROM answers").fetchone()
        with closing(Desk(run)) as desk:
            assert desk.withdraw(filed)
        assert load_run(run).open_items.total() == 2
    unsealed(run)
    assert answer(run, "ask-000", "Paris") is AnswerStatus.SAVED
    assert is_sealed(run)
    assert load_run(run).closed
    async with RunStore.open(run):
        assert answer(run, "ask-001", "Rome") is AnswerStatus.DELIVERED
        assert not is_sealed(run), "its owner seals it"
    assert load_run(run).open_items.total() == 0


async def test_an_answer_hides_no_damage(tmp_path: Path) -> None:
    run = await finished_run(tmp_path, 3, asks=2)
    with changed(run, fitting=False) as conn:
        conn.execute("DELETE FROM episodes")
    assert answer(run, "ask-000", "Paris") is AnswerStatus.SAVED
    with pytest.raises(PrerequisiteError, match="episodes has 0 rows of 1 sealed"):
        load_run(run).finished  # noqa: B018


async def test_a_run_is_called_what_its_directory_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = await finished_run(tmp_path)
    before = {name: (run / name).read_bytes() for name in sorted(os.listdir(run))}
    assert (list(before), b"a-run" in before["run.json"]) == (["run.db", "run.json"], False)
    renamed = rename_run(run, "mine")
    assert {name: (renamed / name).read_bytes() for name in sorted(os.listdir(renamed))} == before
    shutil.copytree(renamed, tmp_path / "elsewhere" / "a copy")
    (tmp_path / "link").symlink_to(renamed)
    for place in (renamed, tmp_path / "elsewhere" / "a copy", tmp_path / "link"):
        assert (load_run(place).id, load_run(place).finished) == (place.name, 3)
        assert load_run(place).summary_records()[0]["run"] == place.name
    monkeypatch.chdir(renamed)
    assert (load_run(".").id, load_run("../mine").id, StoredRun(Path("../elsewhere/../mine")).id) == ("mine", "mine", "mine")
    async with RunStore.open(tmp_path / "elsewhere" / "a copy"):
        pass


async def test_a_renaming_that_fails_leaves_every_name_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["a-run", "a-run.sim-oracle"]
    for name in names:
        await finished_run(tmp_path, name=name)
    rename = os.rename

    def fails(source: Path, target: Path) -> None:
        if target.name == "mine":
            raise OSError(13, "Permission denied")
        rename(source, target)

    monkeypatch.setattr("talm_sim.store.housekeeping.os.rename", fails)
    with pytest.raises(PrerequisiteError, match=r"a-run: cannot be changed \(Permission denied\); check who may write there\.$"):
        rename_run(tmp_path / "a-run", "mine")
    assert [(info.id, info.finished, info.problem) for info in list_runs(tmp_path)] == [(name, 3, "") for name in names]


async def test_a_commit_that_was_killed_halfway_is_taken_back_by_whoever_reads(tmp_path: Path) -> None:
    run = await finished_run(tmp_path)
    with closing(sqlite3.connect(run / "run.db", isolation_level=None)) as conn:
        conn.execute("PRAGMA cache_size=1")
        conn.execute("PRAGMA cache_spill=1")
        conn.execute("BEGIN IMMEDIATE")
        for number in range(200):
            conn.execute("INSERT INTO answers VALUES ('x', ?, 'i', ?, '', '', 'r', '', '', 1.5, x'')", (number, "y" * 3000))
        copy = tmp_path / "copy"
        shutil.copytree(run, copy)
        conn.execute("ROLLBACK")
    assert (copy / "run.db-journal").stat().st_size
    assert load_run(copy).finished == 3
    assert load_run(copy).closed
