"""Turn the tools that a scenario has as text into specifications that a chat model's provider takes.

Published data writes Python's names for types ("dict", "float") and dots in names; the OpenAI protocol takes neither.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.item_tools import json_schema, required_of, spec_of
from talm_sim.types import ToolSpec

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")


def tool_specs(texts: Sequence[str]) -> list[ToolSpec]:
    """Read the tools a scenario shows."""
    return [_spec(text) for text in texts]


def _spec(text: str) -> ToolSpec:
    try:
        tool = spec_of(text)
        name = _NOT_IN_NAMES.sub("_", tool["name"])[:64]
    except (ValueError, TypeError, KeyError):
        raise PrerequisiteError(f"tool '{text[:60]}': is not a JSON object with a name; fix the scenario's tools.") from None
    schema = json_schema(tool.get("parameters"))
    properties = schema.get("properties", {})
    schema |= {"type": "object", "properties": properties, "required": [one for one in required_of(tool) if one in properties]}
    return ToolSpec(name=name, description=str(tool.get("description") or ""), parameters=schema)
