from __future__ import annotations

import pickle
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.runs.api import judge, run
from talm_sim.runs.batch import run_batch
from talm_sim.store.desk import answer
from talm_sim.store.files.database import pack
from talm_sim.store.files.store import RunStore
from talm_sim.store.listing import list_runs
from talm_sim.store.stored_run import load_run
from talm_sim.types import Termination
from tests.runs.crafting import changed
from tests.runs.recorded_world import make_world
from tests.runs.scripted import ScriptedRunner, finished, new_run, scenarios


async def finished_run(directory: Path, number: int = 3, *, asks: int = 0) -> Path:
    run = new_run(directory, number, asks=asks)
    async with RunStore.open(run) as store:
        await run_batch(store, ScriptedRunner(), store.progress())
    return run


async def test_episodes_come_back_as_they_were_stored(tmp_path: Path) -> None:
    run = new_run(tmp_path, 2)
    first, second = scenarios(2)
    kept = finished(first, termination=Termination.TURN_LIMIT, answer="Ünïcödé \u2028 \x00 end", error="x" * 100_000)
    async with RunStore.open(run) as store:
        await store.finish(finished(second), 1)
        await store.finish(kept, 0)
    stored = load_run(run)
    assert list(stored.episodes()) == [kept, finished(second)]
    assert stored.episode(first.id) == kept
    assert list(stored.episodes("underspecified")) == []


@pytest.mark.parametrize(
    ("episode_id", "message"),
    [
        ("plain-1", r"no episode 'plain-1'\. Did you mean 'plain-00"),
        ("zzz", r"no episode 'zzz'\. Finished episodes: plain-001, plain-002\."),
        ("ask-000", r"episode 'ask-000' is waiting for a person; see: talm-sim answer "),
        ("plain-009", r"episode 'plain-009' is not finished; continue with: talm-sim resume "),
    ],
)
async def test_an_episode_that_is_not_there_is_explained(tmp_path: Path, episode_id: str, message: str) -> None:
    run = await finished_run(tmp_path, 3, asks=1)
    with changed(run) as conn:
        conn.execute("INSERT INTO attempts VALUES ('plain-009', 1, x'')")
    with pytest.raises(PrerequisiteError, match=message):
        load_run(run).episode(episode_id)


