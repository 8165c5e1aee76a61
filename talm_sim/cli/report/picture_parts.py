"""Matrices, curves, and rates with their intervals, drawn by matplotlib; whatever a run's files say is drawn as text."""

from __future__ import annotations

import re
import textwrap
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from talm_sim.cli.report.shades import shade
from talm_sim.cli.terminal.text import clip, one_line_text
from talm_sim.errors import PrerequisiteError, pip_install
from talm_sim.types import Matrix, Measure, Summary
from talm_sim.types.figures import DASH, decimal, interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "UPRIGHT",
    "clean_words",
    "draw_matrix",
    "draw_rates",
    "drawing",
    "matrices_to_draw",
    "picture_metadata",
    "rates_scale",
]

_MARK = "#3f87c9"
"""Colour of the rates."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
UPRIGHT = 6
"""Labels that fit side by side below a matrix; more are rotated."""
_MOST_CLASSES = 40
"""Classes of a matrix that is drawn."""


def matrices_to_draw(summary: Summary) -> list[Matrix]:
    """Return the matrices to draw: those of labels against the same labels whose cells are readable; a table shows the others as well."""
    return [
        one for one in summary.matrices if 0 < max(len(one.rows), len(one.columns)) <= _MOST_CLASSES and not {*one.rows}.isdisjoint(one.columns)
    ]


def clean_words(text: str) -> str:
    """Return text that XML can contain, on one line."""
    return _NOT_XML.sub("", one_line_text(text))


def _tick(text: str, width: int = 9) -> str:
    """Return a label over at most three lines."""
    return "\n".join(textwrap.wrap(clean_words(text).replace("_", " "), width, max_lines=3, placeholder="…"))


def _format_rate(one: Measure, before: str, behind: str) -> str:
    """Return a rate and what it rests on."""
    if one.value is None:
        return "no such rows" if one.n == 0 else "not measured"
    return decimal(one.value) + (f"{before}{one.k:,} of {one.n:,}{behind}" if one.k is not None and one.n is not None else "")


@contextmanager
def drawing(size: tuple[float, float], name: str) -> Iterator[Figure]:
    """Give a figure to draw on.

    Args:
        size: Width and height, in inches.
        name: What the ids in it depend on.

    Raises:
        PrerequisiteError: matplotlib is not installed.
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise PrerequisiteError(f"matplotlib is not installed: {pip_install('report')}.") from None
    # Text stays text: it can be read aloud, searched and scaled. The salt makes the same picture the same bytes. No text is a formula,
    # whatever signs it has.
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": name, "font.size": 9, "font.family": ["DejaVu Sans"], "text.parse_math": False}
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        # A sign the font does not have is drawn as a box.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield Figure(figsize=size)


def draw_matrix(axes: Axes, matrix: Matrix) -> None:
    """Draw the counts of a matrix, shaded by their share of the row."""
    from matplotlib.patches import Rectangle

    rows, columns = len(matrix.rows), len(matrix.columns)
    supports = list(map(sum, matrix.counts))
    for i, (gold, support) in enumerate(zip(matrix.rows, supports, strict=True)):
        for j, cell in enumerate(matrix.counts[i]):
            right = gold == matrix.columns[j]
            if not support:
                axes.text(j, i, DASH, ha="center", va="center")
                continue
            back, front = (tuple(part / 255 for part in colour) for colour in shade(cell / support))
            frame: Any = {"edgecolor": "black", "linewidth": 2 if right else 0.4, "zorder": 2 + right}
            axes.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=back, **frame))
            middle: Any = {"ha": "center", "va": "center", "color": front, "zorder": 4}
            axes.text(j, i - 0.08, f"{cell:,}", fontsize=10, fontweight="bold" if right else "normal", **middle)
            axes.text(j, i + 0.27, f"{cell / support:.0%}", fontsize=7.5, **middle)
    axes.set_xlim(-0.52, columns - 0.48)
    axes.set_ylim(rows - 0.48, -0.52)
    if columns > UPRIGHT:
        axes.set_xticks(range(columns), [clip(clean_words(column).replace("_", " "), 24) for column in matrix.columns], rotation=90)
    else:
        axes.set_xticks(range(columns), [_tick(column) for column in matrix.columns])
    axes.set_yticks(range(rows), [f"{_tick(one)}\n(n = {support:,})" for one, support in zip(matrix.rows, supports, strict=True)])
    axes.set_xlabel(clean_words(matrix.axes[1]))
    axes.set_ylabel(clean_words(matrix.axes[0]))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def rates_scale(measures: Sequence[Measure]) -> tuple[float, float]:
    """Return the ends of an axis that all of these fit on; rates alone take 0 to 1."""
    values = [value for one in measures for value in (one.value, one.low, one.high) if value is not None]
    return min(0, *values, 0), max(1, *values, 1)


def draw_rates(axes: Axes, measures: Sequence[Measure], *, scale: tuple[float, float], explained: Collection[str]) -> None:
    """Draw bars below each other, one per measure, with its interval and what it rests on.

    Args:
        axes: Where to draw.
        measures: The rates and scores.
        scale: Ends of the axis.
        explained: Names of the measures with their meaning below the head.
    """
    low, high = scale
    for place, one in enumerate(measures):
        label = _tick(one.head, 22)
        meaning = "\n".join(textwrap.wrap(clean_words(one.note), 31, max_lines=2, placeholder="…")) if one.name in explained else ""
        beside: Any = {"xytext": (-6, 0), "textcoords": "offset points", "xycoords": ("axes fraction", "data"), "ha": "right"}
        axes.annotate(label, (0, place - 0.1 if meaning else place), va="bottom" if meaning else "center", **beside)
        if meaning:
            axes.annotate(meaning, (0, place - 0.05), va="top", fontsize=6.5, linespacing=1, **beside)
        if one.value is None:
            axes.text(max(low, 0) + 0.02, place, _format_rate(one, "", ""), va="center", fontsize=8)
            continue
        axes.barh(place, one.value, height=0.34, color=_MARK, zorder=2)
        if one.low is not None and one.high is not None:
            axes.plot([one.low, one.high], [place, place], color="black", linewidth=1.6, marker="|", markersize=7, zorder=3)
        limits = interval(one)
        words = _format_rate(one, f" [{limits}]  " if limits else "  ", "")
        if one.kind != "rate" and limits:
            words += f" [{limits}]"
        axes.text(max(low, 0), place - 0.34, words, va="center", fontsize=8)
    axes.set_yticks([])
    axes.set_ylim(len(measures) - 0.5, -0.6)
    axes.set_xlim(low, high + (high - low) / 50)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def picture_metadata(kind: str) -> Mapping[str, str | None]:
    """Return metadata without date and version of matplotlib: equal runs, equal bytes."""
    return {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
