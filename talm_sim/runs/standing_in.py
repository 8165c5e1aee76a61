"""The tool that a person who answers a question of a run is asked to replace, as far as the run's own file says."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from pydantic import TypeAdapter, ValidationError

from talm_sim.runs.files import stored_documents
from talm_sim.scenarios.stand_ins import ReplaceableTool, StandIn, find_stand_in
from talm_sim.types import Event, Scenario, ToolEvent, ToolSpec

__all__ = ["StandIns"]

_EVENT: TypeAdapter[Event] = TypeAdapter(Event)


class StandIns:
    """Finds the tools that questions ask a person to replace; reads what the run keeps of its tools once, when it is first needed."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn

    @cached_property
    def _specs(self) -> dict[str, ToolSpec]:
        return {one.name: one for one in stored_documents.meta(self._conn, "tools", list[ToolSpec]) or ()}

    @cached_property
    def _known(self) -> dict[str, ReplaceableTool]:
        return stored_documents.meta(self._conn, stored_documents.REPLACEABLE, dict[str, ReplaceableTool]) or {}

    def find(self, question: str, scenario: Scenario, progress: Sequence[dict[str, Any]]) -> StandIn | None:
        """Return the tool whose work a question asks for; None if it asks for none.

        Args:
            question: What the agent asks.
            scenario: Its scenario.
            progress: What the agent has done so far: its model turns and events as JSON objects, in order.
        """
        failed = dict.fromkeys(event.name for event in map(_tool_event, progress) if event is not None and _is_broken(event))
        return find_stand_in(question, scenario, self._specs, self._known, failed)


def _tool_event(item: dict[str, Any]) -> ToolEvent | None:
    try:
        event = _EVENT.validate_python(item) if "type" in item else None
    except ValidationError:  # a run directory may come from elsewhere
        return None
    return event if isinstance(event, ToolEvent) else None


def _is_broken(event: ToolEvent) -> bool:
    # While the episode waits, no prompt has followed its last calls yet, so that what they damaged counts as not seen.
    return event.broken or any(log.fired for log in event.perturbations)
