"""Claim the question that is on somebody's screen, so that others at the same desk are asked another one first."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import IO

from talm_sim.common.digests import digest
from talm_sim.store.questions import Key


class Claims:
    """The question of a run that one process shows, as a lock on one byte of a file, which ends with the process."""

    def __init__(self, run: Path) -> None:
        self._path = run / "desk.lock"
        self._file: IO[bytes] | None = None

    def take(self, key: Key) -> bool:
        """Claim a question in place of the one before; return False if another process shows it."""
        try:
            import fcntl  # not on Windows

            self._file = self._file or self._path.open("ab")
            fcntl.lockf(self._file, fcntl.LOCK_UN)
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, int(digest(key, 15), 16))
        except BlockingIOError:
            return False
        except (ImportError, OSError):  # a file system without locks: everybody sees everything
            return True
        return True

    def close(self) -> None:
        """Give the question back; the last who leaves takes the file along."""
        if self._file is not None:
            with suppress(OSError):
                import fcntl

                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(self._path)
            self._file.close()
            self._file = None
