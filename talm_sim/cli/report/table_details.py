"""Print the details below a run's rows: figures on their own lines, matrices, and curves.

The shades of a matrix are one hue from light to dark, so that lightness alone is enough for colour-blind readers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import ceil

from rich.cells import cell_len
from rich.text import Text

from talm_sim.cli.report.curves import curve_lines
from talm_sim.cli.report.layout import figures_beside, line_measures, shown_matrices
from talm_sim.cli.terminal.screen import fit_line, wrap
from talm_sim.cli.terminal.text import one_line_text
from talm_sim.types import Matrix, Measure, Summary
from talm_sim.types.written_figures import format_figure, interval

_LABEL, _SIDE, _CELLS = 19, 7, 50
"""Columns of a terminal: for a row's label, for the figure beside a matrix, for its cells together."""
_NARROW, _BROAD = 6, 10
_WORDS, _RIGHT = 54, 79
"""Where the words of a figure end, and where its last column does."""
Colour = tuple[int, int, int]
"""Red, green and blue, 0 to 255."""

_RAMP: tuple[Colour, ...] = ((240, 246, 252), (107, 161, 206), (8, 48, 107))
_BLACK, _WHITE = (0, 0, 0), (255, 255, 255)


def detail_lines(summary: Summary, *, name_group: bool = False) -> Iterator[Text]:
    """Render lines, matrices and curves of a group, each part below an empty line; no line is wider than 80 columns.

    Args:
        summary: The group.
        name_group: Whether each part names its group, because several groups have such parts.
    """
    of = f", {summary.group}" if name_group else ""
    for title, measures in line_measures(summary).items():
        yield Text()
        if title or of:
            yield from (Text(line, style="bold") for line in wrap(f"{title or 'figures'}{of}", 77, "  ", "    "))
        for one in measures:
            yield from _figure_lines(one)
    for matrix in shown_matrices(summary):
        yield Text()
        if of or len(summary.matrices) > 1:
            yield from (Text(line, style="bold") for line in wrap(f"{matrix.name}{of}", 77, "  ", "    "))
        yield from _matrix_lines(matrix, *_choose_beside(summary, matrix))
    for curve in summary.curves:
        yield from curve_lines(curve, summary.group if name_group else "")


def figure_counts(one: Measure) -> str:
    """Return the counts of a rate, as `k/n`; empty for other figures and without rows."""
    return f"{one.k:,}/{one.n:,}" if one.kind == "rate" and one.k is not None and one.n else ""


def _figure_lines(one: Measure) -> Iterator[Text]:
    name, note = one_line_text(one.head), one_line_text(one.note)
    value = format_figure(one)
    rest = f" {interval(one):>8} {figure_counts(one):>10}".rstrip()
    style = "bold" if one.value is not None else "dim"
    words = f"    {fit_line(name, 10) if cell_len(name) <= 10 else name} {note}"
    if cell_len(words) < _WORDS and len(value.rjust(5)) + len(rest) <= _RIGHT - _WORDS:
        line = Text(words + " " * (_WORDS - cell_len(words)))
        line.append(value.rjust(5), style=style).append(rest, style="dim")
        yield line
        return
    # Too much for one line: the words first, what they are about below them.
    yield from map(Text, wrap(f"{name} {note}", 77, "    ", " " * 8))
    room = max(5, _RIGHT - len(rest))
    yield Text(fit_line(value, room, right=True), style=style).append(rest[: _RIGHT - room], style="dim")


def _choose_beside(summary: Summary, matrix: Matrix) -> tuple[str, dict[str, Measure]]:
    """Return the one figure beside a matrix that fits on the screen: F1, else the first."""
    found = figures_beside(summary, matrix)
    head = "F1" if "F1" in found else next(iter(found), "")
    return head, found.get(head, {})


