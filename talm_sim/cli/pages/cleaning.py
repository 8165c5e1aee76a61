"""Texts of models, tools and people, made fit for a page: without control characters and credentials, and cut if they are long."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from talm_sim.cli.terminal.text import strip_control
from talm_sim.common.json_values import map_texts
from talm_sim.runs.exports.texts import Cleaner

__all__ = ["PageTexts"]

_BEGIN: Final = 3_000
_END: Final = 1_000
"""Characters at the beginning and the end of a long text that are shown: a question may be at its end."""
_MOST: Final = 100
"""Arguments of a call that are shown."""


class PageTexts:
    """Makes values fit for a page."""

    def __init__(self) -> None:
        self._cleaner = Cleaner()

    def text(self, text: str, begin: int = _BEGIN, end: int = _END) -> str:
        """Return a text clean, and with a count in place of its middle if it is long."""
        text = strip_control(self._cleaner.text(text))
        if len(text) <= begin + end:
            return text
        left = f"[… {len(text) - begin - end:,} characters left out …]"
        return f"{text[:begin].rstrip()} {left} {text[-end:].lstrip()}" if end else f"{text[:begin].rstrip()}…"

    def line(self, text: str, width: int) -> str:
        """Return a text on one line of at most `width` characters and an ellipsis."""
        return self.text(" ".join(text[: 8 * width].split()), width, 0)

    def value(self, value: Any) -> Any:
        """Return a JSON value with all its texts made fit, the keys of objects included."""
        return map_texts(value, self.text)

    def arguments(self, arguments: Mapping[str, Any]) -> list[list[str]]:
        """Return the arguments of a call as names and texts: a text as it is in quotes, all else as JSON."""
        shown = [[self.text(name, 200, 0), self.text(json.dumps(value, ensure_ascii=False, default=str))] for name, value in arguments.items()]
        return shown if len(shown) <= _MOST else [*shown[:_MOST], ["…", f"{len(shown) - _MOST:,} more arguments"]]
