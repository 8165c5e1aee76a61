"""The lease of a run, which one process owns: who it is, whether it still lives, and how a dead one is followed."""

from __future__ import annotations

import os
import secrets
import sqlite3
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from talm_sim.common import processes
from talm_sim.errors import PrerequisiteError

STALE_SECONDS = 60.0
"""A lease whose process cannot be inspected (another machine or container) counts as abandoned after so long without a heartbeat."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that holds, or held, a run."""

    pid: int
    host: str
    process: str
    heartbeat: float

    @property
    def alive(self) -> bool:
        """Whether the process still runs; where it cannot be inspected, whether it was heard of lately."""
        host, boot = processes.machine_and_boot()
        if sys.platform != "win32" and self.host == host and self.process.startswith(boot):
            return processes.mark_of(self.pid) == self.process
        # One far ahead is no better than one long ago: nobody's clock is so wrong that it should keep a run from everybody.
        return abs(time.time() - self.heartbeat) < STALE_SECONDS


@dataclass(frozen=True, slots=True)
class Lease:
    """The right of this process to write a run, proved by its token in every transaction."""

    token: str
    run_id: str

    def renew(self, conn: sqlite3.Connection) -> None:
        """Renew the lease within a transaction, or find that another process has taken the run over."""
        beat = conn.execute("UPDATE lease SET heartbeat = ? WHERE token = ?", (time.time(), self.token))
        if beat.rowcount != 1:
            raise PrerequisiteError(f"run '{self.run_id}' was taken over by another process; this process writes nothing more.")

    def release(self, conn: sqlite3.Connection) -> bool:
        """Give the run back; False where another process has taken it over."""
        return conn.execute("DELETE FROM lease WHERE token = ?", (self.token,)).rowcount == 1


def owner_of(conn: sqlite3.Connection) -> Owner | None:
    """Return the process named in the lease, dead or alive; None if nobody holds the run."""
    row = conn.execute(
        "SELECT CAST(ifnull(pid, 0) AS INTEGER), CAST(ifnull(host, '') AS TEXT), CAST(ifnull(process, '') AS TEXT),"
        " CAST(ifnull(heartbeat, 0) AS REAL) FROM lease"
    ).fetchone()
    return Owner(*row) if row else None


def is_owned(conn: sqlite3.Connection) -> bool:
    """Return whether a living process holds the run."""
    owner = owner_of(conn)
    return owner is not None and owner.alive


def hold(conn: sqlite3.Connection, run_id: str) -> Lease:
    """Write this process into the lease, within a transaction; `run_id` names the run in messages."""
    lease = Lease(token=secrets.token_hex(8), run_id=run_id)
    pid, (host, boot) = os.getpid(), processes.machine_and_boot()
    process = processes.mark_of(pid) if sys.platform != "win32" else boot
    conn.execute(
        "INSERT OR REPLACE INTO lease (one, token, pid, host, process, heartbeat) VALUES (1, ?, ?, ?, ?, ?)",
        (lease.token, pid, host, process, time.time()),
    )
    return lease


def acquire(conn: sqlite3.Connection, run_id: str, within: Callable[[], None] = lambda: None) -> Lease:
    """Take the run for this process."""
    conn.execute("BEGIN IMMEDIATE")
    try:
        if (owner := owner_of(conn)) is not None and owner.alive:
            raise PrerequisiteError(
                f"run '{run_id}' is being run by process {owner.pid} on {owner.host}; wait for it or stop it, then try again."
            )
        lease = hold(conn, run_id)
        within()
        conn.execute("COMMIT")
    except BaseException:
        if conn.in_transaction:  # SQLite itself has rolled back where the disk is full
            conn.execute("ROLLBACK")
        raise
    return lease
