"""How ToolBench and Fail-TaLMs write tools down: the functions of a JSON file's `api_list`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from talm_sim.types import JsonObject, ToolSpec

__all__ = ["spec_of_function"]

_TYPES = {
    "INT": "integer",
    "INTEGER": "integer",
    "LONG": "integer",
    "NUMBER": "number",
    "FLOAT": "number",
    "DOUBLE": "number",
    "DECIMAL": "number",
    "BOOLEAN": "boolean",
    "DICT": "object",
    "OBJECT": "object",
}
"""The release's types and JSON Schema's; whatever names a list is an array, all others are strings."""


def spec_of_function(name: str, category: str, function: Mapping[str, Any]) -> ToolSpec:
    """What is shown of one function.

    Args:
        name: What the tool is called.
        category: Its category.
        function: An entry of `api_list`.
    """
    properties: dict[str, Any] = {}
    required: list[str] = []
    for field_name in ("required_parameters", "optional_parameters"):
        for parameter in function.get(field_name) or ():
            # One tool lists bare names.
            described = parameter if isinstance(parameter, dict) else {"name": parameter}
            title = str(described.get("name"))
            properties[title] = _schema(described)
            if field_name == "required_parameters":
                required.append(title)
    return ToolSpec(
        name=name,
        category=category,
        description=str(function.get("description") or ""),
        parameters={"type": "object", "properties": properties, "required": required},
    )


def _schema(parameter: Mapping[str, Any]) -> JsonObject:
    said = str(parameter.get("type") or "STRING").upper()
    if "LIST" in said or said == "ARRAY":
        schema: JsonObject = {"type": "array", "items": {"type": "integer" if "INTEGER" in said else "string"}}
    else:
        schema = {"type": _TYPES.get(said, "string")}
    if parameter.get("description"):
        schema["description"] = str(parameter["description"])
    if parameter.get("default") is not None:
        schema["default"] = parameter["default"]
    return schema
