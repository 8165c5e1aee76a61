"""Print a run against a paper, a line per cell: the run's figure with its interval, the paper's, and the difference."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.cells import cell_len
from rich.text import Text

from talm_sim.cli.report.layout import Block, definitions, paper_cells
from talm_sim.cli.report.result_table import block_title, note_lines
from talm_sim.cli.terminal.console import stdout
from talm_sim.cli.terminal.screen import fit_line
from talm_sim.tasks import PaperRow
from talm_sim.types import Measure, Summary
from talm_sim.types.written_figures import DASH, decimal, format_figure, interval

_NAME, _OURS, _PAPER, _MOST = 29, (7, 11), 11, 3
"""Columns of a cell's name, of the run's figure and interval, and of each figure of the paper; how many models there is room for."""


def print_against(blocks: Sequence[Block], *, explained: bool = True) -> None:
    """Print each block against its papers: title, cells and notes; then what the measures mean if they are to be explained."""
    for number, block in enumerate(blocks):
        for line in [*([Text()] if number else []), *against_lines(block, explained=explained)]:
            stdout().print(line, soft_wrap=True)


def against_lines(block: Block, *, explained: bool = False) -> Iterator[Text]:
    """Render one block; no line is wider than 80 columns.

    If the paper has rows of the run's model, these are compared. Otherwise the figures of a few other models stand beside the run's, without
    a difference, which would be one of models.
    """
    yield from block_title(block)
    for rows in block.papers:
        yield from note_lines([rows.title()])
        shown = rows.ran[:1] or rows.models[:_MOST]
        yield from _heads([*shown, *(["difference", ""] if rows.ran else [])])
        groups = {row.group for row in rows.rows}
        found = {(row.group, row.model): row for row in rows.rows}
        for summary in (one for one in block.summaries if one.group in groups):
            beside = [found.get((summary.group, model)) for model in shown]
            yield Text(f"  {fit_line(summary.group, 50)}".rstrip() + f", n {summary.n:,}", style="bold")
            for name, printed in rows.names.items():
                one = summary.measure(name)
                if one is not None and (one.value is not None or any(row and row.values.get(name) is not None for row in beside)):
                    yield from _cell(one, printed, beside, compared=bool(rows.ran))
        yield from note_lines(replace(rows, models=shown).misprints(most=len(shown) * len(groups)))
    if block.papers and block.notes:
        yield Text()
    yield from note_lines(block.notes)
    names = {name for rows in block.papers for name in rows.names}
    said = definitions([replace(block, summaries=[_only(one, names) for one in block.summaries])])
    if explained and said:
        yield Text()
        yield from note_lines(["; ".join(f"{word}: {meaning}" for word, meaning in said.items())])


def _heads(heads: Sequence[str]) -> Iterator[Text]:
    """Render the heads, over as many lines as the longest needs."""
    wrapped = [textwrap.wrap(head, _PAPER - 1) or [""] for head in ("", "", *heads)]
    wrapped[:2] = ["ours"], ["95 % int."]
    widths = (*_OURS, *(_PAPER for _ in heads))
    for line in range(-max(map(len, wrapped)), 0):
        words = (parts[line] if -line <= len(parts) else "" for parts in wrapped)
        text = "".join(word.rjust(width) for word, width in zip(words, widths, strict=True))
        yield Text(f"{'':{_NAME}}{text}".rstrip(), style="bold")


def _cell(one: Measure, printed: str, beside: Sequence[PaperRow | None], *, compared: bool) -> Iterator[Text]:
    head = f"{one.under}: {one.head}" if one.place == "line" and one.under else one.head
    head += f" ({printed})" if head != printed else ""
    if cell_len(head) > _NAME - 4:
        yield Text(f"    {head}")
        head = ""
    text = f"    {fit_line(head, _NAME - 4)}{format_figure(one):>{_OURS[0]}}{interval(one):>{_OURS[1]}}"
    theirs = [DASH if row is None else paper_cells(row, [one.name])[0] for row in beside]
    text += "".join(f"{cell:>{_PAPER}}" for cell in theirs)
    value = beside[0].values.get(one.name) if beside and beside[0] is not None else None
    if not compared:
        yield Text(text)
    elif value is None or one.value is None:
        yield Text(f"{text}{DASH:>{_PAPER}}{DASH:>{_PAPER}}")
    else:
        apart = decimal(one.value - value)
        signed = apart if apart.startswith("-") or apart == ".00" else f"+{apart}"
        unknown = one.low is None or one.high is None
        where = DASH if unknown else "inside" if one.low <= value <= one.high else "outside"  # type: ignore[operator]
        yield Text.assemble(text, f"{signed:>{_PAPER}}", (f"{where:>{_PAPER}}", "yellow" if where == "outside" else ""))


def _only(summary: Summary, names: set[str]) -> Summary:
    return summary.model_copy(update={"measures": tuple(one for one in summary.measures if one.name in names)})
