"""The one thread that writes a run; changes that arrive while it commits go into its next transaction (group commit)."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from concurrent import futures
from dataclasses import dataclass
from typing import Final

from talm_sim.errors import PrerequisiteError
from talm_sim.store.files.database import fold
from talm_sim.store.files.lease import Lease
from talm_sim.store.files.sealing import seal

Change = Callable[[sqlite3.Connection], None]
_MOST_PER_COMMIT: Final = 256
_BEAT_SECONDS: Final = 5.0
FLUSH_SECONDS: Final = 5.0
"""Seconds of work that a power cut may cost."""


@dataclass(frozen=True, slots=True)
class _Entry:
    change: Change
    done: asyncio.Future[None] | futures.Future[None] | None


class Writer:
    """Applies changes to a run's database in order; each is committed before its future resolves.

    Every transaction renews the lease, so a process that lost it (it was suspended and another took the run over) writes nothing more.

    Args:
        connection: A connection for writing; the writer closes it.
    """

    def __init__(self, connection: sqlite3.Connection, lease: Lease, loop: asyncio.AbstractEventLoop, stamp: str) -> None:
        self._lease = lease
        self._loop = loop
        self._stamp = stamp
        self._entries: queue.SimpleQueue[_Entry | None] = queue.SimpleQueue()
        self._failure: BaseException | None = None
        self._connection = connection
        self._flushed, self._flushing, self._closed = time.monotonic(), False, False
        self._thread = threading.Thread(target=self._run_loop, name="talm-sim-writer", daemon=True)
        self._thread.start()

    def commit(self, change: Change) -> asyncio.Future[None]:
        """Queue `change`; the future resolves when it is committed, and fails where it could not be."""
        done = self._loop.create_future()
        if self._failure is not None:
            done.set_exception(self._failure)
        else:
            self._entries.put(_Entry(change, done))
        return done

    def commit_now(self, change: Change) -> None:
        """Queue `change`, and wait for its commit without giving way to anything else on this thread."""
        if self._failure is not None:
            raise self._failure
        if self._closed:
            raise PrerequisiteError(f"run '{self._lease.run_id}' is no longer run by this process; nothing more is written.")
        done: futures.Future[None] = futures.Future()
        self._entries.put(_Entry(change, done))
        done.result()

    def enqueue(self, change: Change) -> None:
        """Queue `change` without waiting; it goes in before everything queued after it."""
        self._entries.put(_Entry(change, None))

    async def close(self) -> None:
        """Commit what is queued, give the run back sealed, and end the thread."""
        self._closed = True
        self._entries.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run_loop(self) -> None:
        conn = self._connection
        try:
            more = True
            while more:
                entries, more = self._next_entries()
                self._apply(conn, entries)
            with contextlib.suppress(sqlite3.Error):  # a full disk: the run is not sealed, and the next owner looks through it
                self._release_lease(conn)
                fold(conn)
        finally:
            conn.close()

    def _release_lease(self, conn: sqlite3.Connection) -> None:
        conn.execute("PRAGMA synchronous=FULL")
        conn.execute("BEGIN IMMEDIATE")
        if self._lease.release(conn):
            seal(conn, self._stamp)
        conn.execute("COMMIT")

    def _next_entries(self) -> tuple[list[_Entry], bool]:
        """Wait for the next entries; an empty list means that only the lease is due. False: no more will come."""
        entries: list[_Entry] = []
        try:
            entry = self._entries.get(timeout=_BEAT_SECONDS)
            while entry is not None:
                entries.append(entry)
                if len(entries) == _MOST_PER_COMMIT:
                    return entries, True
                entry = self._entries.get_nowait()
        except queue.Empty:
            return entries, True
        return entries, False

    def _flush_now_and_then(self, conn: sqlite3.Connection) -> None:
        """Let one commit in a few seconds be flushed to the disk, and with it all before: a power cut loses no more than those."""
        now = time.monotonic()
        if due := now - self._flushed >= FLUSH_SECONDS:
            self._flushed = now
        if due is not self._flushing:
            self._flushing = due
            conn.execute(f"PRAGMA synchronous={'FULL' if due else 'NORMAL'}")

    def _apply(self, conn: sqlite3.Connection, entries: list[_Entry]) -> None:
        if self._failure is None:
            try:
                self._flush_now_and_then(conn)
                conn.execute("BEGIN IMMEDIATE")
                self._lease.renew(conn)
                for entry in entries:
                    entry.change(conn)
                conn.execute("COMMIT")
            except BaseException as err:  # handed to whoever awaits the change
                with contextlib.suppress(sqlite3.Error):
                    conn.execute("ROLLBACK")
                self._failure = _explain_error(err)
        _resolve((entry.done for entry in entries if isinstance(entry.done, futures.Future)), self._failure)
        if waiters := [entry.done for entry in entries if isinstance(entry.done, asyncio.Future)]:
            with contextlib.suppress(RuntimeError):  # the loop is gone: nobody waits any more
                self._loop.call_soon_threadsafe(_resolve, waiters, self._failure)


def _resolve(waiters: Iterable[asyncio.Future[None] | futures.Future[None]], failure: BaseException | None) -> None:
    for done in waiters:
        if done.done():
            continue
        if failure is None:
            done.set_result(None)
        else:
            done.set_exception(failure)


def _explain_error(err: BaseException) -> BaseException:
    if isinstance(err, sqlite3.OperationalError) or type(err) is sqlite3.DatabaseError:
        return PrerequisiteError(f"run.db: cannot be written ({err}); free disk space or fix its permissions, then resume the run.")
    return err
