"""The report as one HTML page: nothing is loaded, nothing runs, and whatever a run's files say is shown as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from talm_sim.cli.report.curves import curve_table, curve_title
from talm_sim.cli.report.layout import (
    Block,
    definitions,
    figures_beside,
    further_tables,
    line_measures,
    paper_cells,
    paper_heads,
    papers,
    sizes,
)
from talm_sim.cli.report.picture import bar_measures, curve_svg, matrices_to_draw, matrix_svg, rates_svg
from talm_sim.cli.report.shades import shade
from talm_sim.cli.report.table_details import figure_counts
from talm_sim.cli.terminal.console import stderr
from talm_sim.cli.terminal.text import one_line_text
from talm_sim.errors import PrerequisiteError
from talm_sim.tasks import PaperRows
from talm_sim.types import Curve, Matrix, Measure, Summary
from talm_sim.types.figures import format_figure, interval
from talm_sim.types.measures import columns

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = ["PageSection", "PageTable", "make_page", "report_page"]


@dataclass(frozen=True, slots=True)
class _Cell:
    """A value over its interval."""

    value: str
    limits: str = ""

    @classmethod
    def of(cls, one: Measure | None) -> _Cell:
        return cls(format_figure(one), interval(one))


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table of plain texts."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1
    """How many of the first columns are texts, which stand on the left."""


@dataclass(frozen=True, slots=True)
class PageSection:
    """A section below the runs'."""

    title: str
    about: Sequence[str]
    tables: Sequence[PageTable]


def report_page(
    blocks: Sequence[Block], facts: Sequence[Mapping[str, str]] = (), comparisons: Sequence[PageSection] = (), *, drawn: bool = True
) -> str:
    """Return the page over runs, one section each, in this order.

    Args:
        blocks: The runs.
        facts: Further facts about each: its name, date, settings; none if there are none.
        comparisons: Sections below the runs'.
        drawn: Whether matrices and curves are drawn as well as tabled, which needs matplotlib.

    Raises:
        PrerequisiteError: Something is to be drawn, and matplotlib is not installed.
    """
    known = [*facts, *({} for _ in range(len(blocks) - len(facts)))]
    return _template().render(
        sections=[_section(block, f"run{place}", one, drawn) for place, (block, one) in enumerate(zip(blocks, known, strict=True), 1)],
        comparisons=comparisons,
        papers=[_paper(blocks, rows) for rows in papers(blocks)],
        definitions=[(one_line_text(word), one_line_text(meaning)) for word, meaning in definitions(blocks).items()],
    )


def _paper(blocks: Sequence[Block], rows: PaperRows) -> dict[str, Any]:
    heads = paper_heads(blocks, rows)
    return {
        "title": rows.title(),
        "heads": list(heads.values()),
        "rows": [(rows.name(row), paper_cells(row, heads)) for row in rows.few()],
        "notes": rows.misprints(),
        "citation": rows.table.citation,
    }


def make_page(blocks: Sequence[Block], facts: Sequence[Mapping[str, str]], comparisons: Sequence[PageSection] = ()) -> str:
    """Return the page; without pictures, and with a line that says so, if what draws is not installed: every picture has its table."""
    try:
        return report_page(blocks, facts, comparisons)
    except PrerequisiteError as err:
        stderr().print(f"tables without pictures: {err}", style="dim", soft_wrap=True)
        return report_page(blocks, facts, comparisons, drawn=False)


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string((resources.files("talm_sim.cli") / "report_page.html").read_text(encoding="utf-8"))


def _section(block: Block, name: str, facts: Mapping[str, str], drawn: bool) -> dict[str, Any]:
    tables = {"": columns(block.summaries), **further_tables([block])}
    several = len(block.summaries) > 1
    return {
        "id": name,
        "title": one_line_text(block.title),
        "control": block.is_control,
        "tables": [_table(block, title, every) for title, every in tables.items()] if block.summaries else [],
        "facts": [(one_line_text(word), one_line_text(text)) for word, text in facts.items()],
        "parts": [_part(summary, f"{name}-{place}", several, drawn) for place, summary in enumerate(block.summaries, 1) if summary.n],
        "notes": [one_line_text(note) for note in block.notes],
    }


def _table(block: Block, title: str, every: Mapping[str, Measure]) -> dict[str, Any]:
    rows = [_row(summary, every, title) for summary in block.summaries if not title or sizes(summary, every, title)[0]]
    return {
        "title": one_line_text(title),
        "heads": [(one_line_text(one.head), one_line_text(one.note)) for one in every.values()],
        "rows": rows,
        "rows_are": block.rows_are,
    }


def _row(summary: Summary, every: Mapping[str, Measure], title: str) -> dict[str, Any]:
    of = {one.name: one for one in summary.measures_in("column")}
    size, whole = sizes(summary, every, title)
    n = f"{size:,}" if size == whole else f"{size:,} of {whole:,}"
    return {"group": one_line_text(summary.group), "n": n, "rates": [_Cell.of(of.get(name)) for name in every]}


def _part(summary: Summary, name: str, several: bool, drawn: bool) -> dict[str, Any]:
    """Return what is shown below the rows: pictures, figures, matrices, each with a title that names the group if there are several."""
    from markupsafe import Markup

    of = f" of {one_line_text(summary.group)}" if several else ""
    pictures = [matrix_svg(matrix, f"{name}-m{place}") for place, matrix in enumerate(matrices_to_draw(summary) if drawn else (), 1)]
    if pictures and bar_measures(summary):
        pictures.append(rates_svg(bar_measures(summary), f"{name}-r"))
    pictures += [curve_svg(curve, f"{name}-c{place}") for place, curve in enumerate(summary.curves if drawn else (), 1)]
    return {
        # Drawn by matplotlib, which escapes the words in them.
        "pictures": [Markup(one) for one in pictures],
        "lines": [
            (
                _capital(title or "figures") + of,
                [(one_line_text(one.head), one_line_text(one.note), _Cell.of(one), figure_counts(one)) for one in measures],
            )
            for title, measures in line_measures(summary).items()
        ],
        "curves": [(_capital(curve_title(curve)) + of, _curve(curve)) for curve in summary.curves],
        "matrices": [(_capital(f"{matrix.name} matrix") + of, _matrix(summary, matrix)) for matrix in summary.matrices],
    }


def _matrix(summary: Summary, matrix: Matrix) -> dict[str, Any]:
    side = figures_beside(summary, matrix)
    rows = []
    for gold, counts in zip(matrix.rows, matrix.counts, strict=True):
        support = sum(counts)
        cells = [(f"{count:,}", _style(count / support) if support else "") for count in counts]
        shares = [format_figure(of.get(gold)) for of in side.values()]
        rows.append({"gold": one_line_text(gold), "support": f"{support:,}", "cells": cells, "shares": shares})
    return {
        "axes": [one_line_text(axis) for axis in matrix.axes],
        "columns": [one_line_text(column) for column in matrix.columns],
        "side": [one_line_text(head) for head in side],
        "rows": rows,
    }


def _curve(curve: Curve) -> dict[str, Any]:
    return {"x": one_line_text(curve.x), "columns": [one_line_text(one.name) for one in curve.series], "rows": list(curve_table(curve))}


def _style(share: float) -> str:
    back, front = shade(share)
    return f"background:rgb{back};color:rgb{front}"


def _capital(text: str) -> str:
    text = one_line_text(text)
    return text[:1].upper() + text[1:]
