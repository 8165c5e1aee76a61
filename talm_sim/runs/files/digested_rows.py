"""Rows of a run's database. Each carries a digest over its keys and body, made when it is written and checked when it is read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, Literal

from talm_sim.errors import PrerequisiteError
from talm_sim.runs.files.database import DATABASE

__all__ = ["BESIDE", "KEYS", "ORDER", "WITH_BODY", "check_database", "check_rows", "insert_row", "row", "rows"]

KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "meta": ("key", "value"),
    "scenarios": ("position", "id", "grp"),
    "attempts": ("episode_id", "attempt"),
    "episodes": ("id", "scenario_id", "grp", "epoch", "position", "attempt", "termination"),
    "verdicts": ("episode_id", "judge", "judge_config_digest", "failed"),
    "waiting": ("episode_id", "scenario_id", "epoch", "attempt"),
    "questions": ("episode_id", "attempt", "interrupt_id", "ask", "question", "asked_at"),
    "answers": ("episode_id", "attempt", "interrupt_id", "answer", "declined", "responder", "answered_at"),
}
"""Every table but the lease, and the columns its digest is over."""
WITH_BODY: Final = {"scenarios", "episodes", "verdicts", "waiting"}
"""Tables whose rows have a packed document, which the digest is over as well."""
BESIDE: Final = {"questions": ("number", "current")}
"""Columns that the digest leaves out: SQLite gives the one, and the other changes while the row stays."""
ORDER: Final = {
    "meta": "key",
    "scenarios": "position",
    "attempts": "episode_id",
    "episodes": "epoch, position",
    "verdicts": "episode_id, judge, judge_config_digest",
    "waiting": "episode_id",
    "questions": "number",
    "answers": "episode_id, attempt, interrupt_id",
}
"""The order in which a table is read from its beginning to its end, through an index it has."""


_INTEGERS: Final = {"position", "attempt", "epoch", "failed", "ask", "number", "current"}
_REALS: Final = {"asked_at", "answered_at"}
_BLOBS: Final = {"digest", "body"}
_OTHERWISE: Final = {
    "verdicts": ("failed NOT IN (0, 1)",),
    "questions": ("current NOT IN (0, 1, 2, 3, 4)",),
    "answers": ("declined NOT IN ('', 'idk', 'skip')",),
}
"""What else a row must not hold, in SQL."""


def insert_row(
    conn: sqlite3.Connection, table: str, *values: str | int | float, body: bytes | None = None, either: Literal["", "REPLACE", "IGNORE"] = ""
) -> bool:
    """Within a transaction: add a row with its digest; False where one of these keys stands, and stays.

    Args:
        conn: A connection for writing.
        table: One of `KEYS`.
        *values: In the order of its keys.
        body: Of a table with documents.
        either: What to do where a row of these keys stands; by default, that is an error.
    """
    names = (*KEYS[table], "digest", *(("body",) if table in WITH_BODY else ()))
    filled = (*values, _digest(table, values, body or b""), *((body,) if table in WITH_BODY else ()))
    verb = f"INSERT OR {either}" if either else "INSERT"
    return conn.execute(f"{verb} INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})", filled).rowcount == 1


def rows(conn: sqlite3.Connection, table: str, which: str = "", values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
    """Rows of a table, each with its keys and then its body, where the table has one.

    Args:
        conn: Any connection.
        table: One of `KEYS`.
        which: What follows the table in the query.
        values: For its question marks.

    Raises:
        PrerequisiteError: A row does not fit its digest.
    """
    size = len(KEYS[table])
    names = ", ".join((*KEYS[table], "digest", *(("body",) if table in WITH_BODY else ())))
    for row in conn.execute(f"SELECT {names} FROM {table} {which}", values):
        keys, digest, body = row[:size], row[size], row[size + 1] if len(row) > size + 1 else b""
        if not isinstance(body, bytes) or _digest(table, keys, body) != digest:
            raise PrerequisiteError(
                f"{DATABASE}: row {_row_name(table, keys)} of {table} is damaged: it does not fit its digest; restore the file from a copy."
            )
        yield (*keys, body) if table in WITH_BODY else keys


def row(conn: sqlite3.Connection, table: str, which: str, values: Sequence[Any]) -> tuple[Any, ...]:
    """The one row there must be; arguments as of `rows`.

    Raises:
        PrerequisiteError: It is not there, or does not fit its digest.
    """
    for found in rows(conn, table, which, values):
        return found
    raise PrerequisiteError(f"{DATABASE}: a row of {table} is missing ({', '.join(map(str, values))}); restore the file from a copy.")


def check_database(conn: sqlite3.Connection) -> None:
    """Look through a whole file: its pages, indexes and types of values, and that its rows name scenarios there are.

    SQLite checks neither types nor what a column may hold where it only reads. Pages that lead in a circle would keep a query busy for ever,
    and a damaged index would leave rows out in silence.

    Raises:
        PrerequisiteError: It is damaged.
    """
    ((found,),) = conn.execute("PRAGMA integrity_check(1)").fetchall()
    if found != "ok":
        raise PrerequisiteError(f"{DATABASE}: is damaged ({found}); restore the file from a copy.")
    for table in KEYS:
        wrong = " OR ".join([*(f"typeof({name}) != '{kind}'" for name, kind in _kinds(table).items()), *_OTHERWISE.get(table, ())])
        found = conn.execute(f"SELECT 1 FROM {table} WHERE {wrong} LIMIT 1").fetchone()
        if found:
            raise PrerequisiteError(f"{DATABASE}: a row of {table} holds what its column cannot; restore the file from a copy.")
    for table, episode in (("episodes", "id"), ("waiting", "episode_id")):
        lost = conn.execute(
            f"SELECT {episode}, scenario_id, epoch FROM {table} WHERE epoch < 1 OR scenario_id NOT IN (SELECT id FROM scenarios)"
            f" OR {episode} != scenario_id || CASE epoch WHEN 1 THEN '' ELSE '@' || epoch END LIMIT 1"
        ).fetchone()
        if lost:
            raise PrerequisiteError(
                f"{DATABASE}: {table}: '{lost[0]}' is not an episode of the run (scenario '{lost[1]}', epoch {lost[2]});"
                " restore the file from a copy."
            )


def _kinds(table: str) -> dict[str, str]:
    """The type of each column of a table, in SQLite's words."""
    names = (*KEYS[table], *BESIDE.get(table, ()), "digest", *(("body",) if table in WITH_BODY else ()))
    return {name: "integer" if name in _INTEGERS else "real" if name in _REALS else "blob" if name in _BLOBS else "text" for name in names}


def check_rows(conn: sqlite3.Connection, tables: Sequence[str] = tuple(KEYS)) -> None:
    """Read every row of some tables, bodies included.

    Raises:
        PrerequisiteError: One does not fit its digest.
    """
    for table in tables:
        for _ in rows(conn, table):
            pass


def _digest(table: str, keys: Sequence[Any], body: bytes) -> bytes:
    # `ascii` spells every value in one way in every version of Python, and ends before the body begins.
    found = blake2b(ascii((table, *keys)).encode("ascii"), digest_size=16)
    found.update(body)
    return found.digest()


def _row_name(table: str, keys: Sequence[Any]) -> str:
    return repr(keys[1] if table == "scenarios" else keys[0])
