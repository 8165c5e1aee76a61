"""The metrics of task `refusal`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from talm_sim.tasks.base import RunView
from talm_sim.types import Row, Summary

__all__ = ["rows", "summarize"]


def rows(run: RunView) -> Iterator[Row]:
    """What each finished episode counts as, in the order of the plan."""
    items = {one.id: one for one in run.scenarios()}
    for episode in run.episodes():
        yield Row.of(episode, items.get(episode.scenario_id))


def summarize(rows: Sequence[Row], run: RunView) -> list[Summary]:
    """Add the rows up."""
    return [Summary.of(name, [row for row in rows if row.group == name]) for name in dict.fromkeys(row.group for row in rows)]
