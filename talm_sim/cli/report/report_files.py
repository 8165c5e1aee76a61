"""Write the files that a report or a comparison is asked for."""

from __future__ import annotations

from pathlib import Path

from talm_sim.cli.terminal.console import stderr
from talm_sim.cli.terminal.text import one_line
from talm_sim.errors import PrerequisiteError
from talm_sim.recordings.shared_files import write_atomically


def check_page_name(page: Path) -> None:
    """Refuse a name that a browser would not open as a page.

    Raises:
        PrerequisiteError: It does not end in `.html`.
    """
    if page.suffix.lower() not in {".html", ".htm"}:
        raise PrerequisiteError(f"--html {page}: the name must end in .html.")


def write_file(file: Path, data: bytes) -> None:
    """Write a file, with the directory it is in, and say so."""
    if not file.parent.exists():
        stderr().print(f"made: {one_line(str(file.parent))}", style="dim", soft_wrap=True)
    write_atomically(file, data)
    stderr().print(f"written: {one_line(str(file))}", style="dim", soft_wrap=True)
