"""Runs as one picture file: a grid of small drawings, of which all with the same axis have the same scale."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from talm_sim.cli.report.curve_picture import count_limits, draw_curve
from talm_sim.cli.report.layout import Block
from talm_sim.cli.report.picture_parts import (
    UPRIGHT,
    clean_words,
    draw_matrix,
    draw_rates,
    drawing,
    matrices_to_draw,
    picture_metadata,
    rates_scale,
)
from talm_sim.cli.terminal.text import clip
from talm_sim.errors import PrerequisiteError
from talm_sim.types import Curve, Matrix, Measure, Summary
from talm_sim.types.figures import interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["PICTURE_FORMATS", "picture"]

PICTURE_FORMATS = ("png", "svg")
"""Extensions of a picture's file name."""
_MOST_GROUPS = 60
"""Groups in one picture; more are too small to be read."""
_DOTS, _TALLEST = 160, 60_000
"""Dots per inch, and the most that matplotlib can draw, in dots."""
_CELL, _GAP, _EDGE = 4.3, 0.25, 0.15
"""Inches: the width of a drawing with its labels, the room between two, and the room around the picture."""
_LINE, _HEAD = 0.19, 0.28
"""Inches: the height of a line of a title, and of a line of a run's title."""
_MOST_COLUMNS, _SCREEN = 5, 1.6
"""Columns of the grid, and the width of a screen by its height."""
_SIGNS = 12.5
"""Characters of a title that fit on an inch."""


