"""Parts of prompts that differ from run to run, as a time or an id, and do not count when a request is compared with a recorded one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from re import _compiler as compiler, _parser as parser  # type: ignore[attr-defined]  # only the parsed form shows what a pattern repeats
from typing import Any, Final

_PROMPTS: Final = ("messages", "system", "input", "instructions", "prompt")
"""Fields of a request that hold prompts, in every protocol."""
_INSTEAD: Final = "\N{OBJECT REPLACEMENT CHARACTER}"
_LONGEST, _FEW, _MOST_WIDE = 1000, 10, 2
_LONG: Final = {0: 500, 1: 500, 2: 200}
"""Characters that a repeat takes at most, by the number of wide ones: a search then takes linear time, whatever it does not find."""
_SLOW: Final = "could take for ever: repeat single characters, not groups, and at most two that are not digits, as in 'id=\\w+'"


def check_ignored(pattern: str) -> str:
    """Return a pattern of what is ignored.

    Raises:
        ValueError: It is no regular expression, matches an empty text, or could take for ever; says so.
    """
    _compile(pattern)
    return pattern


def _compile(pattern: str) -> re.Pattern[str]:
    shown = f"'{pattern[:60]}'"
    try:
        re.compile(pattern)
        parsed = parser.parse(pattern)
    except (re.error, OverflowError, RecursionError) as err:
        raise ValueError(f"{shown} is not a regular expression ({err}).") from None
    if parsed.getwidth()[0] == 0:
        raise ValueError(f"{shown} matches an empty text, so that it would ignore nothing or all; write what is ignored, as in '\\d+'.")
    wide = _wide_in(parsed, _LONGEST)
    if len(pattern) > _LONGEST or wide > _MOST_WIDE:
        raise ValueError(f"{shown} {_SLOW}.")
    _wide_in(parsed, _LONG[wide])
    compiled: re.Pattern[str] = compiler.compile(parsed)
    return compiled


def _wide_in(parsed: Any, longest: int, *, repeated: bool = False) -> int:
    """Return how many repeats may each take any characters; more than is allowed if they may multiply. No repeat takes more than `longest`."""
    wide, follows = 0, False
    for place, (kind, value) in enumerate(parsed.data):
        name = str(kind)
        if name.endswith("_REPEAT"):
            least, most, inner = value
            parsed.data[place] = kind, (least, max(int(least), min(int(most), longest)), inner)
            is_long = most > _FEW and least != most
            signs = str(list(inner))
            any_sign = any(word in signs for word in ("ANY", "NEGATE", "NOT", "WORD")) or not signs.startswith("[(IN")
            wide += _wide_in(inner, longest, repeated=repeated or most > 1) + (is_long and (any_sign or follows))
            wide += (_MOST_WIDE + 1) * (repeated and least != most)
            follows = is_long or (follows and not least)
            continue
        within = [*value[1]] if name == "BRANCH" else [value] if name == "ATOMIC_GROUP" else []
        within += [value[-1]] if name == "SUBPATTERN" or name.startswith("ASSERT") else []
        wide += max((_wide_in(one, longest, repeated=repeated) for one in within), default=0)
        wide += (_MOST_WIDE + 1) * (name.startswith("GROUPREF") or (name == "BRANCH" and repeated))
        follows = False
    return wide


class IgnoredParts:
    """What is ignored of prompts.

    Attributes:
        asked: How many requests were looked up.
        matched: How many of them had a part that a pattern matches.
    """

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self.patterns = tuple(dict.fromkeys(patterns))
        self.asked = self.matched = 0
        self._compiled = [_compile(pattern) for pattern in self.patterns]

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
                value = pattern.sub(_INSTEAD, value)
            return value
        if isinstance(value, Mapping):
            return {key: self._strip(item) for key, item in value.items()}
        return [self._strip(item) for item in value] if isinstance(value, list) else value
