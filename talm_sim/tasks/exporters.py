"""What an exporter returns: a stored run in the form that another tool reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Exported"]


@dataclass(frozen=True, slots=True)
class Exported:
    """What an exporter wrote.

    Attributes:
        files: Path of each file below the folder that the user named, with `/` between its parts, to the file's text, or its bytes.
        notes: What the user should know, a line each: what was left out, how the files are read.
    """

    files: Mapping[str, str | bytes]
    notes: tuple[str, ...] = ()