@dataclass(frozen=True, slots=True)
class _Drawing:
    """One drawing of the grid; all sizes are in inches."""

    title: str
    width: float
    """Of what is between the axes; the labels need `left` and `below` in addition."""
    height: float
    left: float
    below: float
    draw: Callable[[Axes], None]

    @property
    def cells(self) -> int:
        """How many columns of the grid it takes."""
        return max(1, -int(-(self.left + self.width + _GAP) // (_CELL + _GAP)))

    @property
    def title_lines(self) -> list[str]:
        return textwrap.wrap(self.title, int(self.cells * _CELL * _SIGNS), max_lines=2, placeholder="…")

    @property
    def tall(self) -> float:
        """The height with title and labels."""
        return len(self.title_lines) * _LINE + 0.12 + self.height + self.below


@dataclass(slots=True)
class _Band:
    """A run: its title over the rows of its drawings."""

    title: list[str]
    rows: list[list[_Drawing]]

    @property
    def tall(self) -> float:
        return len(self.title) * _HEAD + sum(max(one.tall for one in row) + _GAP for row in self.rows)


def picture(file: Path, blocks: Sequence[Block]) -> bytes:
    """Draw the rates, scores, matrices and curves of runs as a separate file.

    Each run has a title and below it a grid of small drawings: of each table, matrix or curve one per group, beside each other.

    Args:
        file: Its name gives the format; nothing is written.
        blocks: The runs.

    Raises:
        PrerequisiteError: The name ends in no known format, there is nothing to draw or too much, or matplotlib is not installed.
    """
    kind = file.suffix.lower().removeprefix(".")
    if kind not in PICTURE_FORMATS:
        raise PrerequisiteError(f"--picture {file}: the name must end in .png or .svg.")
    groups = sum(len(block.summaries) for block in blocks)
    if groups > _MOST_GROUPS:
        raise PrerequisiteError(f"--picture: {groups} groups do not fit in one picture (at most {_MOST_GROUPS}); name fewer runs.")
    explained: set[str] = set()
    runs = [(clean_words(block.title), kinds) for block in blocks if (kinds := _drawings(block, blocks, explained))]
    if not runs:
        raise PrerequisiteError("--picture: there is nothing to draw; these runs have no rates, matrices or curves.")
    wide, shelves = _arrange(runs)
    legend = _legend(blocks)
    size = wide + 2 * _EDGE, sum(map(_tallest, shelves)) + 2 * _EDGE + (_LINE if legend else 0)
    with drawing(size, "picture") as figure:
        _place(figure, shelves, legend)
        target = BytesIO()
        figure.savefig(target, format=kind, dpi=min(_DOTS, int(_TALLEST / max(size))), facecolor="white", metadata=picture_metadata(kind))
    return target.getvalue()


def _place(figure: Figure, shelves: Sequence[Sequence[_Band]], legend: str) -> None:
    """Draw everything at its place, from above."""
    wide, tall = figure.get_size_inches()
    step = (wide - 2 * _EDGE + _GAP) / len(shelves[0])
    top = tall - _EDGE
    for shelf in shelves:
        for place, band in enumerate(shelf):
            _place_band(figure, band, _EDGE + place * step, top)
        top -= _tallest(shelf)
    if legend:
        _write(figure, [legend], _EDGE, top, 8)


def _place_band(figure: Figure, band: _Band, left: float, top: float) -> None:
    """Draw a run, with its upper left corner at a place."""
    wide, tall = figure.get_size_inches()
    _write(figure, band.title, left, top, 11, _HEAD)
    top -= len(band.title) * _HEAD
    for row in band.rows:
        at = left
        for one in row:
            _write(figure, one.title_lines, at, top, 9, _LINE)
            low = top - len(one.title_lines) * _LINE - 0.12 - one.height
            one.draw(figure.add_axes(((at + one.left) / wide, low / tall, one.width / wide, one.height / tall)))
            at += one.cells * (_CELL + _GAP)
        top -= max(one.tall for one in row) + _GAP


def _write(figure: Figure, lines: Sequence[str], left: float, top: float, size: float, step: float = 0) -> None:
    """Write lines below each other; titles, which have a step, in bold."""
    wide, tall = figure.get_size_inches()
    for place, line in enumerate(lines):
        weight = "bold" if step else "normal"
        figure.text(left / wide, (top - place * step) / tall, line, fontsize=size, fontweight=weight, va="top")


def _tallest(shelf: Sequence[_Band]) -> float:
    return max(band.tall for band in shelf)


def _legend(blocks: Sequence[Block]) -> str:
    """Return what every drawing of rates has and none says."""
    every = (one for block in blocks for summary in block.summaries for measures in _rates_to_draw(summary).values() for one in measures)
    return "black lines: 95 % intervals" if any(interval(one) for one in every) else ""


def _rows(kinds: Sequence[Sequence[_Drawing]], columns: int) -> Iterator[list[_Drawing]]:
    """Return the drawings row by row, in their order; those of one kind are not parted if a row can hold them."""
    row: list[_Drawing] = []
    for kind in kinds:
        whole = sum(one.cells for one in kind)
        for place, one in enumerate(kind):
            needed = whole if not place and whole <= columns else one.cells
            if row and sum(other.cells for other in row) + needed > columns:
                yield row
                row = []
            row.append(one)
    if row:
        yield row


def _arrange(runs: Sequence[tuple[str, list[list[_Drawing]]]]) -> tuple[float, list[list[_Band]]]:
    """Return the width of the picture and its runs, row by row, in the arrangement that is largest on a screen."""
    found = []
    broadest = max(one.cells for _, kinds in runs for kind in kinds for one in kind)
    most = max(broadest, _MOST_COLUMNS)
    for columns in range(broadest, most + 1):
        signs = int((columns * (_CELL + _GAP) - _GAP) * _SIGNS * 0.85)
        bands = [_Band(textwrap.wrap(title, signs, max_lines=3, placeholder="…"), list(_rows(kinds, columns))) for title, kinds in runs]
        for abreast in range(1, min(len(runs), most // columns) + 1):
            wide = abreast * columns * (_CELL + _GAP) - _GAP
            shelves = [bands[start : start + abreast] for start in range(0, len(bands), abreast)]
            found.append((max(wide / _SCREEN, sum(map(_tallest, shelves))), wide, shelves))
    _, wide, shelves = min(found, key=lambda one: one[:2])
    return wide, shelves


def _rates_to_draw(summary: Summary) -> dict[str, list[Measure]]:
    """Return the rates and scores to draw, by the title of their table; the first table has none."""
    found: dict[str, list[Measure]] = {}
    for one in (*summary.measures_in("column"), *summary.measures_in("line")):
        if one.kind != "number":
            found.setdefault(one.under, []).append(one)
    return {title: measures for title, measures in found.items() if any(one.value is not None for one in measures)}


def _drawings(block: Block, blocks: Sequence[Block], explained: set[str]) -> list[list[_Drawing]]:
    """Return the drawings of a run: first its rates, then matrices, further rates and curves; those of one kind together, one per group.

    Args:
        block: The run.
        blocks: All runs, which share the scales of the axes.
        explained: Measures that an earlier drawing explains; those of this run are added.
    """
    several = len(block.summaries) > 1
    every = [one for other in blocks for summary in other.summaries for found in _rates_to_draw(summary).values() for one in found]
    curves = [curve for other in blocks for summary in other.summaries for curve in summary.curves]
    measured, scale = {one.name for one in every if one.value is not None}, rates_scale(every)
    titles = dict.fromkeys(title for summary in block.summaries for title in _rates_to_draw(summary))
    found: dict[tuple[int, str], list[_Drawing]] = {(2 if title else 0, title): [] for title in titles}
    for summary in block.summaries:
        for title, measures in _rates_to_draw(summary).items():
            # A measure that no group has says nothing; one that only this group lacks keeps its place.
            kept = [one for one in measures if one.name in measured]
            words = _title(summary, title or _describe(kept), several=several, counted=not title)
            found[2 if title else 0, title].append(_rates_drawing(kept, words, scale, {one.name for one in kept} - explained))
            explained.update(one.name for one in kept)
        for matrix in matrices_to_draw(summary):
            words = _title(summary, f"{matrix.name} matrix", several=several)
            found.setdefault((1, matrix.name), []).append(_matrix_drawing(matrix, words))
        for curve in summary.curves:
            words = _title(summary, curve.title, several=several)
            found.setdefault((3, curve.name), []).append(_curve_drawing(curve, words, curves))
    return [found[key] for key in sorted(found, key=lambda key: key[0])]


def _describe(measures: Sequence[Measure]) -> str:
    kinds = {one.kind for one in measures}
    return "rates" if kinds == {"rate"} else "scores" if kinds == {"score"} else "rates and scores"


def _title(summary: Summary, what: str, *, several: bool, counted: bool = False) -> str:
    """Return what a drawing shows and, if there are several, of which group; once per group with the number of its episodes."""
    left = sum(summary.not_scored.values())
    size = f" (n = {summary.n:,}{f', {left:,} not scored' if left else ''})" if counted else ""
    group = clip(clean_words(summary.group), 40)
    return f"{f'{group}: ' if several else ''}{clean_words(what)}{size}"


def _rates_drawing(measures: Sequence[Measure], title: str, scale: tuple[float, float], explained: Set[str]) -> _Drawing:
    left = 1.7
    draw = lambda axes: draw_rates(axes, measures, scale=scale, explained=explained)  # noqa: E731
    return _Drawing(title, _CELL - left - 0.1, 0.2 + 0.47 * len(measures), left, 0.3, draw)


def _matrix_drawing(matrix: Matrix, title: str) -> _Drawing:
    left, rows, columns = 1.2, len(matrix.rows), len(matrix.columns)
    below = 1.9 if columns > UPRIGHT else 0.75
    width = max(_CELL - left - 0.1, 0.7 * columns)
    return _Drawing(title, width, max(0.7 * rows, 1.2), left, below, lambda axes: draw_matrix(axes, matrix))


def _curve_drawing(curve: Curve, title: str, curves: Sequence[Curve]) -> _Drawing:
    left = 0.65
    draw = lambda axes: draw_curve(axes, curve, count_limits(curve, curves))  # noqa: E731
    return _Drawing(title, _CELL - left - 0.1, 2.8, left, 0.5, draw)
