"""Text from models, tools and people, made safe to print, and small wordings shared by the screens."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from rich.cells import cell_len, chop_cells, set_cell_size

__all__ = ["clean", "clip", "count", "fit", "flat", "one_line", "wrapped"]

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor moves
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # operating-system commands and other strings: titles, clipboard, links
    r"|\x1b[ -/]*[0-~]"  # the rest
)
_LINE_ENDS = re.compile(r"\r\n?|[\x85\u2028\u2029]")
_CONTROLS = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and line feed, DEL, C1
    "\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks that turn the writing direction around
    "\ud800-\udfff"
    "]"
)
_JOINERS = re.compile("[\u200d\ufe0e\ufe0f]")
"""What makes a text wider or narrower than its parts."""


def clean(text: str) -> str:
    r"""Return `text` without escape sequences, control characters and direction marks; tabs and line feeds stay.

    >>> clean("a\x1b[31mred\x1b[0m\x07")
    'ared'
    """
    return _CONTROLS.sub("", _LINE_ENDS.sub("\n", _ESCAPES.sub("", text)))


def flat(text: str) -> str:
    """Return `text` clean and on one line, whatever its length."""
    return " ".join(clean(text).split())


def one_line(value: Any, width: int = 200) -> str:
    """Return a value (text as it is, all else as JSON) on one clean line of at most `width` characters."""
    return clip(flat(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)), width)


def fit(text: str, width: int, *, right: bool = False) -> str:
    """Return `text` on one clean line of exactly `width` columns of a terminal: filled up, or cut with an ellipsis.

    >>> fit("abc", 5, right=True), fit("abcdef", 4)
    ('  abc', 'abc…')
    """
    text = _JOINERS.sub("", flat(text))
    if cell_len(text) > width:
        text = set_cell_size(text, width - 1).rstrip() + "…"
    fill = " " * (width - cell_len(text))
    return fill + text if right else text + fill


def wrapped(text: str, width: int, first: str = "", rest: str = "  ") -> Iterator[str]:
    """Break a text into clean lines of at most `width` columns of a terminal, the first of them behind `first`, the others behind `rest`."""
    for line in textwrap.wrap(_JOINERS.sub("", clean(text)), width, initial_indent=first, subsequent_indent=rest):
        # It counts characters; some take two columns.
        yield from chop_cells(line, width)


def clip(text: str, width: int) -> str:
    """Return `text`, cut to `width` characters with an ellipsis where it is longer."""
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


def count(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> count(1, "episode"), count(2, "episode")
    ('1 episode', '2 episodes')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
