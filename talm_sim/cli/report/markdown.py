"""Write the report in Markdown: no text of a run can break its tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from talm_sim.cli.report.curves import curve_table, curve_title
from talm_sim.cli.report.layout import Block, further_tables, legend, line_measures, paper_table, papers, shown_matrices, sizes
from talm_sim.cli.terminal.text import one_line_text
from talm_sim.comparison.bounded_gates import GateResult
from talm_sim.tasks import PaperRows
from talm_sim.types import Measure, Summary
from talm_sim.types.measures import columns
from talm_sim.types.written_figures import format_figure_with_interval

_MARKS = re.compile(r"[\\|`\[\]*]")
_LINK = re.compile(r"(?i)(https?|ftp|www)([:.])")
"""Text that becomes a link although nothing marks it as one."""


def markdown(blocks: Sequence[Block], *, explained: bool = False) -> str:
    """Return the Markdown of runs, each under its title, with a legend of their columns at the end if it is to be explained."""
    parts = [_render_block(block) for block in blocks]
    parts += [_paper(blocks, rows) for rows in papers(blocks)]
    parts += [[markdown_cell(legend(blocks))]] if explained and legend(blocks) else []
    return "\n\n".join("\n".join(part) for part in parts)


def job_summary(blocks: Sequence[Block], gates: Sequence[GateResult], verdict: str) -> str:
    """Return the summary of a CI job: what came of the gates, in a line and a table, then the tables of the runs."""
    rows = [["passed" if one.passed else "**missed**", markdown_cell(one.name), markdown_cell(one.found)] for one in gates]
    parts = [f"## talm-sim: {markdown_cell(verdict)}"] if verdict else []
    parts += ["\n".join(markdown_grid(["gate", "of", "found"], rows, words=3))] if rows else []
    return "\n\n".join([*parts, markdown(blocks, explained=True)]) + "\n"


def _render_block(block: Block) -> list[str]:
    every = columns(block.summaries)
    heads = [block.rows_are, "n", *(one.head for one in every.values())]
    found = [f"### {markdown_cell(block.title)}", "", *markdown_grid(heads, [_row(summary, every) for summary in block.summaries]), ""]
    for title, measures in further_tables([block]).items():
        heads = [f"group: {title}", "n", *(one.head for one in measures.values())]
        found += [*markdown_grid(heads, [_row(one, measures, title) for one in block.summaries if sizes(one, measures, title)[0]]), ""]
    for summary in block.summaries:
        if (below := list(_render_details(summary))) and len(block.summaries) > 1:
            found += [f"#### {markdown_cell(summary.group)}", ""]
        found += below
    return [*found, *(f"- {markdown_cell(note)}" for note in block.notes)]


def _paper(blocks: Sequence[Block], rows: PaperRows) -> list[str]:
    table = paper_table(blocks, rows)
    notes = [f"- {markdown_cell(line[2:])}" for line in rows.misprints()]
    return [f"{markdown_cell(table.title)}:", "", *markdown_grid(table.heads, [[*map(markdown_cell, row)] for row in table.rows]), "", *notes]


def _render_details(summary: Summary) -> Iterator[str]:
    for title, measures in line_measures(summary).items():
        rows = [[markdown_cell(one.note or one.head), format_figure_with_interval(one), _counts(one)] for one in measures]
        yield from markdown_grid([title or "figure", "rate" if all(one.kind == "rate" for one in measures) else "value", "k/n"], rows)
        yield ""
    for matrix in shown_matrices(summary):
        if len(summary.matrices) > 1:
            yield f"{markdown_cell(matrix.name)}:"
            yield ""
        rows = [[markdown_cell(gold), *map(str, counts)] for gold, counts in zip(matrix.rows, matrix.counts, strict=True)]
        yield from markdown_grid([" \\ ".join(matrix.axes), *matrix.columns], rows)
        yield ""
    for curve in summary.curves:
        yield f"{markdown_cell(curve_title(curve))}:"
        yield ""
        rows = [[name, *cells] for name, *cells in curve_table(curve)]
        yield from markdown_grid([curve.x, *(one.name for one in curve.series)], rows)
        yield ""


def _counts(one: Measure) -> str:
    return f"{one.k}/{one.n}" if one.kind == "rate" and one.k is not None and one.n is not None else ""


def _row(summary: Summary, every: dict[str, Measure], title: str = "") -> list[str]:
    of = {one.name: one for one in summary.measures_in("column")}
    size, whole = sizes(summary, every, title)
    n = f"{size}" if size == whole else f"{size} of {whole}"
    return [markdown_cell(summary.group), n, *(format_figure_with_interval(of.get(name)) for name in every)]


def markdown_grid(heads: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> list[str]:
    """Return a table; its first `words` columns are text."""
    top = f"| {' | '.join(map(markdown_cell, heads))} |"
    return [top, f"|{'---|' * words}{'---:|' * (len(heads) - words)}", *(f"| {' | '.join(row)} |" for row in rows)]


def markdown_cell(text: str) -> str:
    """Return text that cannot break a table or a list, and that has no HTML, link or picture."""
    return _LINK.sub(r"\1\\\2", _MARKS.sub(r"\\\g<0>", one_line_text(text)).replace("&", "&amp;").replace("<", "&lt;"))
