"""Text from models, tools and people, made safe to print, and small wordings shared by the screens."""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["clean", "clip", "count", "flat", "one_line"]

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


def clip(text: str, width: int) -> str:
    """Return `text`, cut to `width` characters with an ellipsis where it is longer."""
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


def count(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> count(1, "episode"), count(2, "episode")
    ('1 episode', '2 episodes')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
