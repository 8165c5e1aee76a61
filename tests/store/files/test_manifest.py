from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError
from talm_sim.store.files.manifest import describe_run, find_run
from talm_sim.store.files.records import write_episode
from talm_sim.store.files.store import create_run
from talm_sim.store.listing import list_runs
from talm_sim.store.stored_run import load_run
from tests.runs.scripted import finished, new_run, scenarios


def test_nothing_to_run_and_an_id_twice_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match="nothing to run"):
        new_run(tmp_path, 0)
    with pytest.raises(PrerequisiteError, match="'plain-000' is used twice; ids must be unique"):
        describe_run(RunConfig(), [*scenarios(1), *scenarios(1)])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 9}, r"run\.json: has run format 9, made by talm-sim \S+; this version reads format 6: upgrade talm-sim\.$"),
        ({"config": {"model": "nothing"}}, "config: model: 'nothing' is not a model name"),
        ({"unknown": 1}, "unknown: there is no such key"),
    ],
)
def test_a_damaged_manifest_is_named(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = new_run(tmp_path) / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(PrerequisiteError, match=message):
        load_run(path.parent)
    path.write_text("{")
    with pytest.raises(PrerequisiteError, match=r"run\.json: document: Invalid JSON"):
        load_run(path.parent)


def test_runs_are_listed_and_a_damaged_one_with_its_problem(tmp_path: Path) -> None:
    new_run(tmp_path, 4, name="good", epochs=2)
    (new_run(tmp_path, name="bad") / "run.db").write_bytes(b"not a database" * 100)
    (tmp_path / ".draft").mkdir()
    (tmp_path / ".draft" / "run.json").write_text("{}")
    bad, good = list_runs(tmp_path)
    assert (good.id, good.finished, good.total, good.waiting, good.owner, good.problem) == ("good", 0, 8, 0, None, "")
    assert bad.id == "bad"
    assert "run.db: cannot be read" in bad.problem
    assert list_runs(tmp_path / "none") == []


def at(monkeypatch: pytest.MonkeyPatch, second: int) -> None:
    monkeypatch.setattr("talm_sim.store.files.manifest.time.strftime", lambda *_: f"2026-01-02T03:04:{second:02}Z")


def test_a_run_is_found_by_its_beginning_where_no_other_begins_so(tmp_path: Path) -> None:
    for name in ("20260102-asker", "20260102-asker.sim-oracle", "20260103-other", "20260103-other-2", "20260103-other-2.sim-oracle"):
        new_run(tmp_path, name=name)
    assert find_run("20260102", tmp_path).name == "20260102-asker"  # its control makes no doubt
    assert find_run("20260102-asker.s", tmp_path).name == "20260102-asker.sim-oracle"
    assert find_run("20260103-other", tmp_path).name == "20260103-other"  # the whole name of one
    assert find_run(tmp_path / "20260103-other-", Path("elsewhere")).name == "20260103-other-2"
    with pytest.raises(PrerequisiteError, match=r"^'2026' matches 3 runs: 20260102-asker, 20260103-other, 20260103-other-2; write"):
        find_run("2026", tmp_path)
    for no_name in ("", ".", "..", "4"):
        with pytest.raises(PrerequisiteError, match="no such run"):
            find_run(no_name, tmp_path / "")


def test_latest_is_the_newest_run_that_is_no_control(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PrerequisiteError, match=r"there are no runs here yet; start one with: talm-sim run"):
        find_run("latest", tmp_path)
    for second, name in enumerate(("z-first", "b-last", "b-last.sim-oracle", "b-last.sim-cautious")):
        at(monkeypatch, second)
        new_run(tmp_path, name=name)
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "run.json").write_text("{")
    assert find_run("latest", tmp_path) == load_run("latest", tmp_path).path == tmp_path / "b-last"
    (tmp_path / "b-last").rename(tmp_path / "b-other")
    assert find_run("latest", tmp_path).name == "b-last.sim-cautious", "it stands beside no run"
    (tmp_path / "b-other").rename(tmp_path / "b-last")
    new_run(tmp_path, name="a-same-second")
    at(monkeypatch, 3)
    new_run(tmp_path, name="a-later-in-it")
    assert find_run(tmp_path / "latest").name == "a-later-in-it"
    with pytest.raises(PrerequisiteError, match=r"^--run-id: 'latest' always means the newest run; choose another name"):
        new_run(tmp_path, name="latest")


def test_an_episode_is_found_by_its_beginning(tmp_path: Path) -> None:
    made = [finished(scenario, epoch=epoch, attempt=1) for epoch in (1, 2) for scenario in scenarios(2)]

    def fill(conn: sqlite3.Connection) -> None:
        for position, episode in enumerate(made):
            write_episode(conn, episode, position)

    manifest = describe_run(RunConfig(model="sim/scripted", epochs=2), scenarios(2))
    run = load_run(create_run(tmp_path, "x", manifest, scenarios(2), fill=fill))
    assert run.episode("plain-001").id == "plain-001"  # the whole id of one, though another goes on from it
    assert (run.episode("plain-001@").epoch, run.episode("plain-001").epoch) == (2, 1)
    with pytest.raises(PrerequisiteError, match=r"^'plain' matches 2 episodes: plain-000, plain-001; write more of the name\.$"):
        run.episode("plain")
