"""Clean what leaves the project: valid text without credentials, whatever a model, a tool or a person wrote."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from talm_sim.common.credentials import Hider, credentials_in_environment
from talm_sim.common.json_values import map_texts

_KEPT = 32
"""Cleaned texts that are kept for a while."""


class Cleaner:
    """Makes JSON values fit for a file that other programs read. A text without credentials of this environment stays as it is."""

    def __init__(self) -> None:
        self._hider = Hider.from_environment(credentials_in_environment())
        self.text = lru_cache(_KEPT)(self._text)  # an episode has the same long text in several places
        """Hides credentials in a text; what is half of a character becomes U+FFFD."""

    def _text(self, text: str) -> str:
        hidden = self._hider.value(text)
        assert isinstance(hidden, str)
        return hidden if hidden.isascii() else hidden.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def value(self, value: Any) -> Any:
        """Clean all texts of a value, the keys of objects included."""
        return map_texts(value, self.text)


def as_line(value: Any) -> str:
    """Return a value as JSON in one line of ASCII: control characters and line separators are escaped."""
    return json.dumps(value, separators=(",", ":"))