class Crafted:
    """What a hostile run directory would like to be executed."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (exec, ("raise SystemExit('executed')",))


@pytest.mark.parametrize(
    "body",
    [
        pickle.dumps(Crafted()),
        zlib.compress(pickle.dumps(Crafted())),
        pack("{}"),
        pack('{"id": 1}'),
        pack("{}")[:-3],
        "text",
        b"",
    ],
    ids=["pickle", "packed-pickle", "empty", "wrong", "cut", "text", "nothing"],
)
async def test_a_damaged_or_crafted_row_is_an_error_not_code(tmp_path: Path, body: bytes | str) -> None:
    run = await finished_run(tmp_path)
    with changed(run) as conn:
        conn.execute("UPDATE episodes SET body = ? WHERE id = 'plain-001'", (body,))
    with pytest.raises(PrerequisiteError, match=r"run\.db: (.* is damaged|a row of episodes holds what its column cannot)"):
        list(load_run(run).episodes())


async def test_another_database_is_no_run(tmp_path: Path) -> None:
    run = await finished_run(tmp_path)
    (run / "run.db").unlink()
    with pytest.raises(PrerequisiteError, match=r"run\.db: cannot be opened"):
        load_run(run).finished  # noqa: B018
    with closing(sqlite3.connect(run / "run.db")) as conn:
        conn.execute("CREATE TABLE episodes (id TEXT)")
    with pytest.raises(PrerequisiteError, match="is not a run database of talm-sim"):
        RunStore.open(run)


@pytest.mark.parametrize("value", ['{"judge": 3}', '{"options": 5, "unknown": 1}'])
async def test_damaged_facts_about_a_run_are_an_error_in_one_line(tmp_path: Path, value: str) -> None:
    run = await finished_run(tmp_path)
    with changed(run) as conn:
        conn.execute("INSERT INTO meta VALUES ('scoring', ?, x'')", (value,))
    with pytest.raises(PrerequisiteError, match=r"a-run: run\.db cannot be read \([^\n]+\)\.$"):
        load_run(run).config  # noqa: B018


async def test_an_option_that_no_task_knows_is_named_with_the_run(tmp_path: Path) -> None:
    run = await finished_run(tmp_path)
    with changed(run) as conn:
        conn.execute("INSERT INTO meta VALUES ('scoring', '{\"unknown\": 1}', x'')")
    with pytest.raises(PrerequisiteError, match=r"a-run: unknown: unknown option of task talm\.[^\n]+$"):
        load_run(run).summary()


@pytest.mark.parametrize(("key", "value"), [("scoring", "{"), ("scoring", "[]"), ("judges", "[[1, 2], 3]"), ("total", "{}"), ("tools", "5")])
async def test_a_fact_of_another_shape_is_damage(tmp_path: Path, key: str, value: str) -> None:
    run = await finished_run(tmp_path)
    with changed(run) as conn:
        conn.execute("INSERT OR REPLACE INTO meta VALUES (?, ?, x'')", (key, value))
    stored = load_run(run)
    with pytest.raises(PrerequisiteError, match=rf"^run\.db: '{key}' is damaged: [^\n]+; restore the file from a copy\.$"):
        _ = stored.total, stored.summary()


@pytest.mark.parametrize("body", ["[]", '{"state": 5, "progress": []}', '{"state": {}, "progress": [{"type": "tool"}]}', '{"state": {}}'])
async def test_a_damaged_pause_is_an_error_in_one_line(tmp_path: Path, body: str) -> None:
    run = await finished_run(tmp_path, asks=1)
    with changed(run) as conn:
        conn.execute("UPDATE waiting SET body = ?", (pack(body),))
    with pytest.raises(PrerequisiteError, match=r"^run\.db: waiting episode 'ask-000' is damaged: [^\n]+$"):
        load_run(run).pending()
    async with RunStore.open(run) as store:
        with pytest.raises(PrerequisiteError, match="waiting episode"):
            store.paused_episodes()


async def test_a_run_on_a_read_only_file_system_is_read_but_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = await finished_run(tmp_path, asks=1)
    connect = sqlite3.connect

    def read_only(database: str, **options: object) -> sqlite3.Connection:
        # What SQLite falls back to where the file system admits no writing; permissions do not hold for an administrator.
        opened: sqlite3.Connection = connect(database.replace("mode=rw", "mode=ro"), **options)  # type: ignore[call-overload]
        return opened

    monkeypatch.setattr(sqlite3, "connect", read_only)
    message = r"run\.db: cannot be written \(attempt to write a readonly database\)\.$"
    with pytest.raises(PrerequisiteError, match=message):
        RunStore.open(run)
    (question,) = load_run(run).pending()[:1]
    with pytest.raises(PrerequisiteError, match=message):
        answer(run, question.episode_id, "Paris")


def test_every_export_carries_the_settings_of_its_run(tmp_path: Path) -> None:
    world = {**make_world(tmp_path), "tools": "replay", "scenario": "towns-rome"}

    async def act(messages: Any, tools: Any) -> str:
        return "41"

    clean = run(**world)
    struck = run(**{**world, "perturb": ("http-500:p=0.5", "timeout"), "seed": 7, "temperature": 0.5})
    own = run(**{**{name: value for name, value in world.items() if name != "model"}, "agent": act})
    names = ("task", "split", "model", "agent", "human", "perturb", "tools_from", "tools", "seed", "temperature")
    expected = {
        clean.id: ("talm", "perfect", "sim/oracle", None, "none", "", "", "replay", 0, 1.0),
        struck.id: ("talm", "perfect", "sim/oracle", None, "none", "http-500:p=0.5 timeout", "", "replay", 7, 0.5),
        own.id: ("talm", "perfect", own.config.model, own.config.options["agent"], "none", "", "", "replay", 0, 1.0),
    }
    assert own.config.options["agent"].endswith("act")
    for stored in (clean, struck, own):
        (row,), (group,) = stored.to_records(), stored.summary_records()
        assert tuple(row[name] for name in names) == tuple(group[name] for name in names) == expected[stored.id]
        assert (row["category"], row["scenario"], "category" in group) == ("towns", "towns-rome", False)
    assert list(clean.to_records()[0])[:2] == ["run", "episode"] and next(iter(clean.summary_records()[0])) == "run"
    listed = {info.id: (info.agent, info.perturb) for info in list_runs(world["run_dir"])}
    assert listed == {
        clean.id: ("", ()),
        struck.id: ("", ("http-500:p=0.5", "timeout")),
        own.id: (own.config.options["agent"], ()),
    }


def test_a_summary_is_computed_once_for_the_files_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = run(**{**make_world(tmp_path), "human": "none", "tools": "replay"}, progress=False)
    counted: list[str] = []
    summarize: Any = type(stored.job.task).summarize

    def count(rows: Any, view: Any) -> Any:
        counted.append(view.id)
        return summarize(rows, view)

    monkeypatch.setattr(type(stored.job.task), "summarize", staticmethod(count))
    first = stored.summary()
    assert first == load_run(stored.path).summary() and counted == [stored.id], "the run itself has computed it already"
    assert stored.summary(stored.rows()[:1]) != first, "of other rows it is another one"
    assert stored.summary() == first
    del counted[:]
    judge(stored.path, progress=False)
    assert stored.summary() == first
    assert counted == [stored.id] * 2, "by the judging, and again, as the files have changed"
