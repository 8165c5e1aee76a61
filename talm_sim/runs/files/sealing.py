"""The seal of a run that nobody writes: how many rows each table has, and what they add up to. It shows what is lost or was exchanged.

It is no signature: who can write the file can seal it. It stands among the small facts, is taken away in the transaction in which an owner
takes the run, and comes back when the owner gives it back.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from talm_sim.errors import PrerequisiteError
from talm_sim.runs.files.database import DATABASE
from talm_sim.runs.files.digested_rows import BESIDE, KEYS, ORDER, check_database, check_rows, insert_row, rows
from talm_sim.runs.files.lease import is_owned

__all__ = ["Entry", "check_fits", "is_sealed", "keep_sealed", "remove_seal", "seal", "stamp_of"]

_SEAL: Final = "seal"
_SIZE: Final = 16
_ADDED: Final = {"questions", "answers"}
"""Tables that grow by a row while nobody owns the run: theirs is a sum, so that one more row costs no look at the others."""
_RESTORE: Final = "restore both files from a copy."
Entry = tuple[int, str]
"""How many rows, and what they add up to."""


class _Seal(BaseModel):
    stamp: str
    """See `stamp_of`."""
    tables: dict[str, Entry]


def seal(conn: sqlite3.Connection, stamp: str) -> None:
    """Within a transaction: seal what is there."""
    _write(conn, _Seal(stamp=stamp, tables={table: _digest_table(conn, table) for table in KEYS}))


def remove_seal(conn: sqlite3.Connection) -> None:
    """Within a transaction: take the seal away."""
    conn.execute("DELETE FROM meta WHERE key = ?", (_SEAL,))


def is_sealed(conn: sqlite3.Connection) -> bool:
    """Whether there is a seal."""
    return conn.execute("SELECT 1 FROM meta WHERE key = ?", (_SEAL,)).fetchone() is not None


def check_fits(conn: sqlite3.Connection, stamp: str, *, owned: bool) -> bool:
    """See that a run is as it was left; one that was not sealed is looked through row by row, unless a living process owns it.

    Args:
        conn: Any connection.
        stamp: Of the `run.json` that lies there.
        owned: Whether a living process holds the run.

    Returns:
        Whether it is sealed.

    Raises:
        PrerequisiteError: It is damaged, or part of it is another run's.
    """
    check_database(conn)
    sealed = _read(conn)
    if sealed is None:
        if not owned:
            check_rows(conn)
        return False
    for table in KEYS:
        rows_sealed, total = sealed.tables.get(table, (0, ""))
        found = _digest_table(conn, table)
        if found != (rows_sealed, total):
            raise PrerequisiteError(
                f"{DATABASE}: has changed since it was sealed: {_difference(conn, table, found[0], rows_sealed)}; {_RESTORE}"
            )
    if stamp != sealed.stamp:
        raise PrerequisiteError(
            f"run.json is not the one that {DATABASE} was sealed with; one of them was changed or belongs to another run; {_RESTORE}"
        )
    return True


def _entry(conn: sqlite3.Connection, key: tuple[str, int, str]) -> dict[str, Entry]:
    """What the rows of one question add up to, for `_renew_over`."""
    where = "WHERE episode_id = ? AND attempt = ? AND interrupt_id = ?"
    return {table: _sum(conn, table, where, key) for table in _ADDED}


def _renew_over(conn: sqlite3.Connection, was: Mapping[str, Entry], now: Mapping[str, Entry]) -> None:
    """Within a transaction that changes the rows of one question: let the seal, where there is one, hold them as they are now."""
    sealed = _read(conn)
    if sealed is None or was == now:
        return
    tables = dict(sealed.tables)
    for table in _ADDED:
        rows_sealed, total = tables.get(table, (0, ""))
        value = (int(total or "0", 16) - int(was[table][1], 16) + int(now[table][1], 16)) % 2 ** (8 * _SIZE)
        tables[table] = rows_sealed - was[table][0] + now[table][0], f"{value:x}"
    _write(conn, sealed.model_copy(update={"tables": tables}))


@contextmanager
def keep_sealed(conn: sqlite3.Connection, keys: Sequence[tuple[str, int, str]], stamp: Callable[[], str]) -> Iterator[None]:
    """Within a transaction: a change of the rows of some questions. Where nobody runs the run, it leaves it sealed.

    Args:
        conn: A connection for writing.
        keys: Of the questions, each once.
        stamp: Of the `run.json` that lies there.

    Raises:
        PrerequisiteError: Whoever ran the run was killed, and it is damaged.
    """
    sealed, owned = is_sealed(conn), is_owned(conn)
    if not sealed and not owned:
        check_fits(conn, stamp(), owned=False)
    before = [_entry(conn, key) for key in keys]
    yield
    if sealed:
        for key, was in zip(keys, before, strict=True):
            _renew_over(conn, was, _entry(conn, key))
    elif not owned:
        seal(conn, stamp())


def stamp_of(manifest: bytes) -> str:
    """What a seal says of `run.json`: a digest of its bytes."""
    return blake2b(manifest, digest_size=_SIZE).hexdigest()


def _read(conn: sqlite3.Connection) -> _Seal | None:
    for _, value in rows(conn, "meta", "WHERE key = ?", (_SEAL,)):
        try:
            return _Seal.model_validate_json(value)
        except ValidationError:
            raise PrerequisiteError(f"{DATABASE}: its seal is damaged; {_RESTORE}") from None
    return None


def _write(conn: sqlite3.Connection, sealed: _Seal) -> None:
    insert_row(conn, "meta", _SEAL, sealed.model_dump_json(), either="REPLACE")


def _columns(table: str) -> str:
    # Joined by SQLite: a row costs a fraction of what it would cost here, and a run may have 20,000.
    return " || char(31) || ".join((*KEYS[table], *BESIDE.get(table, ()), "hex(digest)"))


def _row_filter(table: str) -> str:
    return f"WHERE key != '{_SEAL}'" if table == "meta" else ""


def _digest_table(conn: sqlite3.Connection, table: str) -> Entry:
    """The rows of a table, in the order and through the index in which they are read."""
    if table in _ADDED:
        return _sum(conn, table)
    query = f"SELECT {_columns(table)} AS line FROM {table} {_row_filter(table)} ORDER BY {ORDER[table]}"
    number, text = conn.execute(f"SELECT count(*), group_concat(line, char(30)) FROM ({query})").fetchone()
    return number, blake2b((text or "").encode(), digest_size=_SIZE).hexdigest()


def _sum(conn: sqlite3.Connection, table: str, where: str = "", values: tuple[Any, ...] = ()) -> Entry:
    number = total = 0
    for (line,) in conn.execute(f"SELECT {_columns(table)} FROM {table} {where}", values):
        number += 1
        total += int.from_bytes(blake2b(line.encode(), digest_size=_SIZE).digest(), "big")
    return number, f"{total % 2 ** (8 * _SIZE):x}"


def _difference(conn: sqlite3.Connection, table: str, found: int, sealed: int) -> str:
    """What is wrong with a table that does not fit: how many rows, or which."""
    if found != sealed:
        return f"{table} has {found:,} rows of {sealed:,} sealed"
    try:
        check_rows(conn, (table,))
    except PrerequisiteError as err:
        return f"{table} has all {sealed:,} rows, but {str(err).removeprefix(f'{DATABASE}: ').partition(':')[0]}"
    return f"{table} has {sealed:,} rows, but not those that were sealed"
