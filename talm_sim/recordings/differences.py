"""Find the first place at which two JSON values differ, and say it: its path, the character of a text, and an excerpt of both sides."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import zip_longest
from typing import Any, Final, NamedTuple

from talm_sim.foreign.error_text import escape_control
from talm_sim.recordings.matching import is_same_text

__all__ = ["ABSENT", "Difference", "common_prefix_length", "first_difference"]

ABSENT: Final = ...
"""What one side has where only the other one has a value."""
_BEFORE, _AFTER = 20, 40
"""Characters of an excerpt before the first one that differs, and from it on."""
_KEY_SHOWN, _PATH_SHOWN = 40, 120
_PLAIN_KEY = re.compile(r"[A-Za-z_$][\w$-]*", re.ASCII)

_Place = tuple[Any, str | int] | None
"""A step below another place; None for the outermost value."""


class Difference(NamedTuple):
    """The first place at which two JSON values differ."""

    path: tuple[str | int, ...]
    """Keys and indices that lead from the outermost value to the one that differs; empty for the outermost one."""
    asked: Any
    """The value there; `ABSENT` if there is none."""
    recorded: Any

    def text(self, hide: Callable[[str], str]) -> str:
        """Return the place and an excerpt of both sides, on one line and without control characters.

        Args:
            hide: Removes secrets from a text. It is called with whole texts, since half a secret is not recognized.

        >>> print(Difference(("a", 1, "b"), "cold and wet", "cold and dry").text(str))
        in a[1].b, at character 10: 'cold and wet' against recorded 'cold and dry'
        """
        where = [f"in {_format_path(self.path, hide)}"] if self.path else []
        asked, recorded, quote, place = _format_side(self.asked, hide), _format_side(self.recorded, hide), "", 0
        if isinstance(self.asked, str) and isinstance(self.recorded, str):
            asked, recorded, quote = hide(self.asked), hide(self.recorded), "'"
            place = common_prefix_length(asked, recorded)
            # Characters are counted from 1, as editors count them.
            where.append(f"at character {place + 1:,}")
        excerpts = [f"{quote}{_excerpt(side, place)}{quote}" for side in (asked, recorded)]
        what = " against recorded ".join(excerpts) if asked != recorded else "only what is hidden as a secret differs"
        return f"{', '.join(where) or 'as a whole'}: {what}"


def first_difference(asked: Any, recorded: Any, is_same: Callable[[str, str], bool] = is_same_text) -> Difference | None:
    """Return where two JSON values differ first; None if they are the same.

    Values are compared as JSON writes them: 1, 1.0 and true differ. Keys are compared in the order of `asked`, then come those that only
    `recorded` has; lists are compared as far as both go, then the longer one's next item differs.

    Args:
        asked: A value.
        recorded: Another one.
        is_same: Compares two texts; by default, a redacted value in the second one is the same as any one value.
    """
    waiting: list[tuple[_Place, Any, Any]] = [(None, asked, recorded)]
    while waiting:
        place, one, other = waiting.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            pairs = [((place, key), one.get(key, ABSENT), other.get(key, ABSENT)) for key in {**one, **other}]
            waiting += reversed(pairs)
        elif isinstance(one, list) and isinstance(other, list):
            items = [((place, index), *both) for index, both in enumerate(zip_longest(one, other, fillvalue=ABSENT))]
            waiting += reversed(items)
        elif not _is_same_leaf(one, other, is_same):
            return Difference(_path_to(place), one, other)
    return None


def common_prefix_length(one: str, other: str) -> int:
    """Return the length of the common beginning, found by halving: texts are long, and there may be many."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _is_same_leaf(one: Any, other: Any, is_same: Callable[[str, str], bool]) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return is_same(one, other)
    return type(one) is type(other) and json.dumps(one) == json.dumps(other)


def _path_to(place: _Place) -> tuple[str | int, ...]:
    steps = []
    while place is not None:
        place, step = place
        steps.append(step)
    return tuple(reversed(steps))


def _format_path(path: tuple[str | int, ...], hide: Callable[[str], str]) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else _format_key(hide(step)) for step in path).removeprefix(".")
    return text if len(text) <= _PATH_SHOWN else f"…{text[-_PATH_SHOWN:]}"


def _format_key(key: str) -> str:
    short = key if len(key) <= _KEY_SHOWN else f"{key[:_KEY_SHOWN]}…"
    return f".{short}" if _PLAIN_KEY.fullmatch(short) else f"['{escape_control(short)}']"


def _format_side(value: Any, hide: Callable[[str], str]) -> str:
    return "nothing" if value is ABSENT else hide(json.dumps(value, ensure_ascii=False))


def _excerpt(text: str, place: int) -> str:
    start, end = max(0, place - _BEFORE), place + _AFTER
    return f"{'…' if start else ''}{escape_control(text[start:end])}{'…' if end < len(text) else ''}"
