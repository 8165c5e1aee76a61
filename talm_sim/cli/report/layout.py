"""The layout of a run's summaries, the same in all forms of output: columns, lines below the row, figures beside a matrix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from talm_sim.tasks import PaperRow, PaperRows
from talm_sim.types import Matrix, Measure, Summary
from talm_sim.types.measures import columns, tables
from talm_sim.types.written_figures import decimal


@dataclass(frozen=True, slots=True)
class Block:
    """The rows of one run, under a title that says whose they are."""

    title: str
    summaries: Sequence[Summary]
    notes: Sequence[str] = ()
    """Lines below the rows."""
    alerts: Sequence[str] = ()
    """Those of the notes that a reader of the screen must not miss: what was injected, lacked a verdict, was not executed or not answered."""
    is_control: bool = False
    """Whether the model is a script, which must not be read as a language model."""
    terms: Mapping[str, str] = field(default_factory=dict)
    """Words of the title that a reader may not know, with their meanings."""
    papers: Sequence[PaperRows] = ()
    """Published rows to show below its own, one per published table."""
    above: Sequence[str] = ()
    """Lines above its table, without which the figures mislead."""
    rows_are: str = "group"
    """What a row is about, in a word."""


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table of plain texts."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1
    """How many of the first columns are texts, which are aligned on the left."""


@dataclass(frozen=True, slots=True)
class PageSection:
    """Lines and tables below a title."""

    title: str
    about: Sequence[str]
    tables: Sequence[PageTable]


def definitions(blocks: Sequence[Block]) -> dict[str, str]:
    """Return what the columns of these runs count, by their heads, and the terms of their titles, without what a note explains already."""
    found: dict[str, str] = {}
    for block in blocks:
        for one in (one for table in tables(block.summaries).values() for one in table.values()):
            if one.note.lower() not in ("", one.head.lower()) and not any(f"({one.note})" in note for note in block.notes):
                found.setdefault(one.head, one.note)
    return found | {term: meaning for block in blocks for term, meaning in block.terms.items()}


def legend(blocks: Sequence[Block]) -> str:
    """Return the definitions in a sentence; empty if there is nothing to define."""
    said = "; ".join(f"{word}: {meaning}" for word, meaning in definitions(blocks).items())
    return f"n: scored episodes; below each value: its 95 % interval; {said}" if said else ""


def papers(blocks: Iterable[Block]) -> list[PaperRows]:
    """Return the published rows to show below these runs, each table once."""
    return merge_paper_rows(rows for block in blocks for rows in block.papers)


def paper_table(blocks: Sequence[Block], rows: PaperRows) -> PageTable:
    """Return published rows as a table, under the heads of these runs."""
    known = columns(summary for block in blocks for summary in block.summaries)
    names = dict.fromkeys(name for row in rows.rows for name in row.values)
    heads = [known[name].head if name in known else name.replace("_", " ") for name in names]
    return PageTable(rows.title(), ["", *heads], [[rows.name(row), *paper_cells(row, names)] for row in rows.few()])


def paper_cells(row: PaperRow, names: Iterable[str]) -> list[str]:
    """Return a published row's figures in these columns; a star marks figures that the paper prints differently."""
    return [decimal(row.values.get(name)) + ("*" if name in row.wrong else "") for name in names]


def merge_paper_rows(rows: Iterable[PaperRows]) -> list[PaperRows]:
    """Return the rows of each table once, those for several runs merged."""
    found: dict[tuple[str, str], PaperRows] = {}
    for one in rows:
        if one.rows:
            key = (one.table.paper, one.table.table)
            found[key] = found[key].joined(one) if key in found else one
    return list(found.values())


def further_tables(blocks: Sequence[Block]) -> dict[str, dict[str, Measure]]:
    """Return the tables that these runs need below the first one, as far as they have a row: title to columns."""
    summaries = [summary for block in blocks for summary in block.summaries]
    return {title: every for title, every in tables(summaries).items() if title and any(sizes(one, every, title)[0] for one in summaries)}


def shown_matrices(summary: Summary) -> list[Matrix]:
    """Return the matrices that count something, without columns that count nothing unless these are rows as well."""
    found = []
    for matrix in summary.matrices:
        kept = [place for place, name in enumerate(matrix.columns) if name in matrix.rows or any(row[place] for row in matrix.counts)]
        if any(map(any, matrix.counts)):
            columns, heads = ([values[place] for place in kept] if values else [] for values in (matrix.columns, matrix.heads))
            counts = tuple(tuple(row[place] for place in kept) for row in matrix.counts)
            found.append(matrix.model_copy(update={"columns": tuple(columns), "heads": tuple(heads), "counts": counts}))
    return found


def sizes(summary: Summary, table: Mapping[str, Measure], title: str = "") -> tuple[int, int]:
    """Return how many episodes a table's row covers, and of how many.

    Below the first table these are the episodes that its columns apply to. A score there has an `n` of its own, whatever it counts, unless it
    says how many episodes it is over.
    """
    if not title:
        return summary.n, summary.total
    own = [one for one in summary.measures_in("column") if one.name in table and one.n is not None]
    if over := [one.episodes for one in own if one.episodes is not None]:
        return max(over), max(*over, summary.n)
    scores = [one for one in own if one.kind == "score"]
    n = max((one.n or 0 for one in scores or own), default=0)
    return n, n if scores else summary.n


def line_measures(summary: Summary) -> dict[str, list[Measure]]:
    """Return the measures to show below the row, by their title."""
    found: dict[str, list[Measure]] = {}
    for one in summary.measures_in("line"):
        found.setdefault(one.under, []).append(one)
    return found


def figures_beside(summary: Summary, matrix: Matrix) -> dict[str, dict[str, Measure]]:
    """Return the figures beside a matrix: head to row to measure. If two matrices have the same rows, the first has the figures."""
    earlier = takewhile(lambda one: one.name != matrix.name, summary.matrices)
    own = set(matrix.rows).difference(*(other.rows for other in earlier))
    found: dict[str, dict[str, Measure]] = {}
    for one in summary.measures_in("matrix"):
        if one.under in own:
            found.setdefault(one.head, {})[one.under] = one
    return found
