"""The JSON Schema of a line of a scenario file, made from the models that read it."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel

from talm_sim.scenarios.turns import MESSAGE_KEYS
from talm_sim.types import AcceptedCall, Calls, Choice, Fact, Facts, GoldCall, Missing, Option, Scenario, Source, ToolCall, Turn, YesNo

_MODELS = (Scenario, Turn, GoldCall, ToolCall, Facts, Fact, Choice, Option, YesNo, Calls, AcceptedCall, Missing, Source)
_TARGETS: dict[str, type[BaseModel]] = {str(model.model_fields["type"].default): model for model in (Facts, Choice, YesNo, Calls)}
_AT = "#/$defs/{model}"
_NOT_BLANK = {"pattern": r"\S"}


def scenario_schema(task: str, groups: Sequence[str], target: str = "", *, needs_target: bool = False) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of one scenario of a task.

    Whatever the reader refuses because of a key, a type or a value's form, the schema refuses, too. It is stricter where the reader
    converts a value, for example `"1"` to a number, or knows an earlier key. What depends on several fields together is for
    `talm-sim scenarios check`.
    """
    schema = Scenario.model_json_schema(ref_template=_AT)
    definitions: dict[str, Any] = schema.pop("$defs")
    definitions["ToolCall"] = ToolCall.model_json_schema(ref_template=_AT)
    for model in _MODELS:
        _describe(schema if model is Scenario else definitions[model.__name__], model)
    fields = schema["properties"]
    fields["id"] |= _NOT_BLANK
    fields["task"] = {"const": task}
    fields["group"] |= {"enum": [*groups]}
    several = fields["missing"]
    about = several.pop("description")
    fields["missing"] = {"anyOf": [{"type": "null"}, {"$ref": _AT.format(model="Missing")}, several], "description": about}
    fields["target"] |= {"anyOf": [*_targets(target), *([] if needs_target else [{"type": "null"}])]}
    definitions["Turn"]["properties"]["messages"]["items"] = {"oneOf": [*_messages()]}
    definitions["Option"]["properties"]["text"] |= _NOT_BLANK
    definitions["Fact"]["properties"]["asks"]["items"] |= _NOT_BLANK
    if task != Scenario.model_fields["task"].default:
        schema["required"].append("task")
    if needs_target:
        schema["required"].append("target")
        del fields["target"]["default"]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"Scenario of task {task}"}
    return head | {name: value for name, value in schema.items() if name != "title"} | {"$defs": _used(schema, definitions)}


def _targets(wanted: str) -> Iterator[dict[str, Any]]:
    """Yield a schema for each type of target; the reader tells them apart by `type`, which must be there."""
    for kind, model in _TARGETS.items():
        if wanted in ("", kind):
            yield {"$ref": _AT.format(model=model.__name__), "required": ["type"]}
    if wanted not in _TARGETS:
        named = {"const": wanted} if wanted else {"type": "string", "not": {"enum": [*_TARGETS]}}
        yield {"type": "object", "properties": {"type": named}, "required": ["type"]}


def _messages() -> Iterator[dict[str, Any]]:
    text = {"type": "string"}
    for role, keys in MESSAGE_KEYS.items():
        fields: dict[str, Any] = {key: text for key in sorted(keys)} | {"role": {"const": role}}
        if "tool_calls" in keys:
            fields["tool_calls"] = {"type": "array", "items": {"$ref": _AT.format(model="ToolCall")}}
        if "name" in keys:
            fields["name"] = {}
        yield {"type": "object", "properties": fields, "required": ["role", "content"], "additionalProperties": False}


def _describe(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """Add the texts below a model's fields to the schemas of these fields, and leave out titles that only repeat a name."""
    schema.pop("title", None)
    body = ast.parse(textwrap.dedent(inspect.getsource(model))).body[0]
    assert isinstance(body, ast.ClassDef)
    texts: dict[str, str] = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            texts[field.target.id] = " ".join(str(ast.literal_eval(below.value)).split())
    for name, found in schema["properties"].items():
        found.pop("title", None)
        if name in texts:
            found["description"] = texts[name]


def _used(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the definitions that are referred to, by way of others too."""
    names: dict[str, None] = {}
    waiting: list[Any] = [schema]
    while waiting:
        if isinstance(value := waiting.pop(), dict):
            if (name := str(value.get("$ref", "")).rpartition("/")[2]) and name not in names:
                names[name] = None
                waiting.append(definitions[name])
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return {name: definitions[name] for name in sorted(names)}
