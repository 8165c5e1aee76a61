"""Open the files of a run for reading: whole and unchanged since they were sealed, or refused in one line."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path

from talm_sim.errors import PrerequisiteError
from talm_sim.store.files import stored_documents
from talm_sim.store.files.comments import Comment, read_comments
from talm_sim.store.files.database import DATABASE, connect_reader, connect_writer, fold
from talm_sim.store.files.lease import is_owned
from talm_sim.store.files.manifest import stamp_in
from talm_sim.store.files.sealing import check_fits, is_sealed


class RunFiles:
    """Reads a run's files; its database through a connection for each call or one for several. A subclass says where they are."""

    path: Path
    _place: Path
    """The same, wherever whoever reads it has moved to."""
    _held: sqlite3.Connection | None = None
    _looked_through: tuple[int, ...] = ()
    _closed = True

    def _forget(self) -> None:
        """Drop what was kept while one connection was held."""

    @contextmanager
    def at_once(self, conn: sqlite3.Connection | None = None) -> Iterator[None]:
        """Read everything through one connection within the block, and build what is read once.

        Args:
            conn: The connection of a process that has the run open for writing; by default, a new one is opened.
        """
        if self._held is not None:
            yield
            return
        with closing(self._connect()) if conn is None else nullcontext(conn) as held:
            self._held = held
            try:
                yield
            finally:
                self._held = None
                self._forget()

    def comments(self, episode: str = "") -> list[Comment]:
        """Return what readers wrote on one finished episode or on all, by its whole id, oldest first; it enters no rate.

        Raises:
            PrerequisiteError: The file of the comments is damaged.
        """
        found = (one for one in read_comments(self._place) if episode in ("", one.episode_id))
        return sorted(found, key=lambda one: one.written_at)

    @property
    def failed_verdicts(self) -> dict[str, int]:
        """How many verdicts failed, by judge: its model did not answer, for example. `judge` asks for them again."""
        with self._open_connection() as conn:
            return stored_documents.failed_verdicts(conn)

    def fold_log(self) -> None:
        """Make a run that was closed while somebody read it whole in its file; without a log, or where nothing can be written, do nothing."""
        if not (self._place / f"{DATABASE}-wal").exists():
            return
        with suppress(PrerequisiteError, OSError), closing(connect_writer(self._place)) as conn:
            if is_sealed(conn):
                fold(conn)

    @contextmanager
    def _open_connection(self) -> Iterator[sqlite3.Connection]:
        with closing(self._connect()) if self._held is None else nullcontext(self._held) as conn, self._explain_damage():
            yield conn

    def _connect(self) -> sqlite3.Connection:
        conn = connect_reader(self._place)
        try:
            with self._explain_damage():
                self._look_through(conn)
        except BaseException:
            conn.close()
            raise
        return conn

    @contextmanager
    def _explain_damage(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DatabaseError, ValueError) as err:
            raise PrerequisiteError(f"{self.path}: run.db cannot be read ({str(err).splitlines()[0]}).") from None

    def _file_state(self) -> tuple[int, ...]:
        """Return what changes with every commit to the run."""
        found: list[int] = []
        for name in (DATABASE, f"{DATABASE}-wal"):
            with suppress(FileNotFoundError):  # the second one is there while the run is open for writing
                file = (self._place / name).stat()
                found += (file.st_ino, file.st_size, file.st_mtime_ns)
        return tuple(found)

    def _look_through(self, conn: sqlite3.Connection) -> None:
        """Check that the run has not changed since it was sealed; once, as long as its file and whether somebody runs it stay the same."""
        now = self._file_state()[:3]
        if (*now, is_owned(conn)) == self._looked_through:
            return
        conn.execute("BEGIN")  # all of it at one moment
        try:
            owned = is_owned(conn)
            sealed = check_fits(conn, stamp_in(self._place), owned=owned)
        except PrerequisiteError as err:
            raise PrerequisiteError(f"{self.path}: {err}") from None
        finally:
            conn.execute("ROLLBACK")
        self._closed, self._looked_through = sealed or owned, (*now, owned)
