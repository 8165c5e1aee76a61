"""What code has left behind: processes, and changes of a folder."""

from __future__ import annotations

import os
import time
from pathlib import Path


def processes(named: Path, seconds: float = 15) -> list[str]:
    """Processes whose command names a file and that are still there after so long."""
    ends = time.monotonic() + seconds
    while found := [number for number in os.listdir("/proc") if number.isdigit() and str(named) in _command(number)]:
        if time.monotonic() > ends:
            break
        time.sleep(0.02)
    return found


def _command(number: str) -> str:
    try:
        return Path("/proc", number, "cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def state(folder: Path) -> dict[str, tuple[int, int, int]]:
    """All that is in a folder, with size, mode and time of change."""
    found = {str(one): one.lstat() for one in folder.rglob("*")}
    return {place: (one.st_size, one.st_mode, one.st_mtime_ns) for place, one in found.items()}
