"""The JSON Schema of a row as published, beside that of a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from talm_sim.tasks.when2call.published import OWN_KEYS, ROW_KEYS
from talm_sim.types import Behaviour

__all__ = ["with_rows"]

_FILLED = {"type": "string", "pattern": r"\S"}
_TOOL: dict[str, Any] = {"type": ["string", "object"], "description": "A tool's specification: the JSON text of an object, or the object."}
_NEEDED: Mapping[str, Any] = {
    "uuid": _FILLED,
    "question": _FILLED,
    "correct_answer": {"$ref": "#/$defs/Behaviour"},
    "answers": {
        "type": "object",
        "properties": {
            one.value: {"anyOf": [_FILLED, {"type": ["object", "array"], "minProperties": 1, "minItems": 1}]}
            if one is Behaviour.TOOL_CALL
            else _FILLED
            for one in Behaviour
        },
        "required": [one.value for one in Behaviour],
        "additionalProperties": False,
        "description": "What the model would write, of each kind.",
    },
    "tools": {"type": "array", "items": _TOOL},
}
_OPTIONAL: Mapping[str, Any] = {
    "target_tool": {"anyOf": [_TOOL, {"type": "null"}]},
    "orig_tools": {"anyOf": [{"type": "array", "items": _TOOL}, {"type": "null"}]},
}


def with_rows(scenario: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a line that is a scenario, or a row as published.

    Args:
        scenario: The schema of a scenario.
    """
    text = {"type": ["string", "null"]}
    fields = {key: _NEEDED.get(key, _OPTIONAL.get(key, text)) for key in (*ROW_KEYS, *OWN_KEYS)}
    row = {
        "description": "A row in the form of When2Call's published test set.",
        "type": "object",
        "properties": fields,
        "required": [*_NEEDED],
        "additionalProperties": False,
    }
    definitions = scenario["$defs"] | {"Row": row}
    own = {key: value for key, value in scenario.items() if key not in ("$schema", "title", "$defs")}
    head = {"$schema": scenario["$schema"], "title": scenario["title"]}
    return head | {"anyOf": [{"$ref": "#/$defs/Scenario"}, {"$ref": "#/$defs/Row"}], "$defs": definitions | {"Scenario": own}}
