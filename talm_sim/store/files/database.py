"""The SQLite file of a run: its tables, how it is opened, and how documents are packed into it.

A run directory may come from a stranger: documents are JSON (never pickle), and unpacking stops at a limit.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import zlib
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path

from talm_sim.common.plain_files import kind_of_file
from talm_sim.errors import PrerequisiteError

DATABASE = "run.db"
"""Name of the file below the run's directory."""
_FILES = tuple(f"{name}{end}" for name in (DATABASE, "checkpoints.db") for end in ("", "-wal", "-shm", "-journal"))
_OUR_TABLES = "SELECT type, name, tbl_name, sql FROM sqlite_schema"
_NOT_OURS = "restore the file from a copy, and accept run files only from people you trust"
_LARGEST = 32 * 2**20
"""Bytes of one document: far above any episode."""
_MOST_VALUES = 500_000
"""Values in one document: of an episode, about as many as tokens whose probability is kept. Each can take a kilobyte where it is read."""
_FEW = 2**20
"""Bytes that hold too few values to be counted."""
_MARKS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|([,[{])', re.DOTALL)
"""What tells of values in JSON: commas and brackets, without those in a text."""
_BUSY_SECONDS = 30.0
_APPLICATION_ID = 0x74616C6D
_SCHEMA = """
CREATE TABLE meta (
    key TEXT PRIMARY KEY, value TEXT NOT NULL, digest BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE lease (
    one INTEGER PRIMARY KEY CHECK (one = 1), token TEXT NOT NULL, pid INTEGER NOT NULL, host TEXT NOT NULL,
    process TEXT NOT NULL, heartbeat REAL NOT NULL
);
CREATE TABLE scenarios (
    position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, grp TEXT NOT NULL, digest BLOB NOT NULL, body BLOB NOT NULL
);
CREATE TABLE attempts (
    episode_id TEXT PRIMARY KEY, attempt INTEGER NOT NULL, digest BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE episodes (
    id TEXT PRIMARY KEY, scenario_id TEXT NOT NULL, grp TEXT NOT NULL, epoch INTEGER NOT NULL, position INTEGER NOT NULL,
    attempt INTEGER NOT NULL, termination TEXT NOT NULL, digest BLOB NOT NULL, body BLOB NOT NULL
);
CREATE INDEX episodes_in_order ON episodes (epoch, position);
CREATE TABLE verdicts (
    episode_id TEXT NOT NULL, judge TEXT NOT NULL, judge_config_digest TEXT NOT NULL, failed INTEGER NOT NULL,
    digest BLOB NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (episode_id, judge, judge_config_digest)
) WITHOUT ROWID;
CREATE TABLE waiting (
    episode_id TEXT PRIMARY KEY, scenario_id TEXT NOT NULL, epoch INTEGER NOT NULL, attempt INTEGER NOT NULL,
    digest BLOB NOT NULL, body BLOB NOT NULL
) WITHOUT ROWID;
-- kind: question, approval or form; request: JSON of a call to approve or of a form, empty for a question
-- current: 0 no longer asked, 1 asked, 2 its episode went on with the answers, 3 its answer is held back, 4 answered, -1 as 0, after 2
CREATE TABLE questions (
    number INTEGER PRIMARY KEY, episode_id TEXT NOT NULL, attempt INTEGER NOT NULL, interrupt_id TEXT NOT NULL,
    ask INTEGER NOT NULL, kind TEXT NOT NULL, question TEXT NOT NULL, request TEXT NOT NULL, asked_at REAL NOT NULL, digest BLOB NOT NULL,
    current INTEGER NOT NULL DEFAULT 1, UNIQUE (episode_id, attempt, interrupt_id)
);
CREATE INDEX questions_open ON questions (number) WHERE current = 1;
CREATE INDEX questions_given ON questions (episode_id, attempt) WHERE current > 1;
-- decision: JSON of what was decided about a request, empty for a question; name: what the person calls themselves
-- mark: 1 the person found the question appropriate, 0 they did not, empty where they did not say
CREATE TABLE answers (
    episode_id TEXT NOT NULL, attempt INTEGER NOT NULL, interrupt_id TEXT NOT NULL, answer TEXT NOT NULL, decision TEXT NOT NULL,
    declined TEXT NOT NULL, responder TEXT NOT NULL, name TEXT NOT NULL, mark TEXT NOT NULL, answered_at REAL NOT NULL, digest BLOB NOT NULL,
    PRIMARY KEY (episode_id, attempt, interrupt_id)
) WITHOUT ROWID;
"""
"""The digest stands before the body, so that what is long need not be read for it."""


class TooLargeError(PrerequisiteError):
    """A document is larger than a run keeps; the message says how large, and what is kept."""


def check_size(document: bytes) -> None:
    """See that a JSON document can be kept, and read again without filling the memory."""
    if len(document) > _LARGEST:
        raise TooLargeError(f"takes {len(document) / 2**20:,.1f} MiB, and a run keeps at most {_LARGEST >> 20} MiB per record")
    if len(document) > _FEW and sum(map(document.count, (b",", b"[", b"{"))) > _MOST_VALUES:
        marks = (mark for mark in _MARKS.finditer(document) if mark.lastindex)
        if next(islice(marks, _MOST_VALUES, None), None):
            raise TooLargeError(f"holds more than {_MOST_VALUES:,} values, and a run keeps at most that many per record")


def pack(text: str) -> bytes:
    """Compress a JSON document for its row.

    Raises:
        TooLargeError: It is larger than a row may be.
    """
    document = text.encode()
    check_size(document)
    return zlib.compress(document, level=1)


def unpack(body: bytes, what: str) -> bytes:
    """Return the JSON document of a row."""
    machine = zlib.decompressobj()
    try:
        document = machine.decompress(body, _LARGEST + 1)
    except (zlib.error, TypeError) as err:
        raise PrerequisiteError(f"{DATABASE}: {what} is damaged ({err}); restore the file from a copy.") from None
    if len(document) <= _LARGEST and not machine.eof:
        raise PrerequisiteError(f"{DATABASE}: {what} is damaged (cut short); restore the file from a copy.")
    check_stored(document, what)
    return document


def check_stored(document: bytes, what: str) -> None:
    """See that what was stored can be read without filling the memory."""
    try:
        check_size(document)
    except TooLargeError:
        limits = f"{_LARGEST >> 20} MiB or {_MOST_VALUES:,} values"
        raise PrerequisiteError(f"{DATABASE}: {what} unpacks to more than {limits}, the limit per record; {_NOT_OURS}.") from None


def create_database(directory: Path) -> sqlite3.Connection:
    """Create the run's tables in `directory` and return a connection to them; whoever keeps the file flushes it."""
    conn = sqlite3.connect(directory / DATABASE, isolation_level=None, timeout=_BUSY_SECONDS)
    conn.execute("PRAGMA synchronous=OFF")  # a flush for each table takes longer than a small run
    conn.executescript(f"BEGIN; PRAGMA application_id={_APPLICATION_ID}; {_SCHEMA} COMMIT;")
    return conn


def connect_writer(directory: Path) -> sqlite3.Connection:
    """Open a run's database for writing; transactions are begun explicitly."""
    conn = _connect(directory, "rw", writing=True)
    conn.execute("PRAGMA synchronous=NORMAL")
    return conn


def use_write_ahead_log(conn: sqlite3.Connection) -> None:
    """Let commits go to a log: each costs little, and whoever reads holds none up.

    A commit survives the death of the process. Synchronous NORMAL leaves out the flush per commit; the writer flushes one commit in a few
    seconds, so a power cut loses no more than those, and never damages the file.
    """
    with contextlib.suppress(sqlite3.OperationalError):  # somebody reads at this moment: then without a log, a little slower
        conn.execute("PRAGMA journal_mode=WAL")
        # What a killed owner left goes into the file, and with it that the run has an owner again: a copy of the file alone says so.
        conn.execute("PRAGMA wal_checkpoint(PASSIVE)")
    # Moving the log into the file flushes it, and on a busy disk every commit waits for that: 32 MB of log make it rare.
    conn.execute("PRAGMA wal_autocheckpoint=8000")


def fold(conn: sqlite3.Connection) -> None:
    """Move the log into the file, so that the run is whole in it and can be copied and read anywhere.

    Where somebody else has the file open, it is left for whoever writes next.
    """
    with contextlib.suppress(sqlite3.OperationalError):
        conn.execute("PRAGMA busy_timeout=200")
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        conn.execute("PRAGMA journal_mode=DELETE")


def connect_reader(directory: Path) -> sqlite3.Connection:
    """Open a run's database for reading, also where the directory itself is read-only."""
    try:
        if (directory / f"{DATABASE}-journal").exists():
            # Somebody was killed while they committed a row or two: what was half written can only be taken back by who may write.
            with contextlib.suppress(PrerequisiteError):
                connect_writer(directory).close()
        return _connect(directory, "ro", writing=False)
    except PrerequisiteError:
        log = directory / f"{DATABASE}-wal"
        if not (directory / DATABASE).is_file() or (log.exists() and log.stat().st_size):
            raise
        # WAL needs a writable directory even to read; without a log the file alone is complete.
        return _connect(directory, "ro&immutable=1", writing=False)


def check_regular(path: Path) -> None:
    """Refuse what a run directory may hold only as a plain file: a link would be written through, and a pipe or device never ends."""
    try:
        found = path.lstat()
    except OSError:
        return  # whoever opens it says so
    if kind := kind_of_file(found.st_mode):
        raise PrerequisiteError(f"{path}: is {kind}, but must be a plain file; put the file itself there.")


@contextlib.contextmanager
def explain_errors(directory: Path) -> Iterator[None]:
    """Say in one line what SQLite cannot read in a run's database."""
    try:
        yield
    except (sqlite3.OperationalError, sqlite3.DataError) as err:
        full = getattr(err, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        said = f"cannot be {'written' if full else 'read'} ({str(err).splitlines()[0]})"
        raise PrerequisiteError(f"{directory / DATABASE}: {said}{'; free disk space, then try again' if full else ''}.") from None
    except sqlite3.DatabaseError as err:
        if isinstance(err, sqlite3.ProgrammingError | sqlite3.IntegrityError | sqlite3.InternalError | sqlite3.NotSupportedError):
            raise  # a bug
        raise PrerequisiteError(f"{directory / DATABASE}: cannot be read ({str(err).splitlines()[0]}); restore the file from a copy.") from None


@contextlib.contextmanager
def writing(conn: sqlite3.Connection, directory: Path) -> Iterator[None]:
    """Open a transaction that writes: it is committed at the end, or nothing is changed."""
    try:
        conn.execute("BEGIN IMMEDIATE")
        try:
            yield
            conn.execute("COMMIT")
        finally:
            if conn.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    conn.execute("ROLLBACK")
    except sqlite3.DatabaseError as err:
        if type(err) not in {sqlite3.OperationalError, sqlite3.DatabaseError}:
            raise  # a bug
        raise PrerequisiteError(
            f"{directory}: cannot be written ({err}); nothing was changed; free disk space or fix its permissions."
        ) from None


@cache
def _schema() -> frozenset[tuple[str, str, str, str | None]]:
    with contextlib.closing(sqlite3.connect(":memory:")) as conn:
        conn.executescript(_SCHEMA)
        return frozenset(conn.execute(_OUR_TABLES))


def _check_schema(conn: sqlite3.Connection, path: Path) -> None:
    """Refuse a file with other tables, or a view or trigger: either runs queries of whoever made the file."""
    found = frozenset(conn.execute(f"{_OUR_TABLES} WHERE NOT (type = 'table' AND name GLOB 'sqlite_stat[14]')"))
    if found != _schema():
        kind, name, *_ = sorted(found ^ _schema(), key=str)[0]
        raise PrerequisiteError(f"{path}: it does not have the tables of a run ({kind} '{name}'); {_NOT_OURS}.")


def _connect(directory: Path, mode: str, *, writing: bool) -> sqlite3.Connection:
    path = directory / DATABASE
    for name in _FILES:
        check_regular(directory / name)
    try:
        uri = f"{path.resolve().as_uri()}?mode={mode}"
        conn = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_BUSY_SECONDS, check_same_thread=False)
    except sqlite3.OperationalError as err:
        raise PrerequisiteError(f"{path}: cannot be opened ({err}).") from None
    try:
        if conn.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION_ID:
            raise PrerequisiteError(f"{path}: is not a run database of talm-sim.")
        _check_schema(conn, path)
        if writing:
            conn.execute("BEGIN IMMEDIATE")
            # On a read-only file system BEGIN alone goes through; a statement that may write does not.
            conn.execute("DELETE FROM lease WHERE 0")
            conn.execute("ROLLBACK")
    except sqlite3.DatabaseError as err:
        conn.close()
        raise PrerequisiteError(f"{path}: cannot be {'written' if writing else 'read'} ({str(err).splitlines()[0]}).") from None
    except PrerequisiteError:
        conn.close()
        raise
    return conn
