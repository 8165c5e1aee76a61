"""Measure text in the columns of a terminal: some characters take two, some none."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from itertools import takewhile

from rich.cells import cell_len, chop_cells, set_cell_size

from talm_sim.cli.terminal.text import one_line_text, safe_text

_JOINERS = re.compile("[\u200d\ufe0e\ufe0f]")
"""Characters that make a text wider or narrower than its parts."""


def fit_line(text: str, width: int, *, right: bool = False) -> str:
    """Return `text` on one clean line of exactly `width` columns of a terminal: filled up, or cut with an ellipsis.

    >>> fit_line("abc", 5, right=True), fit_line("abcdef", 4)
    ('  abc', 'abc…')
    """
    text = _JOINERS.sub("", one_line_text(text))
    if cell_len(text) > width:
        text = set_cell_size(text, width - 1).rstrip() + "…"
    fill = " " * (width - cell_len(text))
    return fill + text if right else text + fill


def wrap(text: str, width: int, first: str = "", rest: str = "  ") -> Iterator[str]:
    """Break a text into clean lines of at most `width` columns of a terminal, the first of them after `first`, the others after `rest`."""
    lines = textwrap.wrap(_JOINERS.sub("", safe_text(text)), width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    for line in _join_marks(lines, rest):
        # It counts characters; some take two columns.
        yield from chop_cells(line, width)


def _join_marks(lines: list[str], indent: str) -> Iterator[str]:
    """Return the lines with marks that were separated from their letter (Thai has no spaces) joined to it again."""
    for number, line in enumerate(lines):
        own = line.removeprefix(indent) if number else line
        after = lines[number + 1].removeprefix(indent) if number + 1 < len(lines) else ""
        kept = own[len(_marks(own)) :] if number else own
        if kept:
            yield (indent if number else "") + kept + _marks(after)


def _marks(text: str) -> str:
    """Return the characters at the beginning of a text that take no column."""
    return "".join(takewhile(lambda sign: not cell_len(sign), text))
