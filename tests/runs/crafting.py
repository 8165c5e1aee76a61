"""Runs as a stranger could make them: changed by hand, and every digest and the seal made to fit."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from talm_sim.store.files import sealing
from talm_sim.store.files.database import pack
from talm_sim.store.files.manifest import stamp_in
from talm_sim.store.files.sealing import KEYS, ORDER, WITH_BODY, _digest


@contextmanager
def changed(run: Path, *, fitting: bool = True) -> Iterator[sqlite3.Connection]:
    """A plain connection to a run's database; when it is left, all digests fit again, unless they are not to."""
    with closing(sqlite3.connect(run / "run.db", isolation_level=None)) as conn:
        conn.execute("BEGIN")
        yield conn
        if fitting:
            for table in KEYS:
                make_fit(conn, table)
            sealing.remove_seal(conn)
            sealing.seal(conn, stamp_in(run))
        conn.execute("COMMIT")


def make_fit(conn: sqlite3.Connection, table: str) -> None:
    keys, names = KEYS[table], ", ".join((*KEYS[table], *(("body",) if table in WITH_BODY else ())))
    for row in conn.execute(f"SELECT {names} FROM {table}").fetchall():
        body = row[-1] if table in WITH_BODY else b""
        digest = _digest(table, row[: len(keys)], body if isinstance(body, bytes) else b"")
        where = " AND ".join(f"{key} IS ?" for key in ORDER[table].split(", "))
        named = [row[keys.index(key)] for key in ORDER[table].split(", ")] if table != "questions" else []
        if table == "questions":
            where, named = "episode_id IS ? AND attempt IS ? AND interrupt_id IS ?", list(row[:3])
        conn.execute(f"UPDATE {table} SET digest = ? WHERE {where}", (digest, *named))


def unsealed(run: Path) -> None:
    """Leave a run as a killed process leaves it."""
    with changed(run, fitting=False) as conn:
        sealing.remove_seal(conn)


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"


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


HOSTILE: dict[str, tuple[Callable[[Path], None], str]] = {
    "endless view": (sql(f"CREATE VIEW v AS {ENDLESS}"), r"it does not have the tables of a run \(view 'v'\)"),
    "trigger": (sql("CREATE TRIGGER t BEFORE INSERT ON attempts BEGIN SELECT raise(ABORT, 'no'); END"), r"trigger 't'"),
    "index": (sql("CREATE INDEX i ON episodes (termination)"), r"index 'i'"),
    "table": (sql("CREATE TABLE t (x)"), r"table 't'"),
    "column": (sql("ALTER TABLE episodes ADD COLUMN x"), r"table 'episodes'"),
    "hidden view": (
        sql(
            "PRAGMA writable_schema=1",
            f"INSERT INTO sqlite_schema VALUES ('view', 'sqlite_v', 'sqlite_v', 0, 'CREATE VIEW sqlite_v AS {ENDLESS}')",
        ),
        r"run\.db",
    ),
    "unknown scenario": (sql("UPDATE waiting SET scenario_id = 'x'"), r"waiting: 'towns-\S+' is not an episode of the run"),
    "unknown episode": (
        sql("UPDATE waiting SET episode_id = 'x' WHERE episode_id = (SELECT min(episode_id) FROM waiting)"),
        r"waiting: 'x' is not an episode of the run",
    ),
    "text attempt": (sql("UPDATE attempts SET attempt = 'x'"), r"a row of attempts holds what its column cannot"),
    "blob id": (sql("UPDATE attempts SET episode_id = x'00' WHERE episode_id = (SELECT min(episode_id) FROM attempts)"), "a row of attempts"),
    "state": (state(asks=7), r"waiting episode 'towns-\S+' is damaged: Value error|state"),
    "perturbations": (state(asks={}, perturbations={"calls": "x", "counts": []}), r"waiting episode"),
    "link to run.db": (link_to("run.db", "../good/run.db"), r"run\.db: is a link, but must be a plain file"),
    "link to run.json": (link_to("run.json", "../good/run.json"), r"run\.json: is a link"),
    "link to checkpoints": (link_to("checkpoints.db", "../../written-through"), r"checkpoints\.db: is a link"),
    "log": (link_to("run.db-wal", "/dev/zero"), r"run\.db-wal: is a link"),
    "pipe": (pipe("run.json"), r"run\.json: is a pipe|no such run|is not a run"),
    "pipe of a database": (pipe("run.db"), r"run\.db: is a pipe"),
    "zeros": (link_to("run.json", "/dev/zero"), r"run\.json: is a link|no such run|is not a run"),
    "large": (large, r"run\.json: it is larger than 8 MiB"),
}  # fmt: skip
"""How a run directory is made a hostile one, and what is said of it; the run waits for answers, and `good` lies beside it."""
INSIDE = ("state", "perturbations")
"""Those that only who goes on with the run, or answers it, looks at."""
