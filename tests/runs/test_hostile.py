"""A run directory may come from anyone: whatever lies in it, each command says one line and ends."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from talm_sim.cli import main
from talm_sim.runs.api import run
from talm_sim.runs.database import pack
from tests.runs.crafting import changed
from tests.runs.recorded_world import make_world

VERBS = (["report", "RUN", "--json"], ["show", "RUN"], ["resume", "RUN"], ["judge", "RUN"], ["answer", "RUN", "--list"])
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"


@pytest.fixture
def bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run that waits for four answers, and a sound one beside it."""
    monkeypatch.chdir(tmp_path)
    world = make_world(tmp_path)
    run(**world, run_id="good")
    return run(**{**world, "split": "underspecified", "model": "sim/asker", "human": "terminal"}, run_id="bad").path


def sql(*statements: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with changed(path) as conn:
            for statement in statements:
                conn.execute(statement)

    return change


def link_to(name: str, target: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        (path / name).unlink(missing_ok=True)
        (path / name).symlink_to(target)

    return change


def pipe(name: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        (path / name).unlink(missing_ok=True)
        os.mkfifo(path / name)

    return change


def state(**values: object) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with changed(path) as conn:
            conn.execute("UPDATE waiting SET body = ?", (pack(json.dumps({"state": values, "progress": []})),))

    return change


def large(path: Path) -> None:
    (path / "run.json").write_text(" " * 2**24)


HOSTILE = {
    "endless view": (sql(f"CREATE VIEW v AS {ENDLESS}"), r"its tables are not those of a run \(view 'v'\)"),
    "trigger": (sql("CREATE TRIGGER t BEFORE INSERT ON attempts BEGIN SELECT raise(ABORT, 'no'); END"), r"trigger 't'"),
    "index": (sql("CREATE INDEX i ON episodes (termination)"), r"index 'i'"),
    "table": (sql("CREATE TABLE t (x)"), r"table 't'"),
    "column": (sql("ALTER TABLE episodes ADD COLUMN x"), r"table 'episodes'"),
    "hidden view": (
        sql("PRAGMA writable_schema=1", f"INSERT INTO sqlite_schema VALUES ('view', 'sqlite_v', 'sqlite_v', 0, 'CREATE VIEW sqlite_v AS {ENDLESS}')"),
        r"run\.db",
    ),
    "unknown scenario": (sql("UPDATE waiting SET scenario_id = 'x'"), r"waiting: 'towns-\S+' is no episode of the run"),
    "unknown episode": (sql("UPDATE waiting SET episode_id = 'x' WHERE scenario_id LIKE '%oslo%'"), r"waiting: 'x' is no episode of the run"),
    "text attempt": (sql("UPDATE attempts SET attempt = 'x'"), r"a row of attempts holds what its column cannot"),
    "blob id": (sql("UPDATE attempts SET episode_id = x'00' WHERE episode_id LIKE '%oslo%'"), "a row of attempts"),
    "state": (state(asks=7), r"waiting episode 'towns-\S+' is damaged: Value error|state"),
    "perturbations": (state(asks={}, perturbations={"calls": "x", "counts": []}), r"waiting episode"),
    "link to run.db": (link_to("run.db", "../good/run.db"), r"run\.db: is a link, and must be a plain file"),
    "link to run.json": (link_to("run.json", "../good/run.json"), r"run\.json: is a link"),
    "link to checkpoints": (link_to("checkpoints.db", "/tmp/talm-sim-written"), r"checkpoints\.db: is a link"),
    "log": (link_to("run.db-wal", "/dev/zero"), r"run\.db-wal: is a link"),
    "pipe": (pipe("run.json"), r"run\.json: is a pipe or device|no such run|is no run"),
    "pipe of a database": (pipe("run.db"), r"run\.db: is a pipe or device"),
    "zeros": (link_to("run.json", "/dev/zero"), r"run\.json: is a link|no such run|is no run"),
    "large": (large, r"run\.json: is larger than it can be"),
}  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize("case", HOSTILE)
def test_every_command_says_one_line_and_ends(bad: Path, capsys: pytest.CaptureFixture[str], case: str) -> None:
    make, message = HOSTILE[case]
    make(bad)
    inside = case in ("state", "perturbations")  # what only who goes on with it looks at
    import re

    for words in VERBS:
        began = time.monotonic()
        code = main([str(bad) if word == "RUN" else word for word in words])
        err = capsys.readouterr().err
        if inside and words[0] in ("report", "judge") and code != 2:
            continue
        assert code == 2, (words, err)
        assert err.count("\n") == 1, err
        assert re.search(message, err), err
        assert time.monotonic() - began < 20
    assert main(["runs", "list", "--json"]) == 0
    listed = {one["id"]: one for one in json.loads(capsys.readouterr().out)}
    assert listed["good"]["finished"] == 4
    assert inside or "bad" not in listed or listed["bad"]["problem"]
    assert not Path("/tmp/talm-sim-written").exists()


def test_a_heart_that_beats_in_the_future_keeps_nobody_out(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with changed(bad) as conn:
        conn.execute("INSERT INTO lease VALUES (1, 't', 99999999999999, 'elsewhere', 'x', ?)", (time.time() + 1e9,))
    assert main(["resume", str(bad), "-q"]) == 1
    assert "question" in capsys.readouterr().err


def test_the_folder_of_runs_and_a_run_may_be_links(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("elsewhere").symlink_to(bad.parent)
    Path("one").symlink_to(bad)
    assert main(["report", "one", "--json"]) == main(["report", "good", "--run-dir", "elsewhere", "--json"]) == 0
