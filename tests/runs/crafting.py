"""Runs as a stranger could make them: changed by hand, and every digest and the seal made to fit."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from talm_sim.runs import sealing
from talm_sim.runs.manifest import stamp
from talm_sim.runs.rows import KEYS, ORDER, WITH_BODY, _digest


@contextmanager
def changed(run: Path, *, fitting: bool = True) -> Iterator[sqlite3.Connection]:
    """A plain connection to a run's database; when it is left, all digests fit again, unless they are not to."""
    with closing(sqlite3.connect(run / "run.db", isolation_level=None)) as conn:
        conn.execute("BEGIN")
        yield conn
        if fitting:
            for table in KEYS:
                make_fit(conn, table)
            sealing.take_away(conn)
            sealing.seal(conn, stamp(run))
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
        sealing.take_away(conn)
