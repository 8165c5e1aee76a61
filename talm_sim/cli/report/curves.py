"""Draw curves in plain characters: the counts of a histogram as bars, a reliability diagram as places on a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from talm_sim.cli.terminal.screen import fit_line, wrap
from talm_sim.cli.terminal.text import one_line_text
from talm_sim.types import Curve
from talm_sim.types.written_figures import DASH, decimal

_LABEL, _ALL = 13, 79
"""Columns of a terminal: for a bin's name, and in all."""
_COUNT = 7
"""Columns of a count and the space after it."""
_SHARE, _MEAN = "o", "+"
"""Marks of a bin's share, and of where it would be if the probabilities were right."""


def bin_names(curve: Curve) -> list[str]:
    """Return the bins by their ends."""
    return [f"{decimal(low)}{DASH}{decimal(high)}" for low, high in zip(curve.edges, curve.edges[1:], strict=False)]


def curve_title(curve: Curve) -> str:
    """Return the title of a curve that is a table or plain lines, where no axis says what its values are."""
    return one_line_text(f"{curve.title}: {curve.y}" if curve.kind == "histogram" else curve.title)


def curve_table(curve: Curve) -> Iterator[list[str]]:
    """Return a curve as the rows of a table: the bin, then each series' value there."""
    for name, *values in zip(bin_names(curve), *(one.values for one in curve.series), strict=True):
        yield [name, *(f"{value:,}" if isinstance(value, int) else decimal(value) for value in values)]


def curve_lines(curve: Curve, group: str = "") -> Iterator[Text]:
    """Render a curve below an empty line; no line is wider than 80 columns, and empty bins at both ends are left out.

    Args:
        curve: The curve.
        group: The group it belongs to, if that needs saying.
    """
    yield Text()
    title = curve_title(curve) + (f", {group}" if group else "")
    yield from (Text(line, style="bold") for line in wrap(title, 77, "  ", "    "))
    yield from (_reliability if curve.kind == "reliability" else _histogram)(curve)


def _histogram(curve: Curve) -> Iterator[Text]:
    """Return bars beside each other, one column per series, all to one scale."""
    width = (_ALL - _LABEL) // max(1, len(curve.series))
    room = max(1, width - _COUNT - 1)
    most = max((value or 0 for one in curve.series for value in one.values), default=0)
    heads = "".join(fit_line(one_line_text(one.name), width - 1) + " " for one in curve.series)
    yield Text(f"  {fit_line(one_line_text(curve.x), _LABEL - 3)} {heads}".rstrip(), style="bold")
    names = bin_names(curve)
    for place in _occupied_bins(curve):
        cells = (_bar(one.values[place] or 0, most, room) for one in curve.series)
        line = "".join(cell.ljust(width) for cell in cells)
        yield Text(f"  {fit_line(names[place], _LABEL - 3)} {line}".rstrip())


def _occupied_bins(curve: Curve) -> Sequence[int]:
    """Return the bins from the first to the last that has anything."""
    held = [place for place in range(len(curve.edges) - 1) if any(one.values[place] for one in curve.series)]
    return range(held[0], held[-1] + 1) if held else range(len(curve.edges) - 1)


def _bar(value: float, most: float, room: int) -> str:
    drawn = round(room * value / most) if most else 0
    return f"{value:>{_COUNT - 1},} " + "#" * max(drawn, 1 if value else 0)


def _reliability(curve: Curve) -> Iterator[Text]:
    """Return each bin's count, mean and share, and where the two are between 0 and 1."""
    shares, means, counts = (one.values for one in curve.series)
    names = bin_names(curve)
    left = _LABEL + 25
    room = _ALL - left - 2
    scale = "0" + " " * (room // 2 - 2) + ".5" + " " * (room - room // 2 - 2) + "1"
    heads = f"{'n':>7} {'mean':>7} {'share':>7}"
    yield Text(f"  {fit_line(one_line_text(curve.x.split()[-1]), _LABEL - 3)} {heads}  {scale}"[:_ALL], style="bold")
    for place in _occupied_bins(curve):
        share, mean = shares[place], means[place]
        line = f"  {fit_line(names[place], _LABEL - 3)} {counts[place] or 0:>7,} {decimal(mean):>7} {decimal(share):>7}  "
        yield Text((line + _places(share, mean, room)).rstrip())
    perfect = "where the curve would be if the model were perfectly calibrated"
    words = f"{_SHARE}: {one_line_text(curve.y)}; {_MEAN}: {one_line_text(curve.x)}, {perfect}; *: both"
    yield from (Text(line, style="dim") for line in wrap(words, 77, "  ", "    "))


def _places(share: float | None, mean: float | None, room: int) -> str:
    if share is None or mean is None:
        return ""
    signs: list[str] = [" "] * room
    first, second = (round(value * (room - 1)) for value in (mean, share))
    _place_sign(signs, first, _MEAN)
    _place_sign(signs, second, "*" if first == second else _SHARE)
    return "".join(signs)


def _place_sign(signs: list[str], place: int, sign: str) -> None:
    signs[min(max(place, 0), len(signs) - 1)] = sign
