"""Write curves as tables: a line per bin, a column per series. A page draws them."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from talm_sim.cli.terminal.screen import fit_line, wrap
from talm_sim.cli.terminal.text import one_line_text
from talm_sim.types import Curve
from talm_sim.types.written_figures import DASH, decimal


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
    """Render a curve as a table below an empty line; no line is wider than 80 columns, and empty bins at both ends are left out.

    Args:
        curve: The curve.
        group: The group it belongs to, if that needs saying.
    """
    yield Text()
    title = curve_title(curve) + (f", {group}" if group else "")
    yield from (Text(line, style="bold") for line in wrap(title, 77, "  ", "    "))
    held = [place for place in range(len(curve.edges) - 1) if any(one.values[place] for one in curve.series)]
    rows = list(curve_table(curve))[held[0] if held else 0 : held[-1] + 1 if held else None]
    width = max(1, min(16, 66 // max(1, len(curve.series))))
    for place, (name, *cells) in enumerate([[one_line_text(curve.x), *(one.name for one in curve.series)], *rows]):
        line = f"  {fit_line(name, 12)}" + "".join(fit_line(cell, width, right=True) for cell in cells)
        yield Text(line.rstrip(), style="" if place else "bold")
