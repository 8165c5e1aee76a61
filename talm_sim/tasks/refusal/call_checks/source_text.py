"""Helpers for reading Java and JavaScript values from source text.

Nothing is executed. A value that cannot be read as its type stays text. Each reading passes over the text a fixed number of times.
"""

from __future__ import annotations

import re

INTEGER = re.compile(r"(-?\d+)$")


def int_or_text(digits: str, text: str) -> int | str:
    """Return `digits` as an integer; `text` if they are too many for Python to read."""
    try:
        return int(digits)
    except ValueError:
        return text


def found_int(form: re.Pattern[str], text: str) -> int | str:
    """Return the integer in a text of a form, whose first group is the digits; otherwise the text."""
    found = form.match(text)
    return int_or_text(found.group(1), text) if found else text


def boolean_or_text(text: str) -> bool | str:
    """Return a truth value as both languages write it; otherwise the text."""
    return text == "true" if text in {"true", "false"} else text


def number_or_text(text: str) -> int | float | str:
    """Return a number in any notation that Python has as well; otherwise the text."""
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def text_between(head: re.Pattern[str], close: str, text: str, least: int = 0) -> str | None:
    """Return what follows the first `head` with `close` after it in the same line, up to there."""
    end = broken = -1
    for found in head.finditer(text):
        start = found.end()
        if start <= broken:
            continue  # the line end that kept the head before from its close stands between these two as well
        if end < start + least:
            end = text.find(close, start + least)
        if end < 0:
            return None
        broken = text.find("\n", start, end)
        if broken < 0:
            return text[start:end]
    return None
