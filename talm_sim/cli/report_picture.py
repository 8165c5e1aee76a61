"""The confusion matrix and the hallucination rates of task `when2call` as a picture, drawn by matplotlib."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from talm_sim.cli.shades import shade
from talm_sim.cli.table import decimal, interval
from talm_sim.cli.text import clean, clip
from talm_sim.errors import PrerequisiteError
from talm_sim.judges.choices import HALLUCINATIONS, UNPARSED, ChoiceSummary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["PICTURE_FORMATS", "hallucinations_svg", "matrix_svg", "picture"]

PICTURE_FORMATS = ("png", "svg")
"""How the name of a picture's file may end."""
_TICKS = {
    "direct": "direct",
    "tool_call": "tool call",
    "request_for_info": "request\nfor info",
    "cannot_answer": "cannot\nanswer",
    UNPARSED: "un-\nparsed",
}
_RATES = {"tool": "tool call where\nno tools are shown", "answer": "direct answer", "parameter": "tool call where\ninfo is missing"}
_MARK = "#3f87c9"
"""Of the rates; stands out from white and from near-black."""
_INK = "#010203"
"""Stands for the page's own text colour, which it is replaced by in a page."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SIZE = {"matrix": (4.7, 3.7), "rates": (4.7, 2.3)}
"""Inches; small, so that the letters stay readable where a phone shows the picture at its own width."""


def matrix_svg(summary: ChoiceSummary, name: str) -> str:
    """Return the confusion matrix as an `<svg>` element for an HTML page.

    Args:
        summary: What is drawn.
        name: Prefix of the ids in it; two pictures of one page need two.

    Raises:
        PrerequisiteError: matplotlib is not installed.
    """
    with _drawing(_SIZE["matrix"], name) as figure:
        _draw_matrix(figure.add_subplot(), summary)
        rows = [
            f"gold {gold.value}: " + ", ".join(f"{column} {cell:,}" for column, cell in zip(summary.columns, row, strict=True))
            for gold, row in zip(summary.classes, summary.matrix, strict=True)
            if any(row)
        ]
        return _element(figure, name, "Confusion matrix: gold behaviour down, predicted across", "; ".join(rows))


def hallucinations_svg(summary: ChoiceSummary, name: str) -> str:
    """Return the three hallucination rates with their intervals as an `<svg>` element; see `matrix_svg`."""
    with _drawing(_SIZE["rates"], name) as figure:
        _draw_rates(figure.add_subplot(), summary)
        rates = [(" ".join(_RATES[one].split()), summary.hallucinations[one]) for one in HALLUCINATIONS]
        said = [f"{words}: {f'{decimal(rate.value)} ({rate.k} of {rate.n})' if rate.n else 'no such rows'}" for words, rate in rates]
        return _element(figure, name, "Hallucination rates with 95 % intervals", "; ".join(said))


def picture(file: Path, runs: Sequence[tuple[str, ChoiceSummary]]) -> bytes:
    """Draw runs below each other, each with its matrix and its rates, as a file of its own.

    Args:
        file: Its name says the format; nothing is written.
        runs: Titles and what is drawn.

    Raises:
        PrerequisiteError: The name ends in no known format, there is nothing to draw, or matplotlib is not installed.
    """
    kind = file.suffix.lower().removeprefix(".")
    if kind not in PICTURE_FORMATS:
        raise PrerequisiteError(f"--picture {file}: the name must end in .png or .svg.")
    if not runs:
        raise PrerequisiteError("--picture: draws runs of task when2call, and none of these is one.")
    (width, height), (more, _) = _SIZE["matrix"], _SIZE["rates"]
    with _drawing((width + more, (height + 0.4) * len(runs)), "picture") as figure:
        for part, (title, summary) in zip(figure.subfigures(len(runs), squeeze=False)[:, 0], runs, strict=True):
            # A model's name is no formula, whatever signs it has.
            part.suptitle(clip(_NOT_XML.sub("", clean(title)), 110), fontsize=10, color="black", parse_math=False)
            left, right = part.subplots(1, 2, width_ratios=[1.15, 1])
            _draw_matrix(left, summary)
            _draw_rates(right, summary)
        target = BytesIO()
        figure.savefig(target, format=kind, dpi=160, facecolor="white", metadata=_metadata(kind))
    data = target.getvalue()
    return data.replace(_INK.encode(), b"#000000") if kind == "svg" else data


@contextmanager
def _drawing(size: tuple[float, float], name: str) -> Iterator[Figure]:
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise PrerequisiteError("matplotlib is not installed: pip install 'talm-sim[report]'.") from None
    # Text stays text: it can be read aloud, searched and scaled. The salt makes the same picture the same bytes.
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": name, "font.size": 9, "font.family": ["DejaVu Sans"]}
    settings |= dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), _INK)
    with matplotlib.rc_context(settings):
        yield Figure(figsize=size, layout="constrained")


def _draw_matrix(axes: Axes, summary: ChoiceSummary) -> None:
    from matplotlib.patches import Rectangle

    rows, columns = len(summary.matrix), len(summary.columns)
    for i, (gold, scores) in enumerate(summary.classes.items()):
        for j, cell in enumerate(summary.matrix[i]):
            right = str(gold) == summary.columns[j]
            if not scores.support:
                axes.text(j, i, "\N{EN DASH}", ha="center", va="center")
                continue
            back, front = (tuple(part / 255 for part in colour) for colour in shade(cell / scores.support))
            frame: Any = {"edgecolor": _INK, "linewidth": 2 if right else 0.4, "zorder": 2 + right}
            axes.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=back, **frame))
            middle: Any = {"ha": "center", "va": "center", "color": front, "zorder": 4}
            axes.text(j, i - 0.08, f"{cell:,}", fontsize=10, fontweight="bold" if right else "normal", **middle)
            axes.text(j, i + 0.27, f"{cell / scores.support:.0%}", fontsize=7.5, **middle)
    axes.set_xlim(-0.52, columns - 0.48)
    axes.set_ylim(rows - 0.48, -0.52)
    axes.set_xticks(range(columns), [_TICKS[column] for column in summary.columns])
    axes.set_yticks(range(rows), [f"{_TICKS[one]}\n(n = {scores.support:,})" for one, scores in summary.classes.items()])
    axes.set_xlabel("predicted")
    axes.set_ylabel("gold")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _draw_rates(axes: Axes, summary: ChoiceSummary) -> None:
    rates = [summary.hallucinations[name] for name in HALLUCINATIONS]
    for place, rate in enumerate(rates):
        if rate.value is None or rate.low is None or rate.high is None:
            axes.text(0.02, place, "no such rows", va="center")
            continue
        axes.barh(place, rate.value, height=0.34, color=_MARK, zorder=2)
        axes.plot([rate.low, rate.high], [place, place], color=_INK, linewidth=1.6, marker="|", markersize=7, zorder=3)
        axes.text(0, place - 0.34, f"{decimal(rate.value)} [{interval(rate)}]  {rate.k:,} of {rate.n:,}", va="center", fontsize=8)
    axes.set_yticks(range(len(rates)), [_RATES[name] for name in HALLUCINATIONS])
    axes.set_ylim(len(rates) - 0.5, -0.6)
    axes.set_xlim(0, 1.02)
    axes.set_xlabel("hallucination rate, 95 % interval")
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _metadata(kind: str) -> Mapping[str, str | None]:
    """No date and no version of matplotlib: equal runs, equal bytes."""
    return {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}


def _element(figure: Figure, name: str, title: str, description: str) -> str:
    """The figure as an element that takes the page's text colour and says what it shows."""
    target = StringIO()
    figure.savefig(target, format="svg", transparent=True, metadata=_metadata("svg"))
    drawn = target.getvalue()
    drawn = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", drawn[drawn.index("<svg") :], flags=re.DOTALL)
    drawn = re.sub(r'\bid="', f'id="{name}-', drawn)
    drawn = drawn.replace("url(#", f"url(#{name}-").replace('href="#', f'href="#{name}-').replace(_INK, "currentColor")
    head, _, body = drawn.partition(">")
    head = re.sub(r'\s(?:width|height|version)="[^"]*"', "", head)
    labels = f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-desc">{escape(description)}</desc>'
    return f'{head} role="img" aria-labelledby="{name}-title {name}-desc">{labels}{body.strip()}'
