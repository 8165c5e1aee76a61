"""Tables of `report` that are not of groups: one row per model, or one per tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from talm_sim.cli.report.blocks import title_of
from talm_sim.cli.report.layout import Block, merge_paper_rows
from talm_sim.cli.terminal.text import count
from talm_sim.runs.by_model import model_table
from talm_sim.runs.by_tool import tool_table
from talm_sim.runs.stored_run import StoredRun

__all__ = ["By", "blocks_by", "records_by", "spell_counts"]

By = Literal["model", "tool"]
"""What a row of the table is about."""


def blocks_by(by: By, runs: Sequence[StoredRun], against: str | None) -> list[Block]:
    """Return what is printed: one table of all runs by model, or one per run by tool; against the paper, its rows below those of models."""
    if by == "tool":
        tables = [(run, tool_table(run)) for run in runs]
        return [
            Block(title_of(run), one.summaries, list(one.notes()), run.config.model.startswith("sim/"), rows_are="tool") for run, one in tables
        ]
    table = model_table(runs)
    notes, papers = list(table.notes()), table.papers() if against == "paper" else []
    if against == "paper" and not papers:
        notes.append("against paper: no published row is about these tasks and settings")
    title = f"{count(len({row.model for row in table.rows}), 'model')}, {count(len(runs), 'run')}"
    return [Block(title, table.summaries(), notes, papers=papers, rows_are="model")]


def records_by(by: By, runs: Sequence[StoredRun], against: str | None) -> list[dict[str, Any]]:
    """Return the same as flat data; against the paper, followed by its rows, and each says where it is from."""
    if by == "tool":
        return [record for run in runs for record in tool_table(run).records(run)]
    table = model_table(runs)
    if against != "paper":
        return table.records()
    published = (record for one in merge_paper_rows(table.papers()) for record in one.records())
    return [{"source": "run", **one} for one in table.records()] + [
        {name: value for name, value in one.items() if name != "group"} for one in published
    ]


def spell_counts(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record for a table of text: an object that counts names becomes `name 2, other 1`."""
    return {
        name: ", ".join(f"{key} {number}" for key, number in value.items()) if isinstance(value, dict) else value
        for name, value in record.items()
    }
