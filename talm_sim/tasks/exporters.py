"""What writes a stored run in the form that other tools read; an exporter is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from talm_sim.tasks.base import RunView

__all__ = ["Exported", "Exporter"]


@dataclass(frozen=True, slots=True)
class Exported:
    """What an exporter wrote.

    Attributes:
        files: Path of each file below the folder that the user named, with `/` between its parts, to the file's text.
        notes: What the user should know, a line each: what was left out, how the files are read.
    """

    files: Mapping[str, str]
    notes: tuple[str, ...] = ()


class Exporter(Protocol):
    """Writes a run of its task for other tools. The first line of its docstring is the help of its command."""

    def __call__(self, run: RunView) -> Exported:
        """Write the run.

        Raises:
            PrerequisiteError: This run cannot be written in this form; the message says why.
        """
        ...
