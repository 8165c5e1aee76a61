"""Let a person stand in for a tool: which tool a question asks them to replace, and whether what they say has the form of its answers."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from talm_sim.language.about_missing import question_is_about, replaceable_tools
from talm_sim.scenarios.jsonl import parse
from talm_sim.schemas import Schema
from talm_sim.types import FrozenModel, JsonObject, Missing, MissingKind, Scenario, ToolSpec

_LONGEST_FAULT = 300
_DEEPEST, _MOST_WORDS, _FEW = 12, 600, 6
_WORDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "null", "object": "{...}"}
_FORMATS = {"date": "date as YYYY-MM-DD"}


class ReplaceableTool(FrozenModel):
    """The facts kept of a tool that a person can replace, besides its specification."""

    response: JsonObject
    """JSON Schema of its answers, without references; empty if its source gives none."""
    masked: bool = False
    """Whether the run hides it from the agent."""


@dataclass(frozen=True, slots=True)
class StandIn:
    """A tool whose work a person is asked to do."""

    tool: str
    description: str
    parameters: JsonObject
    response: JsonObject

    @property
    def arguments(self) -> str:
        """What it takes, on one line."""
        return shape_of(self.parameters) or "no arguments"

    @property
    def answer(self) -> str:
        """What its answers look like, on one line; empty if that is not known."""
        return shape_of(self.response)

    def explain_misfit(self, answer: str) -> str:
        """Explain why an answer in JSON is not one of the tool's; empty if it is, if that cannot be said, and for an answer in words."""
        if not _looks_structured(answer):
            return ""
        try:
            value = parse(answer)
        except ValueError as err:
            return f"not JSON ({err})"
        fault = Schema(self.response).explain(value, _LONGEST_FAULT) if self.response else ""
        return fault and f"not an answer of {self.tool}: {fault}"


def is_structured(answer: str) -> bool:
    """Return whether a person answered in JSON, as a tool would, and not in words."""
    if not _looks_structured(answer):
        return False
    try:
        parse(answer)
    except ValueError:
        return False
    return True


def _looks_structured(answer: str) -> bool:
    return answer.lstrip().startswith(("{", "["))


def find_stand_in(
    question: str, scenario: Scenario, specs: Mapping[str, ToolSpec], known: Mapping[str, ReplaceableTool], failed: Collection[str] = ()
) -> StandIn | None:
    """Return the tool whose work a question asks for; None if it asks for none that a person can replace."""
    masked = {one.name: one for one in scenario.missing if one.kind is MissingKind.TOOL}
    broken: dict[str, Missing] = {one.name: one for one in replaceable_tools(scenario, specs)}
    away = [name for name, one in known.items() if one.masked]
    for name in dict.fromkeys((*masked, *failed, *away)):
        if (spec := specs.get(name)) is None or not spec.human_replaceable:
            continue
        thing = masked.get(name) or broken.get(name) or Missing(kind=MissingKind.TOOL, name=name)
        if question_is_about(question, thing, spec.description):
            response: dict[str, Any] = known[name].response if name in known else {}
            return StandIn(name, spec.description, spec.parameters, response)
    return None


def shape_of(schema: Mapping[str, Any]) -> str:
    """Return what a value of a schema without references looks like, on one line; empty if the schema says nothing.

    >>> shape_of({"type": "object", "properties": {"feet": {"type": "integer"}, "names": {"type": "array", "items": {"type": "string"}}}})
    '{"feet": whole number, "names": [text, ...]}'
    """
    if not schema:
        return ""
    said = _shape(schema, 0)
    return said if len(said) <= _MOST_WORDS else f"{said[: _MOST_WORDS - 1]}…"


def _shape(schema: Any, depth: int) -> str:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return "anything"
    kind, properties = schema.get("type"), schema.get("properties")
    if alternatives := _alternatives(schema, depth):
        return " or ".join(dict.fromkeys(alternatives))
    if isinstance(properties, Mapping):
        parts = [f"{json.dumps(str(name), ensure_ascii=False)}: {_shape(part, depth + 1)}" for name, part in properties.items()]
        return f"{{{', '.join(parts)}}}"
    if kind == "array":
        return f"[{_shape(schema.get('items'), depth + 1)}, ...]"
    return _FORMATS.get(str(schema.get("format")), "") or _WORDS.get(str(kind), "anything")


def _alternatives(schema: Mapping[str, Any], depth: int) -> list[str]:
    if "const" in schema or isinstance(schema.get("enum"), list):
        values = [schema["const"]] if "const" in schema else schema["enum"]
        return [json.dumps(value, ensure_ascii=False) for value in values[:_FEW]] + (["..."] if len(values) > _FEW else [])
    parts = next((found for key in ("anyOf", "oneOf") if isinstance(found := schema.get(key), list)), None)
    if parts is None and isinstance(schema.get("type"), list):
        own = {"object": "properties", "array": "items"}
        parts = [
            {"type": kind, **{key: schema[key] for key in (own.get(kind, ""), "format") if key in schema}}
            for kind in dict.fromkeys(map(str, schema["type"]))
        ]
    return [_shape(part, depth + 1) for part in (parts or [])[:_FEW]]
