"""Lines for a person to copy into a shell. A name in them may come from a stranger; bash, zsh and fish all read the same words."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["can_be_copied", "line_to_copy", "quoted"]

_PLAIN = re.compile(r"(?![=%])[A-Za-z0-9_@%+=:,./-]+")
_PARTS = re.compile(r"[^'\\]+|['\\]")
_NOT_COPIED = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode categories of what a terminal does not show, or acts on: controls, direction marks, halves of pairs, line ends."""


def quoted(word: str) -> str:
    r"""Return a word as bash, zsh and fish alike read it, plain where that is enough.

    Within single quotes fish reads a backslash as an escape and the others do not, so a backslash, as a single quote, stays outside.

    >>> print(quoted("smollm-1:perfect-0"), quoted("it's $(a)"), quoted("~"), quoted(""))
    smollm-1:perfect-0 'it'\''s $(a)' '~' ''
    """
    if not word or _PLAIN.fullmatch(word):
        return word or "''"
    return "".join(f"\\{part}" if part in ("'", "\\") else f"'{part}'" for part in _PARTS.findall(word))


def can_be_copied(text: str) -> bool:
    """Whether a terminal shows each character of a text, so that it arrives as it is where it is pasted."""
    return not any(unicodedata.category(char) in _NOT_COPIED for char in text)


def line_to_copy(*words: str) -> str:
    r"""Return the line that passes these words; where one holds control characters, a sentence that says so.

    >>> line_to_copy("talm-sim", "report", "my run")
    "talm-sim report 'my run'"
    >>> line_to_copy("talm-sim", "report", "my\nrun")
    'no line to copy, since a name in it holds control characters'
    """
    if not all(map(can_be_copied, words)):
        return "no line to copy, since a name in it holds control characters"
    return " ".join(map(quoted, words))
