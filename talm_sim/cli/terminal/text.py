"""Text from models, tools and people, made safe to print, and small wordings shared by the screens."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from talm_sim.common.credentials import Hider

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor moves
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # operating-system commands and other strings: titles, clipboard, links
    r"|\x1b[ -/]*[0-~]"  # all others
)
_LINE_ENDS = re.compile(r"\r\n?|[\x85\u2028\u2029]")
_CONTROLS = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and line feed, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # marks that turn the writing direction around
    "\ud800-\udfff"
    "]"
)
_NOT_IN_JSON = re.compile(f"[\u2028\u2029{_CONTROLS.pattern[1:]}")
_NUMBER = re.compile(r"[+-]?(\d++(\.\d*+)?|\.\d++)([eE][+-]?\d++)?")
_FORMULA = ("=", "+", "-", "@", "\t", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 # where those are typed, a spreadsheet reads them as the others


def strip_control(text: str) -> str:
    r"""Return `text` without escape sequences, control characters and direction marks; tabs and line feeds stay.

    >>> strip_control("a\x1b[31mred\x1b[0m\x07")
    'ared'
    """
    return _CONTROLS.sub("", _LINE_ENDS.sub("\n", _ESCAPES.sub("", text)))


@cache
def hider() -> Hider:
    """Return what hides credentials of this environment in all that is printed; a command begins with a new one."""
    from talm_sim.common.credentials import Hider, credentials_in_environment

    return Hider(credentials_in_environment())


def safe_text(text: str) -> str:
    """Return `text` as it may be printed: without control characters, and without credentials."""
    return hider().text(strip_control(text))


def one_line_text(text: str) -> str:
    """Return `text` clean and on one line, whatever its length."""
    return " ".join(safe_text(text).split())


def one_line(value: Any, width: int = 200) -> str:
    """Return a value (text as it is, all else as JSON) on one clean line of at most `width` characters."""
    return clip(one_line_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)), width)


def as_json(value: Any, indent: int | None = None) -> str:
    r"""Return a value as JSON that is safe to print, in the letters of its script; without `indent` one line, whatever counts as a line's end.

    >>> as_json({"né": "a\u2028b\x9b"})
    '{"né": "a\\u2028b\\u009b"}'
    """
    text = json.dumps(value, indent=indent, ensure_ascii=False, default=str)
    if hider().text(text) != text:  # not so that it might cross the end of a text
        from talm_sim.common.json_values import map_texts

        text = json.dumps(map_texts(json.loads(text), hider().text), indent=indent, ensure_ascii=False)
    return _NOT_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def spreadsheet_cell(value: Any) -> Any:
    """Return a value as a cell of a table that a spreadsheet opens: text is clean, and is never a formula; numbers stay numbers.

    >>> spreadsheet_cell("=1+1"), spreadsheet_cell("-1.5"), spreadsheet_cell(-1.5)
    ("'=1+1", '-1.5', -1.5)
    """
    if value is None or isinstance(value, bool | int | float):
        return value
    text = safe_text(str(value))
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def clip(text: str, width: int) -> str:
    """Return `text`, cut to `width` characters with an ellipsis if it is longer."""
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


def count(number: float, noun: str) -> str:
    """Return a number with its noun.

    >>> count(1, "episode"), count(2, "episode")
    ('1 episode', '2 episodes')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def count_each(numbers: Mapping[str, int]) -> str:
    """Return numbers with their nouns, of which those that are 0 are left out; if all are, there are no questions.

    >>> count_each({"question": 2, "approval": 1, "form": 0}), count_each({})
    ('2 questions and 1 approval', '0 questions')
    """
    *others, last = [count(number, noun) for noun, number in numbers.items() if number] or [count(0, "question")]
    return f"{', '.join(others)} and {last}" if others else last


def duration_words(seconds: float) -> str:
    """Say how long something takes, in the unit that fits.

    >>> duration_words(0.2), duration_words(59.6), duration_words(3569), duration_words(3600), duration_words(9000)
    ('1 second', '1 minute', '59 minutes', '1 hour', '2.5 hours')
    """
    if seconds < 59.5:
        return count(max(1, round(seconds)), "second")
    if seconds < 59.5 * 60:
        return count(round(seconds / 60), "minute")
    hours = round(seconds / 3600, 1)
    return count(int(hours) if hours.is_integer() else hours, "hour")


def odds_words(argument: str, choices: int) -> str:
    """Say how likely it is that a guess of an argument is right.

    >>> odds_words("event", 4)
    'event has 4 possible values, so one guess in 4 is right'
    """
    return f"{argument} has {choices} possible values, so one guess in {choices} is right"
