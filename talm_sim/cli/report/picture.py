"""Matrices, curves, and rates with their intervals as pictures, drawn by matplotlib; whatever a run's files say is drawn as text."""

from __future__ import annotations

import re
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from talm_sim.cli.report.curve_picture import CURVE_SIZE, curve_words, draw_curve
from talm_sim.cli.report.layout import Block
from talm_sim.cli.report.shades import shade
from talm_sim.cli.terminal.text import clip, one_line_text
from talm_sim.errors import PrerequisiteError, pip_install
from talm_sim.types import Curve, Matrix, Measure, Summary
from talm_sim.types.figures import DASH, decimal, interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["PICTURE_FORMATS", "bar_measures", "curve_svg", "matrices_to_draw", "matrix_svg", "picture", "rates_svg"]

PICTURE_FORMATS = ("png", "svg")
"""Extensions of a picture's file name."""
_MARK = "#3f87c9"
"""Colour of the rates; visible on white and on near-black."""
_INK = "#010203"
"""Placeholder for the page's own text colour, which replaces it in a page."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WIDTH = 4.7
"""Inches; small, so that the letters stay readable where a phone shows the picture at its own width."""
_UPRIGHT = 6
"""Labels that fit side by side below a matrix; more are rotated."""
_MOST_ROWS, _MOST_CLASSES = 24, 40
"""Groups in one picture (their layout takes half a second each, and more the more there are), and classes of a matrix that is drawn."""
_DOTS, _TALLEST = 160, 60_000
"""Dots per inch, and the most that matplotlib can draw, in dots."""


def bar_measures(summary: Summary) -> list[Measure]:
    """Return what is drawn beside a matrix: the rates and scores below the row, or else those in the row."""
    below, row = ([one for one in found if one.kind != "number"] for found in (summary.measures_in("line"), summary.measures_in("column")))
    return below or row


def matrices_to_draw(summary: Summary) -> list[Matrix]:
    """Return the matrices to draw: those of labels against the same labels whose cells are readable; a table shows the others as well."""
    return [
        one for one in summary.matrices if 0 < max(len(one.rows), len(one.columns)) <= _MOST_CLASSES and not {*one.rows}.isdisjoint(one.columns)
    ]


def _rates_title(measures: Sequence[Measure]) -> str:
    """Return what the bars are, in a word or two."""
    return clip(", ".join(dict.fromkeys(_words(one.under) for one in measures if one.under)), 40) or "rates"


def matrix_svg(matrix: Matrix, name: str) -> str:
    """Return a matrix as an `<svg>` element for an HTML page.

    Args:
        matrix: What is drawn.
        name: Prefix of the ids in it; two pictures of one page need two.

    Raises:
        PrerequisiteError: matplotlib is not installed.
    """
    with _drawing(_matrix_size(matrix), name) as figure:
        _draw_matrix(figure.add_subplot(), matrix)
        rows = [
            f"{_words(matrix.axes[0])} {_words(gold)}: "
            + ", ".join(f"{_words(column)} {cell:,}" for column, cell in zip(matrix.columns, row, strict=True))
            for gold, row in zip(matrix.rows, matrix.counts, strict=True)
            if any(row)
        ]
        title = f"{_words(matrix.name).capitalize()} matrix: {_words(matrix.axes[0])} down, {_words(matrix.axes[1])} across"
        return _element(figure, name, title, "; ".join(rows))


def rates_svg(measures: Sequence[Measure], name: str) -> str:
    """Return rates with their intervals as an `<svg>` element; see `matrix_svg`."""
    with _drawing((_WIDTH, _rates_height(measures)), name) as figure:
        _draw_rates(figure.add_subplot(), measures)
        said = "; ".join(f"{_words(one.note or one.head)}: {_format_rate(one, ' (', ')')}" for one in measures)
        title = _rates_title(measures) + (" with 95 % intervals" if any(interval(one) for one in measures) else "")
        return _element(figure, name, title[:1].upper() + title[1:], said)


def curve_svg(curve: Curve, name: str) -> str:
    """Return a curve as an `<svg>` element; see `matrix_svg`."""
    with _drawing(CURVE_SIZE, name) as figure:
        draw_curve(figure.add_subplot(), curve, _INK)
        return _element(figure, name, _words(curve.title), _words(curve_words(curve)))


def picture(file: Path, blocks: Sequence[Block]) -> bytes:
    """Draw runs below each other, one row per group with its matrices, its curves and its rates, as a separate file.

    Args:
        file: Its name gives the format; nothing is written.
        blocks: The runs.

    Raises:
        PrerequisiteError: The name ends in no known format, there is nothing to draw, or matplotlib is not installed.
    """
    kind = file.suffix.lower().removeprefix(".")
    if kind not in PICTURE_FORMATS:
        raise PrerequisiteError(f"--picture {file}: the name must end in .png or .svg.")
    rows = [
        (f"{block.title}, {summary.group}" if len(block.summaries) > 1 else block.title, summary)
        for block in blocks
        for summary in block.summaries
        if matrices_to_draw(summary) or bar_measures(summary) or summary.curves
    ]
    if not rows:
        raise PrerequisiteError("--picture: there is nothing to draw; these runs have no rates, matrices or curves.")
    if len(rows) > _MOST_ROWS:
        raise PrerequisiteError(f"--picture: {len(rows)} groups do not fit in one picture (at most {_MOST_ROWS}); name fewer runs.")
    sizes = [_sizes(summary) for _, summary in rows]
    heights = [max(height for _, height in parts) + 0.4 for parts in sizes]
    broad = max(sum(width for width, _ in parts) for parts in sizes)
    with _drawing((broad, sum(heights)), "picture") as figure:
        parts = figure.subfigures(len(rows), squeeze=False, height_ratios=heights)[:, 0]
        for part, (title, summary), size in zip(parts, rows, sizes, strict=True):
            part.suptitle(clip(_words(title), 110), fontsize=10, color="black")
            matrices = matrices_to_draw(summary)
            # A matrix needs more of the row, for its labels.
            ratios = [width * (1.15 if place < len(matrices) else 1) for place, (width, _) in enumerate(size)]
            # The drawing has one scale in every row: a narrower one leaves room at its end.
            room = max(0.01, broad - sum(width for width, _ in size))
            *axes, rest = part.subplots(1, len(size) + 1, squeeze=False, width_ratios=[*ratios, room])[0]
            rest.set_axis_off()
            for place, matrix in zip(axes, matrices, strict=False):
                _draw_matrix(place, matrix)
            for place, curve in zip(axes[len(matrices) :], summary.curves, strict=False):
                draw_curve(place, curve, _INK)
            if bar_measures(summary):
                _draw_rates(axes[-1], bar_measures(summary), max((len(matrix.rows) - 1 for matrix in matrices), default=0))
        target = BytesIO()
        dots = min(_DOTS, int(_TALLEST / sum(heights)))
        figure.savefig(target, format=kind, dpi=dots, facecolor="white", metadata=_metadata(kind))
    data = target.getvalue()
    return data.replace(_INK.encode(), b"#000000") if kind == "svg" else data


def _sizes(summary: Summary) -> list[tuple[float, float]]:
    """Return width and height of a group's drawing, in inches."""
    rates = bar_measures(summary)
    alone = 1.5 if rates and not matrices_to_draw(summary) else 1
    return [
        *map(_matrix_size, matrices_to_draw(summary)),
        *(CURVE_SIZE for _ in summary.curves),
        *([(_WIDTH * alone, _rates_height(rates))] if rates else []),
    ]