def _matrix_lines(matrix: Matrix, head: str, side: dict[str, Measure]) -> Iterator[Text]:
    numbers = [[f"{cell:,}" if cell < 1_000_000 else str(cell) for cell in row] for row in matrix.counts]
    needed = max((len(number) + 2 for row in numbers for number in row), default=0)
    words = max((cell_len(word) + 1 for head in matrix.heads or matrix.columns for word in head.split()), default=0)
    needed = max(needed, words if words <= _BROAD else 0)
    narrow = min(max(_NARROW, needed), _CELLS)
    count = len(matrix.columns)
    size = max(1, ceil(count / max(1, ceil(count / (_CELLS // narrow)))))
    width = max(narrow, min(_BROAD, _CELLS // size))
    rows, heads, legend = _labels(matrix, width - 1)
    side_width = max(_SIDE, min(_BROAD, cell_len(head) + 1))
    axes = " \\ ".join(map(one_line_text, matrix.axes))
    for start in range(0, max(1, count), size):
        if start:
            yield Text()
        # The figures beside the matrix are printed once, beside its last part.
        last = bool(head) and start + size >= count
        cells = [(list(wrap(one, width - 1, "", "")), width) for one in heads[start : start + size]]
        cells += [([head], side_width)] if last else []
        for place in range(-max(len(parts) for parts, _ in cells), 0):
            top = "".join(" " + fit_line(parts[place] if -place <= len(parts) else "", room - 1, right=True) for parts, room in cells)
            yield Text(f"{f'  {axes}' if place == -1 else '':{_LABEL}}{top}", style="bold")
        for row, label, counts, texts in zip(matrix.rows, rows, matrix.counts, numbers, strict=True):
            support = sum(counts)
            line = Text("  " + fit_line(label, _LABEL - 3) + " ")
            for cell, text in zip(counts[start : start + size], texts[start : start + size], strict=True):
                # The space between two cells stays unshaded.
                line.append(" ")
                line.append(fit_line(text, width - 2, right=True) + " ", style=_shade(cell / support if support else 0))
            if last:
                line.append(fit_line(format_figure(side.get(row)), side_width, right=True), style="" if support else "dim")
            yield line
    yield from (Text(line, style="dim") for line in wrap(", ".join(legend), 77, "  ", "    "))


def _labels(matrix: Matrix, width: int) -> tuple[list[str], list[str], list[str]]:
    """Return the labels of rows and columns, and their legend: numbers if the columns' names do not fit."""
    rows, heads = list(map(one_line_text, matrix.rows)), list(map(one_line_text, matrix.heads or matrix.columns))
    names = list(map(one_line_text, matrix.columns))
    short = _short_labels(rows)
    legend = [f"{label} is {row}" for label, row in zip(short, rows, strict=True) if label != row]
    if all(cell_len(word) <= width for head in heads for word in head.split()):
        return short, heads, legend
    numbers = {name: str(number) for number, name in enumerate(names, 1)}
    # A number is not separated from its name.
    legend = [f"{number}\N{NO-BREAK SPACE}{name}" for name, number in numbers.items()] + [
        f"{label} is {row}" for label, row in zip(short, rows, strict=True) if label != row and row not in numbers
    ]
    labels = [f"{numbers[row]} {row}" if row in numbers else label for label, row in zip(short, rows, strict=True)]
    return labels, [str(number) for number in range(1, len(names) + 1)], legend


def _short_labels(rows: Sequence[str]) -> list[str]:
    """Return the labels of rows, those that are too long without their middle, so that no two are alike."""
    room = _LABEL - 3
    labels = [row if cell_len(row) <= room else _shorten_middle(row, room) for row in rows]
    if len({*labels}) == len({*rows}):
        return labels
    return [row if cell_len(row) <= room else f"{number} {row[: room - 6]}…" for number, row in enumerate(rows, 1)]


def _shorten_middle(row: str, room: int) -> str:
    """Return the beginning and the last words of a label.

    >>> _shorten_middle("multi_turn_miss_func", 16), _shorten_middle("multi_turn_long_context", 16)
    ('multi…miss_func', 'mul…long_context')
    """
    ends = [row[place.end() :] for place in re.finditer(r"[\W_]", row)]
    end = next((one for one in ends if one and cell_len(one) <= room - 4), row[-room // 2 :])
    return f"{row[: max(0, room - 1 - cell_len(end))].rstrip('_-. ')}…{end}"


def _shade(share: float) -> str:
    """Return the style of a cell by its share of its row; rich ignores it without colours."""
    if not share:
        return "dim"
    back, front = shade(share)
    return f"rgb({front[0]},{front[1]},{front[2]}) on rgb({back[0]},{back[1]},{back[2]})"


def shade(share: float) -> tuple[Colour, Colour]:
    """Return the colour of a cell and that of its digits, whichever of black and white is read better on it.

    Args:
        share: 0 (lightest) to 1 (darkest).
    """
    place = min(max(share, 0.0), 1.0) * (len(_RAMP) - 1)
    index = min(int(place), len(_RAMP) - 2)
    low, high = _RAMP[index], _RAMP[index + 1]
    red, green, blue = (round(a + (b - a) * (place - index)) for a, b in zip(low, high, strict=True))
    back = (red, green, blue)
    return back, max((_BLACK, _WHITE), key=lambda front: contrast(back, front))


def contrast(one: Colour, other: Colour) -> float:
    """Return the contrast ratio of two colours, 1 to 21 (WCAG 2.2); text needs 4.5.

    >>> contrast((255, 255, 255), (0, 0, 0))
    21.0
    """
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Colour) -> float:
    red, green, blue = ((part / 12.92) if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (value / 255 for value in colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
