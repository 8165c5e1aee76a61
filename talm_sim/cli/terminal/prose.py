"""Texts of any length on a screen: a model may answer with megabytes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.segment import Segment
from rich.text import Text

__all__ = ["indent", "prose"]

_LONG = 20_000
"""Characters from which on a text is broken into lines here: rich takes some 40 microseconds per line."""

_AT_ONCE = 200
"""Lines that are passed on together."""


class _Long:
    """A clean text in one style, broken at spaces if possible."""

    def __init__(self, text: str, style: str, indent: int = 0) -> None:
        self._text = text
        self._style = style
        self._indent = indent

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        style, margin = console.get_style(self._style), " " * self._indent
        width = max(1, options.max_width - self._indent)
        pieces = (f"{margin}{piece}" for line in self._text.split("\n") for piece in _break_line(line.expandtabs(8), width))
        while some := list(islice(pieces, _AT_ONCE)):
            yield Segment("\n".join(some), style)
            yield Segment.line()

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, options.max_width)

    def indented(self, columns: int) -> _Long:
        return _Long(self._text, self._style, self._indent + columns)


def prose(text: str, style: str = "") -> RenderableType:
    """Return a clean text of any length in a printable form."""
    return Text(text, style=style) if len(text) < _LONG else _Long(text, style)


def indent(page: RenderableType, columns: int = 2) -> RenderableType:
    """Return what is printed so many columns further right, wherever it is broken."""
    return page.indented(columns) if isinstance(page, _Long) else Padding(page, (0, 0, 0, columns), expand=False)


def _break_line(line: str, width: int) -> Iterator[str]:
    """Break a line into pieces of at most `width` columns."""
    start = 0
    while len(line) - start > width or not (len(line) - start <= width // 2 or cell_len(line[start:]) <= width):
        piece = line[start : start + width]
        piece = piece if piece.isascii() else (chop_cells(piece, width) or [piece])[0]
        space = piece.rfind(" ")
        whole = line[start + len(piece) : start + len(piece) + 1] in {" ", ""}
        if not whole and space > 0:
            piece = piece[:space]
        yield piece.rstrip()
        start += len(piece)
        start += line.startswith(" ", start)
    yield line[start:]