def _matrix_size(matrix: Matrix) -> tuple[float, float]:
    return max(_WIDTH, 1.2 + 0.7 * len(matrix.columns)), max(3.7, 0.9 + 0.7 * len(matrix.rows))


def _rates_height(measures: Sequence[Measure]) -> float:
    return 0.65 + 0.55 * len(measures)


def _words(text: str) -> str:
    """Return text that XML can contain, on one line."""
    return _NOT_XML.sub("", one_line_text(text))


def _tick(text: str, width: int = 9) -> str:
    """Return a label over at most three lines."""
    return "\n".join(textwrap.wrap(_words(text).replace("_", " "), width, max_lines=3, placeholder="…"))


def _format_rate(one: Measure, before: str, behind: str) -> str:
    """Return a rate and what it rests on."""
    if one.value is None:
        return "no such rows" if one.n == 0 else "not measured"
    return decimal(one.value) + (f"{before}{one.k:,} of {one.n:,}{behind}" if one.k is not None and one.n is not None else "")


@contextmanager
def _drawing(size: tuple[float, float], name: str) -> Iterator[Figure]:
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise PrerequisiteError(f"matplotlib is not installed: {pip_install('report')}.") from None
    # Text stays text: it can be read aloud, searched and scaled. The salt makes the same picture the same bytes. No text is a formula,
    # whatever signs it has.
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": name, "font.size": 9, "font.family": ["DejaVu Sans"], "text.parse_math": False}
    settings |= dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), _INK)
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        # A sign the font does not have is drawn as a box, in a page with the reader's own font.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield Figure(figsize=size, layout="constrained")


