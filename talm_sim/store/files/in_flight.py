"""The episodes in flight and the model turn that each is at: a small file beside the database, for whoever looks at a run that goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from talm_sim.common.plain_files import LARGEST_SETTINGS, read_text

_FILE = "in_flight.json"
_TURNS: TypeAdapter[dict[str, int]] = TypeAdapter(dict[str, int])


def write_in_flight(run: Path, turns: Mapping[str, int]) -> None:
    """Write the turn of each episode in flight; without any, remove the file. A disk that is full delays no run."""
    with suppress(OSError):
        if not turns:
            (run / _FILE).unlink(missing_ok=True)
            return
        half = run / f"{_FILE}.half"
        half.write_text(json.dumps(turns), encoding="utf-8")
        os.replace(half, run / _FILE)


def read_in_flight(run: Path) -> dict[str, int]:
    """Return the turn of each episode in flight, if a process that plays the run has written it lately."""
    try:
        return _TURNS.validate_json(read_text(run / _FILE, LARGEST_SETTINGS))
    except (OSError, ValidationError, UnicodeDecodeError):  # a run directory may come from elsewhere
        return {}
