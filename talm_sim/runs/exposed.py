"""Of a comparison of runs with faults or refusals: the pairs in which both met some, and how many calls both made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from talm_sim.runs.differences import Paired
from talm_sim.runs.sides import Side
from talm_sim.types import Row

__all__ = ["labelling_judges", "select_exposed", "share_of_common_calls"]


def labelling_judges(side: Side) -> set[str]:
    """Return the judges whose labels the rows of a side have."""
    named = {name.partition(" ")[0] for row in side.rows for name in row.labels if " " in name}
    return named & side.judges.keys()


def select_exposed(paired: Paired, judge: str) -> Paired:
    """Return the pairs in which both sides met what a judge labels.

    Which pairs these are depends on what the agents did, so a difference over them alone is not one over all scenarios.
    """
    kept = [pair for pair in paired.pairs if _met(pair.first, judge) and _met(pair.second, judge)]
    left = tuple(pair.name for pair in paired.pairs if pair not in kept)
    return replace(paired, pairs=kept, first_only=(*paired.first_only, *left))


def _met(rows: Iterable[Row], judge: str) -> bool:
    start = f"{judge}_"
    return any(row.scored and any(name.startswith(start) and value is not None for name, value in row.values.items()) for row in rows)


def share_of_common_calls(paired: Paired) -> tuple[int, int] | None:
    """Return how many calls both sides made, and how many either made: for calls that both made, both met the same faults.

    Returns: None where a side does not know its calls.
    """
    if not (paired.first.calls and paired.second.calls):
        return None
    both = either = 0
    for pair in paired.pairs:
        calls = []
        for side, rows in ((paired.first, pair.first), (paired.second, pair.second)):
            calls.append({(row.epoch, call) for row in rows for call in side.calls.get(row.episode, ())})
        both += len(calls[0] & calls[1])
        either += len(calls[0] | calls[1])
    return both, either