def _draw_matrix(axes: Axes, matrix: Matrix) -> None:
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
            frame: Any = {"edgecolor": _INK, "linewidth": 2 if right else 0.4, "zorder": 2 + right}
            axes.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=back, **frame))
            middle: Any = {"ha": "center", "va": "center", "color": front, "zorder": 4}
            axes.text(j, i - 0.08, f"{cell:,}", fontsize=10, fontweight="bold" if right else "normal", **middle)
            axes.text(j, i + 0.27, f"{cell / support:.0%}", fontsize=7.5, **middle)
    axes.set_xlim(-0.52, columns - 0.48)
    axes.set_ylim(rows - 0.48, -0.52)
    if columns > _UPRIGHT:
        axes.set_xticks(range(columns), [clip(_words(column).replace("_", " "), 24) for column in matrix.columns], rotation=90)
    else:
        axes.set_xticks(range(columns), [_tick(column) for column in matrix.columns])
    axes.set_yticks(range(rows), [f"{_tick(one)}\n(n = {support:,})" for one, support in zip(matrix.rows, supports, strict=True)])
    axes.set_xlabel(_words(matrix.axes[1]))
    axes.set_ylabel(_words(matrix.axes[0]))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _draw_rates(axes: Axes, measures: Sequence[Measure], slots: int = 0) -> None:
    """Draw bars below each other, with room for `slots` of them, so that few do not become fat."""
    for place, one in enumerate(measures):
        if one.value is None:
            axes.text(0.02, place, _format_rate(one, "", ""), va="center")
            continue
        axes.barh(place, one.value, height=0.34, color=_MARK, zorder=2)
        if one.low is not None and one.high is not None:
            axes.plot([one.low, one.high], [place, place], color=_INK, linewidth=1.6, marker="|", markersize=7, zorder=3)
        limits = interval(one)
        words = _format_rate(one, f" [{limits}]  " if limits else "  ", "")
        if one.kind != "rate" and limits:
            words += f" [{limits}]"
        axes.text(0, place - 0.34, words, va="center", fontsize=8)
    axes.set_yticks(range(len(measures)), [_tick(one.note if one.place == "line" and one.note else one.head, 22) for one in measures])
    axes.set_ylim(max(len(measures), slots) - 0.5, -0.6)
    axes.set_xlim(0, 1.02)
    axes.set_xlabel(_rates_title(measures) + (", 95 % interval" if any(interval(one) for one in measures) else ""))
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _metadata(kind: str) -> Mapping[str, str | None]:
    """Return metadata without date and version of matplotlib: equal runs, equal bytes."""
    return {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}


def _element(figure: Figure, name: str, title: str, description: str) -> str:
    """Return the figure as an element that takes the page's text colour and says what it shows."""
    target = StringIO()
    figure.savefig(target, format="svg", transparent=True, metadata=_metadata("svg"))
    drawn = target.getvalue()
    drawn = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", drawn[drawn.index("<svg") :], flags=re.DOTALL)
    # Text between the tags may look like any of this, and stays as it is.
    drawn = re.sub("<[^>]+>", lambda tag: _prefix_ids(tag[0], name), drawn)
    head, _, body = drawn.partition(">")
    head = re.sub(r'\s(?:width|height|version)="[^"]*"', "", head)
    labels = f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-desc">{escape(description)}</desc>'
    return f'{head} role="img" aria-labelledby="{name}-title {name}-desc">{labels}{body.strip()}'


def _prefix_ids(tag: str, name: str) -> str:
    tag = re.sub(r'\bid="', f'id="{name}-', tag)
    return tag.replace("url(#", f"url(#{name}-").replace('href="#', f'href="#{name}-').replace(_INK, "currentColor")
