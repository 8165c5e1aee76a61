"""Write a scenario's tools as a model is shown them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.item_tools import json_schema, parameters_of, spec_of
from talm_sim.types import Calls, JsonObject, Scenario

_LANGUAGES = {"java": "Java", "javascript": "JavaScript"}


def tool_texts(scenario: Scenario) -> tuple[str, ...]:
    """Return the tools' JSON texts unchanged, except that Java and JavaScript functions ask for every value as source code.

    A parameter's type is not a JSON type there (`HashMap`, `ArrayList`), so BFCL shows it as a string and names the type in its description.
    """
    syntax = scenario.target.syntax if isinstance(scenario.target, Calls) else "python"
    if syntax not in _LANGUAGES:
        return scenario.shown_tools
    return tuple(json.dumps(_of_source(_spec(tool), _LANGUAGES[syntax]), ensure_ascii=False) for tool in scenario.shown_tools)


def functions(tools: Sequence[str]) -> list[JsonObject]:
    """Return tools as chat templates want them: every type by its JSON Schema name."""
    found = []
    for tool in tools:
        spec = _spec(tool)
        schema = {"type": "object", "properties": {}} | json_schema(spec.get("parameters"))
        found.append({"name": spec["name"], "description": str(spec.get("description") or ""), "parameters": schema})
    return found


def _spec(tool: str) -> JsonObject:
    try:
        spec = spec_of(tool)
        if not isinstance(spec["name"], str):
            raise TypeError
    except (ValueError, TypeError, KeyError):
        raise PrerequisiteError(f"tool '{tool[:60]}': is not a JSON object with a name; fix the scenario's tools.") from None
    return spec


def _of_source(spec: JsonObject, language: str) -> JsonObject:
    properties = {name: _as_source(schema, language) for name, schema in parameters_of(spec).items()}
    parameters = spec["parameters"] | {"properties": properties} if properties else spec.get("parameters", {})
    return spec | {"parameters": parameters}


def _as_source(schema: Any, language: str) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    kind, items = str(schema.get("type", "any")), schema.get("items")
    inner = f" of {items['type']}" if isinstance(items, Mapping) and isinstance(items.get("type"), str) else ""
    told = f"{language} source code of type {kind}{inner}, as a string."
    described = " ".join(filter(None, (str(schema.get("description") or "").rstrip(), told)))
    kept = {key: value for key, value in schema.items() if key not in {"items", "properties"}}
    return {**kept, "type": "string", "description": described}
