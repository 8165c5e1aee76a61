"""Parts of prompts that differ from run to run, as a time or an id, and do not count when a request is compared with a recorded one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from re import _parser as parser  # type: ignore[attr-defined]  # only the parsed form shows what a pattern repeats
from typing import Any, Final

_PROMPTS: Final = ("messages", "system", "input", "instructions", "prompt")
"""Fields of a request that hold prompts, in every protocol."""
_INSTEAD: Final = "\N{OBJECT REPLACEMENT CHARACTER}"
_LONGEST, _FEW, _MOST_WIDE = 1000, 10, 2
_REPEATS: Final = {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}
_WORD: Final = "[(IN, [(CATEGORY, CATEGORY_WORD)])]"
_SLOW: Final = "could take for ever: begin with a text, and repeat single characters, not groups, as in 'id=\\w+'"


def check_ignored(pattern: str) -> str:
    """Return a pattern of what is ignored.

    Raises:
        ValueError: It is no regular expression, matches an empty text, or could take for ever; says so.
    """
    shown = f"'{pattern[:60]}'"
    try:
        parsed = parser.parse(pattern) if len(pattern) <= _LONGEST else None
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as err:
        raise ValueError(f"{shown} is not a regular expression ({err}).") from None
    if parsed is not None and parsed.getwidth()[0] == 0:
        raise ValueError(f"{shown} matches an empty text, so that it would ignore nothing or all; write what is ignored, as in '\\d+'.")
    if parsed is None or _wide_in(parsed) > _MOST_WIDE:
        raise ValueError(f"{shown} {_SLOW}.")
    return pattern


def _wide_in(parsed: Iterable[Any], *, repeated: bool = False, leads: bool = True) -> int:
    """Return how many repeats may each take any length of a text; too many if a search may take more than a short while.

    Args:
        parsed: The pattern.
        repeated: Whether it is within a repeat.
        leads: Whether a search begins with it at every place of a text.
    """
    wide, follows = 0, False
    for kind, value in parsed:
        name = str(kind)
        if name in _REPEATS:
            least, most, inner = value
            signs = str(list(inner))
            is_long = most > _FEW and least != most
            is_wide = any(word in signs for word in ("ANY", "NEGATE", "NOT", "WORD")) or not signs.startswith("[(IN")
            too_many = (repeated and least != most) or (is_long and leads and is_wide and signs != _WORD)
            wide += (
                _wide_in(inner, repeated=repeated or most > 1, leads=leads) + (_MOST_WIDE + 1) * too_many + (is_long and (is_wide or follows))
            )
            follows, leads = is_long or (follows and not least), leads and not least
            continue
        inner = [*value[1]] if name == "BRANCH" else [value] if name == "ATOMIC_GROUP" else []
        inner += [value[-1]] if name == "SUBPATTERN" or name.startswith("ASSERT") else []
        wide += max((_wide_in(one, repeated=repeated, leads=leads) for one in inner), default=0)
        wide += (_MOST_WIDE + 1) * (name.startswith("GROUPREF") or (name == "BRANCH" and repeated))
        follows, leads = False, leads and name in {"AT", "ASSERT", "ASSERT_NOT"}
    return wide


class IgnoredParts:
    """What is ignored of prompts.

    Attributes:
        patterns: The patterns.
        asked: How many requests were looked up.
        matched: How many of them had a part that a pattern matches.
    """

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self.patterns = tuple(dict.fromkeys(patterns))
        self.asked = self.matched = 0
        self._compiled = [re.compile(pattern) for pattern in self.patterns]

    def strip(self, body: bytes | None) -> bytes | None:
        """Return a request's body without what is ignored, keys sorted; None if nothing of its prompts is."""
        if not self._compiled or not body:
            return None
        try:
            told = json.loads(body)
        except (ValueError, RecursionError):
            return None
        if not isinstance(told, dict):
            return None
        found = {name: self._strip(value) if name in _PROMPTS else value for name, value in told.items()}
        return None if found == told else json.dumps(found, sort_keys=True).encode()

    def _strip(self, value: Any) -> Any:
        if isinstance(value, str):
            for pattern in self._compiled:
                value = pattern.sub(lambda match: _INSTEAD if match[0] else "", value)
            return value
        if isinstance(value, Mapping):
            return {key: self._strip(item) for key, item in value.items()}
        return [self._strip(item) for item in value] if isinstance(value, list) else value
