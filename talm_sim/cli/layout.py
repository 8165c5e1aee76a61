"""What of a run's summaries stands where, whatever it is printed on: columns, lines below the row, figures beside a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from talm_sim.types import Matrix, Measure, Summary

__all__ = ["Block", "beside", "columns", "detailed", "lines", "placed"]


@dataclass(frozen=True, slots=True)
class Block:
    """The rows of one run, under a title that says whose they are."""

    title: str
    summaries: Sequence[Summary]
    notes: Sequence[str] = ()
    """Lines below the rows."""
    is_control: bool = False
    """Whether the model is a script, which must not be read as a language model."""


def columns(summaries: Sequence[Summary]) -> dict[str, Measure]:
    """The columns a table of these needs, by the measure's name: each as the first group that has it says."""
    found: dict[str, Measure] = {}
    for summary in summaries:
        for one in placed(summary, "column"):
            found.setdefault(one.name, one)
    return found


def placed(summary: Summary, place: str) -> list[Measure]:
    """The measures that stand there."""
    return [one for one in summary.measures if one.place == place]


def detailed(block: Block) -> bool:
    """Whether there is more to print than a table's rows."""
    return any(summary.matrices or placed(summary, "line") for summary in block.summaries)


def lines(summary: Summary) -> dict[str, list[Measure]]:
    """The measures that stand below the row, by the title they stand under."""
    found: dict[str, list[Measure]] = {}
    for one in placed(summary, "line"):
        found.setdefault(one.under, []).append(one)
    return found


def beside(summary: Summary, matrix: Matrix) -> dict[str, dict[str, Measure]]:
    """What stands beside a matrix: head to row to measure. Of two matrices with the same rows the first has it."""
    earlier = summary.matrices[: summary.matrices.index(matrix)]
    own = set(matrix.rows).difference(*(other.rows for other in earlier))
    found: dict[str, dict[str, Measure]] = {}
    for one in placed(summary, "matrix"):
        if one.under in own:
            found.setdefault(one.head, {})[one.under] = one
    return found
