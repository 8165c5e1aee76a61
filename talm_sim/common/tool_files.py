"""Read tool files of ToolBench and Fail-TaLMs: the functions of a JSON file's `api_list`."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from talm_sim.types import JsonObject, ToolSpec

HUMAN_TOOL = "interact_with_human"
"""The release's own tool that asks a person; ours takes its place."""

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


def tool_of_file(file: Path, said: object) -> str:
    """Return what queries call the tool of a file: as its file, unless it is a copy of the file whose tool it says that it is."""
    return str(said) if os.path.isfile(file.parent / f"{said}.json") else file.stem


def function_key(category: object, tool: object, function: object) -> FunctionKey:
    """Return what distinguishes a function from all others."""
    return str(category).casefold(), str(tool).casefold(), str(function)


def function_names(keys: Iterable[FunctionKey]) -> dict[FunctionKey, str]:
    """Name each tool: by its function; if several share that, `<tool>_<function>`; if they still do, `<category>_<tool>_<function>`."""
    names = {key: key[2] for key in keys}
    for parts in (2, 3):
        count = Counter(names.values())
        names = {key: name if count[name] == 1 else re.sub(r"\W", "_", "_".join(key[-parts:])) for key, name in names.items()}
    return names


def spec_of_function(name: str, category: str, function: Mapping[str, Any]) -> ToolSpec:
    """Describe one function as a tool."""
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
