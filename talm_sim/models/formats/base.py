"""A format: a family's way to write tool calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from talm_sim.models.formats.literals import json_text
from talm_sim.types import JsonObject


class CallToWrite(NamedTuple):
    """A call to be written."""

    name: str
    arguments: JsonObject
    text: str = ""
    """The raw text of its JSON object, if there is one; families that write such an object keep it."""

    @property
    def json(self) -> str:
        """Its JSON object, with `name` and `arguments`."""
        return self.text or self.to_text

    @property
    def to_text(self) -> str:
        """The same in this project's spelling."""
        return json_text({"name": self.name, "arguments": self.arguments})


@dataclass(frozen=True, slots=True)
class Format:
    """A family's way to write calls.

    Attributes:
        mark: A part of the source of chat templates whose models write this way; empty if there is none.
    """

    name: str
    write: Callable[[Sequence[CallToWrite]], str]
    mark: str = ""


class ParsedCall(NamedTuple):
    """A call as it was found in a text: `raw` is empty unless the call cannot be read."""

    name: str
    arguments: Any = None
    """An object, or JSON text still to be read."""
    raw: str = ""


class Piece(NamedTuple):
    """A part of a text with its calls; it has none if it is plain text that need not be looked at again."""

    start: int
    end: int
    found: tuple[ParsedCall, ...]
    form: str
