"""The values that template macros receive: tools and calls, as raw text and as fields."""

from __future__ import annotations

import json
from typing import Any

from talm_sim.errors import PrerequisiteError
from talm_sim.models.formats import CallToWrite
from talm_sim.types import JsonObject


def read_call(text: str) -> CallToWrite:
    """Read `{"name": ..., "arguments": {...}}`; `parameters` is accepted in place of `arguments`."""
    if (value := _object(text)) is not None:
        name, arguments = value.get("name"), value.get("arguments", value.get("parameters"))
        if isinstance(name, str) and name and isinstance(arguments, dict):
            return CallToWrite(name, arguments, text)
    raise PrerequisiteError(
        f'tool-call option {_shorten(text)}: is not JSON like {{"name": ..., "arguments": {{...}}}}; fix the scenario\'s options.'
    )


class ShownTool:
    """A tool of an item: its JSON text when printed, its parts when asked."""

    __slots__ = ("data", "description", "name", "parameters", "text")

    def __init__(self, text: str) -> None:
        """Read the tool."""
        value = _object(text)
        # The OpenAI protocol wraps a function in an object that says so.
        inner = value.get("function") if value is not None else None
        fields: JsonObject = inner if isinstance(inner, dict) else value or {}
        if not isinstance(fields.get("name"), str):
            raise PrerequisiteError(f"tool {_shorten(text)}: is not a JSON object with a name; fix the scenario's tools.")
        self.text = text
        self.data: JsonObject = value or {}
        self.name: str = fields["name"]
        self.description = str(fields.get("description") or "")
        parameters = fields.get("parameters")
        self.parameters: JsonObject = parameters if isinstance(parameters, dict) else {"type": "object", "properties": {}}

    def __str__(self) -> str:
        return self.text

    def __getitem__(self, key: str) -> Any:
        """Return any other field, by its name in the JSON."""
        return self.data[key]


def _object(text: str) -> JsonObject | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _shorten(text: str, limit: int = 60) -> str:
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")
