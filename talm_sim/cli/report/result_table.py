"""The result table of any task, 80 columns wide: two lines per group (values over their 95 % intervals), and details below them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import ceil

from rich.cells import cell_len
from rich.text import Text

from talm_sim.cli.report.layout import Block, further_tables, legend, paper_cells, papers, sizes
from talm_sim.cli.report.table_details import detail_lines
from talm_sim.cli.terminal.console import stdout
from talm_sim.cli.terminal.screen import fit_line, wrap
from talm_sim.tasks import PaperRow, PaperRows
from talm_sim.types import Measure, Summary
from talm_sim.types.measures import columns
from talm_sim.types.written_figures import format_figure, interval

_WIDTH, _TEXT, _LEFT, _LEAST = 80, 77, 27, 22
"""Columns of a terminal: in all, for notes and titles, and at most and least for a group's name with its n."""
_NARROW, _BROAD, _WIDEST, _MOST = 9, 12, 14, 6
"""Columns of a measure (`.96–1.00` and a space fit the narrowest; a long word of a head the widest), and most measures of one table."""
_INTERVAL = 10
"""Columns of the widest interval, `-1.00–1.00`."""
_OTHERS = ("see notes", "notes")
"""Texts below a head whose groups have several judges; the first that fits is used."""


def print_table(blocks: Sequence[Block], *, explained: bool = True) -> None:
    """Print the table on standard output, with a legend if it is to be explained."""
    console = stdout()
    for line in table_lines(blocks, explained=explained):
        console.print(line, soft_wrap=True)


def table_lines(blocks: Sequence[Block], *, explained: bool = False) -> Iterator[Text]:
    """Render runs below each other, each whole, then published rows if they have any; no line is wider than 80 columns.

    Args:
        blocks: The runs.
        explained: Whether to end with a legend of the columns.
    """
    for number, block in enumerate(blocks):
        if number:
            yield Text()
        yield from _render_block(block)
    for rows in papers(blocks):
        yield Text()
        yield from _paper(rows, [summary for block in blocks for summary in block.summaries])
    if explained and legend(blocks):
        yield Text()
        yield from note_lines([legend(blocks)])


def figure(one: Measure | None, width: int) -> str:
    """Return the value of a measure in at most `width` characters; a number that is longer is rounded."""
    text = format_figure(one)
    return f"{one.value:.2g}" if one is not None and one.value is not None and len(text) > width else text


def _render_block(block: Block) -> Iterator[Text]:
    yield from block_title(block)
    yield from note_lines(block.above)
    for number, measures in enumerate(_split(columns(block.summaries))):
        if number:
            yield Text()
        table = _Table(measures, block.summaries)
        yield from table.head()
        for summary in block.summaries:
            yield from table.rows(summary)
    below = list(_further_tables(block))
    below += [line for summary in block.summaries if summary.n for line in detail_lines(summary, name_group=len(block.summaries) > 1)]
    yield from below
    if below and block.notes:
        yield Text()
    yield from note_lines(block.notes)


def _split(measures: dict[str, Measure]) -> list[dict[str, Measure]]:
    """Split columns into tables that fit the screen, of as many columns each; one without any if there are none."""
    every = list(measures.items())
    for number in range(1, len(every) + 1):
        size = ceil(len(every) / number)
        found = [dict(every[start : start + size]) for start in range(0, len(every), size)]
        if size <= _MOST and all(sum(_width(one.head) for one in part.values()) <= _WIDTH - _LEAST for part in found):
            return found
    return [dict([one]) for one in every] or [{}]


def _width(head: str) -> int:
    """Return the columns that a head needs, whose words stand below each other."""
    return max(_NARROW, min(_WIDEST, max(map(cell_len, head.split()), default=0) + 1))


def _further_tables(block: Block) -> Iterator[Text]:
    """Render the tables below the first one, each over the groups it applies to, below an empty line."""
    for title, every in further_tables([block]).items():
        for measures in _split(every):
            yield Text()
            summaries = [one for one in block.summaries if sizes(one, measures, title)[0]]
            table = _Table(measures, summaries, title)
            yield from table.head()
            for summary in summaries:
                yield from table.rows(summary)


