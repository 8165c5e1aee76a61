"""The decisions that a person may make about a call or a form, and the fields of a form as they are shown and typed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from talm_sim.errors import PrerequisiteError
from talm_sim.schemas import Schema
from talm_sim.types import Approval, Form, JsonObject, PersonRequest

_LONGEST_FAULT = 300
_FORM_ACTIONS = ("accept", "decline", "cancel")
_Kind = Literal["text", "integer", "number", "boolean", "choice", "choices", "other"]
_KINDS: dict[Any, _Kind] = {"string": "text", "integer": "integer", "number": "number", "boolean": "boolean"}
_YES, _NO = ("y", "yes", "true"), ("n", "no", "false")
_NAMES = {"integer": "a whole number", "number": "a number", "boolean": "y or n", "other": "JSON"}


@dataclass(frozen=True, slots=True)
class FormField:
    """One value that a form asks for.

    Attributes:
        title: What it is called; its key where the form gives no title.
        kind: `choice` is one of `choices`, `choices` any of them; `other` is written as JSON.
        choices: The values to choose from, each with its title.
        default: What it is unless the person changes it; None where the form gives none.
    """

    name: str
    title: str
    description: str
    kind: _Kind
    choices: tuple[tuple[Any, str], ...]
    required: bool
    default: Any
    schema: JsonObject

    def parse(self, text: str) -> Any:
        """Return the value that a typed text stands for: of a choice its value, its title or its 1-based number."""
        value = self._value_of(text)
        if fault := Schema(self.schema).explain(value, _LONGEST_FAULT):
            raise PrerequisiteError(f"{self.name}: {fault}.")
        return value

    def _value_of(self, text: str) -> Any:
        match self.kind:
            case "text":
                return text
            case "choice":
                return self._choice(text)
            case "choices":
                return [self._choice(part.strip()) for part in text.split(",") if part.strip()]
            case "boolean" if text.lower() in (*_YES, *_NO):
                return text.lower() in _YES
            case kind:
                with_type: Any = {"integer": int, "number": (int, float), "boolean": bool, "other": object}[kind]
                try:
                    value = _strict_json(text)
                except (ValueError, RecursionError):
                    value, with_type = None, ()
                if not isinstance(value, with_type) or (isinstance(value, bool) and kind in ("integer", "number")):
                    raise PrerequisiteError(f"{self.name}: '{text[:40]}' is not {_NAMES[kind]}.")
                return value

    def _choice(self, text: str) -> Any:
        for value, title in self.choices:
            if text in (value if isinstance(value, str) else json.dumps(value), title):
                return value
        if text.isascii() and text.isdigit() and 0 < int(text[:9]) <= len(self.choices):
            return self.choices[int(text[:9]) - 1][0]
        known = ", ".join(title for _, title in self.choices)
        raise PrerequisiteError(f"{self.name}: '{text[:40]}' is not one of {known[:_LONGEST_FAULT]}.")


def actions_of(request: PersonRequest) -> tuple[str, ...]:
    """Return the decisions that a request allows."""
    return request.allowed if isinstance(request, Approval) else _FORM_ACTIONS


def form_fields(form: Form) -> Iterator[FormField]:
    """Yield the fields of a form, in its order."""
    properties, required = form.fields.get("properties"), form.fields.get("required")
    for name, found in properties.items() if isinstance(properties, dict) else ():
        schema = found if isinstance(found, dict) else {}
        kind, choices = _kind_of(schema)
        title, about = (str(schema.get(key, "")) for key in ("title", "description"))
        needed = isinstance(required, list) and name in required
        yield FormField(name, title or name, about, kind, choices, needed, schema.get("default"), schema)


def _kind_of(schema: JsonObject) -> tuple[_Kind, tuple[tuple[Any, str], ...]]:
    if choices := _choices(schema):
        return "choice", choices
    if schema.get("type") == "array" and isinstance(schema.get("items"), dict):
        choices = _choices(schema["items"])
        return ("choices", choices) if choices else ("other", ())
    kind = schema.get("type")
    return _KINDS.get(kind, "other") if isinstance(kind, str) else "other", ()


def _choices(schema: JsonObject) -> tuple[tuple[Any, str], ...]:
    """Return the values that a schema lists, each with its title: of an `enum`, or of constants in `oneOf` or `anyOf`."""
    values, names = schema.get("enum"), schema.get("enumNames")
    if isinstance(values, list):
        titles = names if isinstance(names, list) and len(names) == len(values) else values
        return tuple((value, _as_text(title)) for value, title in zip(values, titles, strict=True))
    for key in ("oneOf", "anyOf"):
        parts = schema.get(key)
        if isinstance(parts, list) and parts and all(isinstance(one, dict) and "const" in one for one in parts):
            return tuple((one["const"], _as_text(one.get("title", one["const"]))) for one in parts)
    return ()


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def parse_object(text: str, what: str) -> JsonObject:
    """Return a typed JSON object."""
    try:
        value = _strict_json(text)
    except (ValueError, RecursionError) as err:
        raise PrerequisiteError(f'{what}: not JSON ({err}); write an object, for example {{"city": "Oslo"}}.') from None
    if not isinstance(value, dict):
        raise PrerequisiteError(f'{what}: not a JSON object; write one, for example {{"city": "Oslo"}}.')
    return value


def _strict_json(text: str) -> Any:
    def refuse(name: str) -> Any:
        raise ValueError(f"{name} is not a JSON value")

    return json.loads(text, parse_constant=refuse)
