"""The tables, matrices and curves of runs as plain data. Every figure is from a summary, and is named as everywhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from talm_sim.cli.report.curves import curve_table
from talm_sim.cli.report.layout import (
    Block,
    PageSection,
    PageTable,
    figures_beside,
    further_tables,
    line_measures,
    paper_table,
    papers,
    shown_matrices,
    sizes,
)
from talm_sim.cli.report.table_details import figure_counts, shade
from talm_sim.types import Curve, Matrix, Measure, Summary
from talm_sim.types.measures import columns
from talm_sim.types.written_figures import format_figure, interval


def block_data(block: Block) -> dict[str, Any]:
    """Return a block: its tables, then what is below them."""
    tables = {"": columns(block.summaries), **further_tables([block])} if block.summaries else {}
    several = len(block.summaries) > 1
    return {
        "title": block.title,
        "control": block.is_control,
        "rows_are": block.rows_are,
        "tables": [_rates(block, title, every) for title, every in tables.items()],
        "parts": [_part(summary, several) for summary in block.summaries if summary.n],
        "notes": list(block.notes),
    }


def _rates(block: Block, title: str, every: Mapping[str, Measure]) -> dict[str, Any]:
    rows = [_row(summary, every, title) for summary in block.summaries if not title or sizes(summary, every, title)[0]]
    return {"title": title, "heads": [[one.head, one.note] for one in every.values()], "rows": rows}


def _row(summary: Summary, every: Mapping[str, Measure], title: str) -> dict[str, Any]:
    of = {one.name: one for one in summary.measures_in("column")}
    size, whole = sizes(summary, every, title)
    n = f"{size:,}" if size == whole else f"{size:,} of {whole:,}"
    return {"group": summary.group, "n": n, "cells": [_cell(of.get(name)) for name in every]}


def _cell(one: Measure | None) -> list[Any]:
    """Return a value and its interval in words, then as numbers if they can be drawn between 0 and 1."""
    said = [format_figure(one), interval(one)]
    if one is None or one.kind == "number" or one.value is None or one.low is None or one.high is None or one.low < 0 or one.high > 1:
        return said
    return [*said, one.value, one.low, one.high]


def _part(summary: Summary, several: bool) -> dict[str, Any]:
    """Return figures, matrices and curves of a group."""
    return {
        "group": summary.group if several else "",
        "lines": [
            {"title": title or "figures", "rows": [[one.head, one.note, _cell(one), figure_counts(one)] for one in measures]}
            for title, measures in line_measures(summary).items()
        ],
        "matrices": [_matrix(summary, matrix) for matrix in shown_matrices(summary)],
        "curves": [_curve(curve) for curve in summary.curves],
    }


def _matrix(summary: Summary, matrix: Matrix) -> dict[str, Any]:
    side = figures_beside(summary, matrix)
    return {
        "title": f"{matrix.name} by {matrix.axes[1]}",
        "axes": list(matrix.axes),
        "columns": list(matrix.heads or matrix.columns),
        "side": list(side),
        "rows": [
            {"name": gold, "counts": list(counts), "shades": _shades(counts), "side": [format_figure(of.get(gold)) for of in side.values()]}
            for gold, counts in zip(matrix.rows, matrix.counts, strict=True)
        ],
    }


def _shades(counts: Sequence[int]) -> list[list[str]]:
    """Return the colours of a row's cells: behind the digits, and theirs; empty for a cell without episodes. A row without any has none."""
    support = sum(counts)
    found = []
    for count in counts if support else ():
        back, front = shade(count / support)
        found.append([f"rgb{back}", f"rgb{front}"] if count else ["", ""])
    return found


def _curve(curve: Curve) -> dict[str, Any]:
    return {
        "title": curve.title,
        "kind": curve.kind,
        "x": curve.x,
        "y": curve.y,
        "edges": list(curve.edges),
        "series": [[one.name, list(one.values)] for one in curve.series],
        "rows": list(curve_table(curve)),
    }


def paper_data(blocks: Sequence[Block]) -> list[dict[str, Any]]:
    """Return the published rows, each published table once."""
    found = []
    for rows in papers(blocks):
        found.append({**table_data(paper_table(blocks, rows)), "notes": [*rows.misprints(), rows.table.citation]})
    return found


def table_data(table: PageTable) -> dict[str, Any]:
    """Return a table of texts."""
    return {"title": table.title, "heads": list(table.heads), "rows": [list(row) for row in table.rows], "words": table.words}


def section_data(section: PageSection) -> dict[str, Any]:
    """Return a section of such tables."""
    return {"title": section.title, "about": list(section.about), "tables": [table_data(one) for one in section.tables]}