class _Table:
    """Some columns over some groups; any but a run's first has a title."""

    def __init__(self, measures: dict[str, Measure], summaries: Sequence[Summary], title: str = "") -> None:
        self._title = title
        self._measures = measures
        self._summaries = summaries
        spare = _WIDTH - _LEFT - sum(_width(one.head) for one in measures.values())
        more = max(0, spare // max(1, len(measures)))
        # `1.00–1.00`, of many rows, and intervals below zero are wider than the narrowest: their columns take the room from the names.
        self._widths = {
            name: max(
                min(_BROAD, _width(one.head) + more), _width(one.head), 1 + min(_INTERVAL, max(map(len, self._intervals(name)), default=0))
            )
            for name, one in measures.items()
        }
        self._left = min(_LEFT, _WIDTH - sum(self._widths.values()))

    def head(self) -> Iterator[Text]:
        yield from (Text(line, style="bold") for line in self.heads("n"))
        judges = self._judges()
        if judges.strip():
            yield Text(" " * self._left + judges.rstrip(), style="dim")

    def heads(self, n: str) -> Iterator[str]:
        """Yield the title and the heads, each on as many lines as it needs."""
        titled = list(wrap(self._title, self._left - len(n) - 1, "", "")) if self._title else []
        words = {name: list(wrap(one.head, self._widths[name] - 1, "", "")) for name, one in self._measures.items()}
        for place in range(-max(1, len(titled), *map(len, words.values())), 0):
            left = titled[place] if -place <= len(titled) else ""
            cells = (self._cell(name, parts[place] if -place <= len(parts) else "") for name, parts in words.items())
            size = n if place == -1 else ""
            yield (left + size.rjust(self._left - cell_len(left)) + "".join(cells)).rstrip()

    def rows(self, summary: Summary) -> Iterator[Text]:
        of = {one.name: one for one in summary.measures_in("column")}
        n, whole = sizes(summary, self._measures, self._title)
        *above, label = self._labels(summary.group, f"{n:,}")
        yield from map(Text, above)
        first = Text(label)
        for name in self._measures:
            one = of.get(name)
            first.append(
                self._cell(name, figure(one, self._widths[name] - 1)), style="bold" if one is not None and one.value is not None else "dim"
            )
        yield first
        total = fit_line(f"of {whole:,}" if whole != n else "", self._left, right=True)
        second = total + "".join(self._cell(name, interval(of.get(name))) for name in self._measures)
        if second.strip():
            yield Text(second.rstrip(), style="dim")

    def paper(self, row: PaperRow, name: str) -> Iterator[Text]:
        """Render a published row, in grey; a star marks figures that the paper prints differently."""
        *above, label = self._labels(name, "")
        yield from (Text(line, style="dim") for line in above)
        yield Text(label + "".join(map(self._cell, self._measures, paper_cells(row, self._measures))), style="dim")

    def _labels(self, name: str, n: str) -> list[str]:
        """Return a row's name with its n; a name too long to fit beside its figures goes above them."""
        label = list(wrap(" ".join(name.split()), _TEXT, "  ", "    ")) or ["  "]
        above = []
        if len(label) > 1 or cell_len(label[0]) + 1 + len(n) > self._left:
            above, label = label, [""]
        return [*above, label[0] + fit_line(n, self._left - cell_len(label[0]), right=True)]

    def _cell(self, name: str, text: str) -> str:
        return " " + fit_line(text, self._widths[name] - 1, right=True)

    def _intervals(self, name: str) -> Iterator[str]:
        return (interval(one) for summary in self._summaries for one in summary.measures_in("column") if one.name == name)

    def _judges(self) -> str:
        """Return the judge of each column, if all groups have the same one and its name is short enough."""
        line = ""
        for name, width in self._widths.items():
            found = [(one.by, summary.n) for summary in self._summaries for one in summary.measures_in("column") if one.name == name]
            if not any(by for by, _ in found):
                line += " " * width
                continue
            # Beside an empty cell it may fill its own.
            room = max(width - 1, len(_OTHERS[0])) if not line or line.endswith(" ") else width - 1
            judges = {by for by, n in found if n}
            fitting = (*(judges if len(judges) == 1 else ()), *_OTHERS)
            line += fit_line(next(text for text in fitting if 0 < cell_len(text) <= room), width, right=True)
        return line


def _paper(rows: PaperRows, summaries: Sequence[Summary]) -> Iterator[Text]:
    """Render the published rows under the heads of the runs' own."""
    known = {one.name: one for summary in summaries for one in summary.measures}
    shown = {name: known[name] for row in rows.rows for name in row.values if name in known}
    table = _Table(shown, ())
    yield from note_lines([rows.title()])
    yield from (Text(line, style="dim") for line in table.heads(""))
    for row in rows.few():
        yield from table.paper(row, rows.name(row))
    yield from note_lines(rows.misprints())


def block_title(block: Block) -> Iterator[Text]:
    """Render the title of a block."""
    for line in wrap(block.title, _TEXT):
        yield Text(line, style="bold yellow" if block.is_control else "bold cyan")


def note_lines(notes: Iterable[str]) -> Iterator[Text]:
    """Render notes, each on as many lines as it needs."""
    for note in notes:
        for line in wrap(note, _TEXT, "  ", "    "):
            yield Text(line, style="dim")
