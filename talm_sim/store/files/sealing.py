"""Seal a run that nobody writes: the number of rows of each table, and their sum, which show what is lost or was exchanged.

It is no signature: who can write the file can seal it. It stands among the small facts, is taken away in the transaction in which an owner
takes the run, and comes back when the owner gives it back.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any, Final, Literal

from pydantic import BaseModel, ValidationError

from talm_sim.errors import PrerequisiteError
from talm_sim.store.files.database import DATABASE, check_size, pack
from talm_sim.store.files.lease import is_owned

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
    """Seal what is there, within a transaction."""
    _write(conn, _Seal(stamp=stamp, tables={table: _digest_table(conn, table) for table in KEYS}))


def remove_seal(conn: sqlite3.Connection) -> None:
    """Take the seal away, within a transaction."""
    conn.execute("DELETE FROM meta WHERE key = ?", (_SEAL,))


def is_sealed(conn: sqlite3.Connection) -> bool:
    """Return whether there is a seal."""
    return conn.execute("SELECT 1 FROM meta WHERE key = ?", (_SEAL,)).fetchone() is not None


def check_fits(conn: sqlite3.Connection, stamp: str, *, owned: bool) -> bool:
    """See that a run is as it was left; one that was not sealed is looked through row by row, unless a living process owns it.

    Returns:
        Whether it is sealed.
    """
    _check_database(conn)
    if (sealed := _read(conn)) is None:
        if not owned:
            _check_rows(conn)
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
    """Return the sums of the rows of one question, for `_renew_over`."""
    where = "WHERE episode_id = ? AND attempt = ? AND interrupt_id = ?"
    return {table: _sum(conn, table, where, key) for table in _ADDED}


def _renew_over(conn: sqlite3.Connection, was: Mapping[str, Entry], now: Mapping[str, Entry]) -> None:
    """Update the seal, if there is one, within a transaction that changes the rows of one question."""
    if (sealed := _read(conn)) is None or was == now:
        return
    tables = dict(sealed.tables)
    for table in _ADDED:
        rows_sealed, total = tables.get(table, (0, ""))
        value = (int(total or "0", 16) - int(was[table][1], 16) + int(now[table][1], 16)) % 2 ** (8 * _SIZE)
        tables[table] = rows_sealed - was[table][0] + now[table][0], f"{value:x}"
    _write(conn, sealed.model_copy(update={"tables": tables}))


@contextmanager
def keep_sealed(conn: sqlite3.Connection, keys: Sequence[tuple[str, int, str]], stamp: Callable[[], str]) -> Iterator[None]:
    """Keep the seal up to date while some questions' rows change, within a transaction. If nobody runs the run, it stays sealed."""
    sealed, owned = _state(conn, stamp)
    before = [_entry(conn, key) for key in keys]
    yield
    if sealed:
        for key, was in zip(keys, before, strict=True):
            _renew_over(conn, was, _entry(conn, key))
    elif not owned:
        seal(conn, stamp())


@contextmanager
def keep_tables_sealed(conn: sqlite3.Connection, tables: Sequence[str], stamp: Callable[[], str]) -> Iterator[None]:
    """Keep the seal up to date while any rows of some tables change, which are read for it. If nobody runs the run, it stays sealed."""
    sealed, owned = _state(conn, stamp)
    yield
    if sealed and (kept := _read(conn)) is not None:
        _write(conn, kept.model_copy(update={"tables": {**kept.tables, **{table: _digest_table(conn, table) for table in tables}}}))
    elif not owned:
        seal(conn, stamp())


def _state(conn: sqlite3.Connection, stamp: Callable[[], str]) -> tuple[bool, bool]:
    """Return whether a run is sealed, and whether a living process has it; check one that a kill left open."""
    sealed, owned = is_sealed(conn), is_owned(conn)
    if not sealed and not owned:
        check_fits(conn, stamp(), owned=False)
    return sealed, owned


def stamp_of(manifest: bytes) -> str:
    """Return the stamp of `run.json` that a seal holds: a digest of its bytes."""
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
    return " || char(31) || ".join((*KEYS[table], *_BESIDE.get(table, ()), "hex(digest)"))


def _row_filter(table: str) -> str:
    return f"WHERE key != '{_SEAL}'" if table == "meta" else ""


def _digest_table(conn: sqlite3.Connection, table: str) -> Entry:
    """Digest the rows of a table, in the order and through the index in which they are read."""
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
    """Describe what is wrong with a table that does not fit: how many rows, or which."""
    if found != sealed:
        return f"{table} has {found:,} rows of {sealed:,} sealed"
    try:
        _check_rows(conn, (table,))
    except PrerequisiteError as err:
        return f"{table} has all {sealed:,} rows, but {str(err).removeprefix(f'{DATABASE}: ').partition(':')[0]}"
    return f"{table} has {sealed:,} rows, but not those that were sealed"


KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "meta": ("key", "value"),
    "scenarios": ("position", "id", "grp"),
    "attempts": ("episode_id", "attempt"),
    "episodes": ("id", "scenario_id", "grp", "epoch", "position", "attempt", "termination"),
    "verdicts": ("episode_id", "judge", "judge_config_digest", "failed"),
    "waiting": ("episode_id", "scenario_id", "epoch", "attempt"),
    "questions": ("episode_id", "attempt", "interrupt_id", "ask", "kind", "question", "request", "asked_at"),
    "answers": ("episode_id", "attempt", "interrupt_id", "answer", "decision", "declined", "responder", "name", "mark", "answered_at"),
}
"""Every table but the lease, and the columns its digest is over."""
WITH_BODY: Final = {"scenarios", "episodes", "verdicts", "waiting"}
"""Tables whose rows have a packed document, which the digest is over as well."""
_BESIDE: Final = {"questions": ("number", "current")}
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
    "questions": (
        "current NOT IN (-1, 0, 1, 2, 3, 4)",
        "kind NOT IN ('question', 'approval', 'form')",
        "(kind = 'question') != (request = '')",
    ),
    "answers": ("declined NOT IN ('', 'idk', 'skip', 'timeout')", "mark NOT IN ('', '0', '1')"),
}
"""What else a row must not hold, in SQL."""


def insert_row(
    conn: sqlite3.Connection, table: str, *values: str | int | float, document: str = "", either: Literal["", "REPLACE", "IGNORE"] = ""
) -> bool:
    """Add a row with its digest, within a transaction; return False if one of these keys stands, and stays.

    Raises:
        TooLargeError: The document, or the value of a small fact, is larger than a run keeps.
    """
    if table == "meta":
        check_size(str(values[1]).encode())
    body, names = pack(document) if table in WITH_BODY else b"", _columns_stored(table)
    filled = (*values, _digest(table, values, body), *((body,) if table in WITH_BODY else ()))
    return conn.execute(_insertion(table, names, f"INSERT OR {either}" if either else "INSERT"), filled).rowcount == 1


def rows(conn: sqlite3.Connection, table: str, which: str = "", values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table, each with its keys and then its body, if the table has one."""
    size = len(KEYS[table])
    for row in _checked_rows(conn, table, (), which, values):
        yield (*row[:size], *row[size + 1 :])


def copy_rows(source: sqlite3.Connection, target: sqlite3.Connection, table: str) -> None:
    """Copy the rows of a table of another run as they are, within a transaction of `target`; questions are numbered on."""
    beside = tuple(name for name in _BESIDE.get(table, ()) if name != "number")
    target.executemany(_insertion(table, _columns_stored(table, beside)), _checked_rows(source, table, beside, f"ORDER BY {ORDER[table]}"))


def _insertion(table: str, names: Sequence[str], verb: str = "INSERT") -> str:
    return f"{verb} INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"


def _columns_stored(table: str, beside: tuple[str, ...] = ()) -> tuple[str, ...]:
    return (*KEYS[table], "digest", *(("body",) if table in WITH_BODY else ()), *beside)


def _checked_rows(conn: sqlite3.Connection, table: str, beside: tuple[str, ...], which: str, values: Sequence[Any] = ()) -> Iterator[Any]:
    size, has_body = len(KEYS[table]), table in WITH_BODY
    for row in conn.execute(f"SELECT {', '.join(_columns_stored(table, beside))} FROM {table} {which}", values):
        keys, digest, body = row[:size], row[size], row[size + 1] if has_body else b""
        if not isinstance(body, bytes) or _digest(table, keys, body) != digest:
            name = repr(keys[1] if table == "scenarios" else keys[0])
            raise PrerequisiteError(f"{DATABASE}: row {name} of {table} is damaged: it does not fit its digest; restore the file from a copy.")
        yield row


def row(conn: sqlite3.Connection, table: str, which: str, values: Sequence[Any]) -> tuple[Any, ...]:
    """Return the one row there must be."""
    for found in rows(conn, table, which, values):
        return found
    raise PrerequisiteError(f"{DATABASE}: a row of {table} is missing ({', '.join(map(str, values))}); restore the file from a copy.")


def _check_database(conn: sqlite3.Connection) -> None:
    """Look through a whole file: its pages, indexes and types of values, and that its rows name scenarios there are.

    SQLite checks neither types nor what a column may hold where it only reads. Pages that lead in a circle would keep a query busy for ever,
    and a damaged index would leave rows out in silence.
    """
    ((found,),) = conn.execute("PRAGMA integrity_check(1)").fetchall()
    if found != "ok":
        raise PrerequisiteError(f"{DATABASE}: is damaged ({found}); restore the file from a copy.")
    for table in KEYS:
        wrong = " OR ".join([*(f"typeof({name}) != '{kind}'" for name, kind in _kinds(table).items()), *_OTHERWISE.get(table, ())])
        if found := conn.execute(f"SELECT 1 FROM {table} WHERE {wrong} LIMIT 1").fetchone():
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
    """Return the type of each column of a table, in SQLite's words."""
    kinds = {**dict.fromkeys(_INTEGERS, "integer"), **dict.fromkeys(_REALS, "real"), **dict.fromkeys(_BLOBS, "blob")}
    return {name: kinds.get(name, "text") for name in _columns_stored(table, _BESIDE.get(table, ()))}


def _check_rows(conn: sqlite3.Connection, tables: Sequence[str] = tuple(KEYS)) -> None:
    """Read every row of some tables, bodies included."""
    for table in tables:
        for _ in rows(conn, table):
            pass


def _digest(table: str, keys: Sequence[Any], body: bytes) -> bytes:
    # `ascii` spells every value in one way in every version of Python, and ends before the body begins.
    found = blake2b(ascii((table, *keys)).encode("ascii"), digest_size=16)
    found.update(body)
    return found.digest()
