"""Read a line of a scenario file, or say whose published form it has if it is not a scenario."""

from __future__ import annotations

from typing import Any

from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.load import read_scenario
from talm_sim.tasks.registry import every_task
from talm_sim.types import Scenario

__all__ = ["read_line"]


def read_line(line: Any, where: str, task: str) -> Scenario:
    """Read a line as a scenario of `task`.

    Raises:
        PrerequisiteError: It is not a scenario; the message names `where` and the field, or the task whose published rows it belongs to.
    """
    try:
        return read_scenario(line, where, task)
    except PrerequisiteError:
        claims = (other.claim(line, task) for other in every_task()) if _is_row(line) else ()
        claim = next(filter(None, claims), "")
        if not claim:
            raise
        raise PrerequisiteError(f"{where}: {claim}") from None


def _is_row(line: Any) -> bool:
    """Return whether a line may be a published row: it lacks what every scenario has."""
    return isinstance(line, dict) and "turns" not in line and not {"id", "group"} <= line.keys()
