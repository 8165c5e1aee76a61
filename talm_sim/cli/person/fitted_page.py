"""Titled texts on a page that fits on the screen: whole if there is room, else as much of each as fits, and the rest page by page."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.segment import Segment, SegmentLines
from rich.text import Text

from talm_sim.cli.terminal.text import count

__all__ = ["FittedPage"]

_ROWS_ELSEWHERE = 40
"""Rows of a page if no terminal says how many it has."""
_ROWS_AROUND = 5
"""Rows of a page that are not text: its frame, the hint and the line that is typed."""
_FEWEST = 2
"""Minimum number of lines that each part keeps on a crowded page."""
_Part = tuple[str, list[list[Segment]]]


class FittedPage:
    """What a person sees: all of it if it fits on the screen, else as much of each part as fits.

    Args:
        console: The screen.
        title: Its title.
        parts: The texts, each under its title.
        matters: Titles of the parts, the most important first, which are kept as long as possible; parts that are not among them come last.
        last: Titles of the parts of which the end matters alone.
        more: What the person types to see the rest.
        around: Rows of the screen that are needed besides those of a line that is typed.
        plain: Whether to leave out frames and signs, for screen readers.
    """

    def __init__(
        self,
        console: Console,
        title: str,
        parts: Sequence[tuple[str, Sequence[RenderableType]]],
        *,
        matters: Sequence[str] = (),
        last: Sequence[str] = (),
        more: str,
        around: int = 0,
        plain: bool = False,
    ) -> None:
        self._console = console
        self._title = title
        self._matters = tuple(matters)
        self._last = last
        self._more = more
        self._plain = plain
        rows = (console.height if console.is_terminal else _ROWS_ELSEWHERE) - _ROWS_AROUND - around
        self._rows = max(4 * (_FEWEST + 1), rows)
        self._parts = [(title, self._lines(content)) for title, content in parts]
        everything = self._join_parts(self._parts, blank=True)
        self._pages = [everything[start : start + self._rows] for start in range(0, len(everything), self._rows)]
        self._next = 0

    def _importance(self, title: str) -> int:
        return self._matters.index(title) if title in self._matters else len(self._matters)

    @property
    def pages(self) -> int:
        """How many pages the whole takes; more than one if the first view leaves something out."""
        return len(self._pages)

    def show(self) -> None:
        """Print the first view."""
        self._print(self._fit_parts() if self.pages > 1 else self._pages[0], self._title)

    def show_more(self) -> None:
        """Print the next page of the whole."""
        where = f", page {self._next + 1} of {len(self._pages)}" if self.pages > 1 else ""
        self._print(self._pages[self._next], self._title + where)
        self._next = (self._next + 1) % len(self._pages)

    def _fit_parts(self) -> list[list[Segment]]:
        """Return every part, the most important ones as long as possible."""
        left = self._rows - len(self._parts)
        lengths = {title: len(lines) for title, lines in self._parts}
        kept = {title: min(_FEWEST, length) for title, length in lengths.items()}
        for title in sorted(lengths, key=self._importance):
            kept[title] += min(lengths[title] - kept[title], max(0, left - sum(kept.values())))
        return self._join_parts([(title, self._cut(title, lines, kept[title])) for title, lines in self._parts], blank=False)

    def _cut(self, title: str, lines: list[list[Segment]], keep: int) -> list[list[Segment]]:
        """Return the beginning and the end, where the question usually is; of what the agent did, only the end."""
        if len(lines) <= keep:
            return lines
        head = 0 if title in self._last else keep // 2
        tail = keep - head - 1
        note = self._lines([Text(f"[… {count(len(lines) - keep + 1, 'line')} more: {self._more} …]", style="dim")])[:1]
        return [*lines[:head], *note, *lines[len(lines) - tail :]]

    def _join_parts(self, parts: Sequence[_Part], *, blank: bool) -> list[list[Segment]]:
        found: list[list[Segment]] = []
        for title, lines in parts:
            head = self._lines([Text(f"{title}:" if self._plain else title, style="bold")])
            found += [*([[]] if blank and found and not self._plain else []), *head, *lines]
        return found

    def _lines(self, content: Sequence[RenderableType]) -> list[list[Segment]]:
        width = self._console.width if self._plain else self._console.width - 4
        return self._console.render_lines(Group(*content), self._console.options.update(width=width, height=None), pad=False)

    def _print(self, lines: list[list[Segment]], title: str) -> None:
        text = SegmentLines(lines, new_lines=True)
        if self._plain:
            self._console.print(Text(title))
            self._console.print(text, end="")
        else:
            self._console.print(Panel(text, title=Text(title), title_align="left", border_style="magenta", padding=(0, 1)))
