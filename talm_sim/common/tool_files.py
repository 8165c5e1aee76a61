"""How ToolBench and Fail-TaLMs write tools down: the functions of a JSON file's `api_list`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from talm_sim.types import JsonObject, ToolSpec

__all__ = ["FunctionKey", "function_key", "function_names", "spec_of_function"]

FunctionKey = tuple[str, str, str]
"""Category, tool and function. The release spells some tools in two ways that differ in case, so the first two are casefolded."""

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
"""The release's types in JSON Schema; a name with "list" in it is an array, all others are strings."""


def function_key(category: object, tool: object, function: object) -> FunctionKey:
    """Return what distinguishes a function from all others."""
    return str(category).casefold(), str(tool).casefold(), str(function)


def function_names(keys: Iterable[FunctionKey]) -> dict[FunctionKey, str]:
    """Return names for tools: a function's own, or `<tool>_<function>` if several tools have one of that name."""
    known = dict.fromkeys(keys)
    count = Counter(function for *_, function in known)
    return {key: key[2] if count[key[2]] == 1 else re.sub(r"\W", "_", f"{key[1]}_{key[2]}") for key in known}


def spec_of_function(name: str, category: str, function: Mapping[str, Any]) -> ToolSpec:
    """Describe one function as a tool.

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
