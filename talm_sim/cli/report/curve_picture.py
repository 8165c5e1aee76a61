"""Draw curves with matplotlib, on given axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from talm_sim.cli.report.picture_parts import clean_words
from talm_sim.types import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["count_limits", "draw_curve"]

_COLOURS = ("#3f87c9", "#d9822b", "#6b8e5a", "#8d6cab")
"""Colours of the series; distinct for colour-blind readers."""
_HATCHES = ("", "////", "....", "xxxx")


def count_limits(curve: Curve, others: Sequence[Curve]) -> tuple[float, float] | None:
    """Return the ends of the vertical axis that a histogram shares with the others of the same quantity; None of another curve."""
    if curve.kind != "histogram":
        return None
    same = (one for one in (curve, *others) if one.kind == "histogram" and one.y == curve.y)
    most = max((value or 0 for one in same for series in one.series for value in series.values), default=0)
    return 0, 1.05 * most or 1


def draw_curve(axes: Axes, curve: Curve, limits: tuple[float, float] | None) -> None:
    """Draw a histogram as bars beside each other, a reliability diagram as points against the diagonal.

    Args:
        axes: Where to draw.
        curve: The curve.
        limits: Ends of the vertical axis; None for those that fit the curve.
    """
    (_draw_reliability if curve.kind == "reliability" else _draw_histogram)(axes, curve)
    axes.set_xlim(curve.edges[0], curve.edges[-1])
    if limits is not None:
        axes.set_ylim(limits)
    axes.set_xlabel(clean_words(curve.x))
    axes.set_ylabel(clean_words(curve.y))
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _draw_histogram(axes: Axes, curve: Curve) -> None:
    from matplotlib.ticker import MaxNLocator

    count = len(curve.series)
    for place, one in enumerate(curve.series):
        widths = [(high - low) / (count + 0.5) for low, high in zip(curve.edges, curve.edges[1:], strict=False)]
        lefts = [low + width * (place + 0.25) for low, width in zip(curve.edges, widths, strict=False)]
        heights = [value or 0 for value in one.values]
        look: Any = {"color": _COLOURS[place % 4], "hatch": _HATCHES[place % 4], "edgecolor": "black", "linewidth": 0.4}
        axes.bar(lefts, heights, width=widths, align="edge", label=clean_words(one.name), **look)
    if all(isinstance(value, int | None) for one in curve.series for value in one.values):
        axes.yaxis.set_major_locator(MaxNLocator(nbins="auto", integer=True, min_n_ticks=1))
    if any(clean_words(one.name) for one in curve.series):
        axes.legend(fontsize=8, frameon=False)


def _draw_reliability(axes: Axes, curve: Curve) -> None:
    shares, means, counts = (one.values for one in curve.series)
    points = [(mean, share, n) for share, mean, n in zip(shares, means, counts, strict=True) if share is not None and mean is not None]
    most = max((n or 0 for _, _, n in points), default=0) or 1
    axes.plot([0, 1], [0, 1], color="black", linewidth=0.8, linestyle="--", label="perfectly calibrated")
    axes.plot([mean for mean, _, _ in points], [share for _, share, _ in points], color=_COLOURS[0], linewidth=1.4, zorder=2)
    sizes = [16 + 84 * (n or 0) / most for _, _, n in points]
    places = [mean for mean, _, _ in points], [share for _, share, _ in points]
    axes.scatter(*places, s=sizes, color=_COLOURS[0], edgecolor="black", linewidth=0.5, zorder=3, label="larger dot: more instances")
    axes.set_ylim(0, 1)
    axes.legend(fontsize=8, frameon=False, loc="upper left")
